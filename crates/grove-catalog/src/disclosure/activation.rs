//! The text that a model reads when a skill is activated, in one layout.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use grove_spec::text::{counted, escape_xml, without_controls};

use super::arguments::{self, BodyTooLong, PlaceholderValues};
use super::boundary;
use super::listing::{ChildList, list_children};
use super::node::DisclosureNode;
use super::session::{ActivateOutcome, ActiveSkill, DisclosureSession, ExpandOutcome};
use super::target::SkillCaller;
use crate::identity::SkillLayout;
use crate::snapshot::{Skill, Snapshot};
use grove_spec::Digest;

/// The most characters of a branch's own body that come along with its children.
pub const MAX_BRANCH_BODY: usize = 2_000;
/// The most resources that are named.
pub const MAX_RESOURCES: usize = 50;

/// The files beside a skill's own, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillResources {
    /// Paths below the skill's folder, in the order in which they are shown.
    pub names: Vec<String>,
    /// The number of further files that are not in the names.
    pub more: usize,
    /// Set if there are more than that: not all were counted.
    pub uncounted: bool,
    /// The number of links that lead out of the folder and are not named.
    pub links_out: usize,
}

impl SkillResources {
    /// Returns the names that are shown, and the number of files that are not.
    pub fn shown(&self) -> (&[String], usize) {
        let shown = self.names.get(..MAX_RESOURCES).unwrap_or(&self.names);
        (shown, self.names.len() - shown.len() + self.more)
    }
}

/// Everything that was read for an activation.
#[derive(Debug, Clone, Copy)]
pub struct ActivationInput<'a> {
    /// The body of the skill file, as it is in the file.
    pub body: &'a str,
    /// The files beside it.
    pub resources: &'a SkillResources,
    /// The arguments, word by word.
    pub words: &'a [String],
    /// The caller that asks for it.
    pub caller: SkillCaller,
    /// The home folder, for locations.
    pub home: Option<&'a Path>,
}

/// The text of a skill, made before it is decided if the text is given again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedSkill {
    /// The skill, by index.
    pub skill: usize,
    /// The text for a model.
    pub text: String,
    /// The mark around the body.
    pub boundary: String,
    /// The folder of the skill.
    pub folder: PathBuf,
    /// Its children; none for a leaf.
    pub children: ChildList,
    /// Set if arguments were given and only the start of the body is shown, so that they may not be in it.
    pub cuts_arguments: bool,
    /// The record that the session keeps.
    given: ActiveSkill,
    name: String,
}

/// The reason why a session does not take an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFull {
    /// Too many nodes are expanded.
    Expanded,
    /// Too many skills are active.
    Active,
}

impl PreparedSkill {
    /// Enters the activation in a session and returns what happened, or why not; in that case nothing has changed.
    ///
    /// A branch is expanded with it; a branch that was active and not expanded counts as changed.
    pub fn enter(
        &self,
        snapshot: &Snapshot,
        session: &mut DisclosureSession,
    ) -> Result<ActivateOutcome, SessionFull> {
        let mut after = session.clone();
        let done = match after.activate(self.given.clone()) {
            ActivateOutcome::Full => return Err(SessionFull::Active),
            done => done,
        };
        let expansion = after.expand(snapshot, &DisclosureNode::Skill(self.skill));
        if expansion == ExpandOutcome::Full {
            return Err(SessionFull::Expanded);
        }
        *session = after;
        Ok(match (done, expansion) {
            (ActivateOutcome::Already, ExpandOutcome::Expanded) => ActivateOutcome::Changed,
            _ => done,
        })
    }

    /// Returns the one line in place of a text that a model already has.
    pub fn already_active(&self) -> String {
        format!(
            "`{}` is already active: follow the instructions given before.\n",
            self.name
        )
    }
}

/// The reason why there is no text of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotPrepared {
    /// The snapshot has no such skill.
    NoSkill,
    /// With its arguments put in, it is too long.
    TooLong,
}

/// Makes the text of a skill from what was read for it.
pub fn prepare(
    snapshot: &Snapshot,
    at: usize,
    material: &ActivationInput<'_>,
) -> Result<PreparedSkill, NotPrepared> {
    let skill = snapshot.skills.get(at).ok_or(NotPrepared::NoSkill)?;
    let nodes = DisclosureNode::Skill(at).children(snapshot);
    let folder = folder_of(snapshot, skill);
    let body = body_text(skill, &folder, material).map_err(|BodyTooLong| NotPrepared::TooLong)?;
    let (shown, cut) = if nodes.is_empty() {
        (body.as_str(), false)
    } else {
        start_of(&body, MAX_BRANCH_BODY)
    };
    let mut text = boundary::block(skill.name(), shown);
    text.push('\n');
    if cut {
        let _ = writeln!(
            text,
            "Only the first {} of {} characters are shown; the rest is in <location>{}</location>.",
            shown.chars().count(),
            body.chars().count(),
            shown_path(&snapshot.location(&skill.place)),
        );
    }
    let _ = writeln!(
        text,
        "<folder>{}</folder>\nRelative paths in this skill are relative to that folder.",
        shown_path(&folder)
    );
    push_resources(&mut text, material.resources);
    let children = list_children(snapshot, &nodes, material.home);
    if !nodes.is_empty() {
        text.push_str(
            "These skills stand in its place in the catalog now; activate the one that applies:\n",
        );
        text.push_str(&children.text);
    }
    Ok(PreparedSkill {
        skill: at,
        boundary: boundary::boundary(shown),
        given: ActiveSkill {
            address: snapshot.address(skill),
            digest: Digest::of(body.as_bytes()).to_string(),
            arguments: material.words.to_vec(),
            by_person: material.caller == SkillCaller::Person,
        },
        name: grove_spec::text::one_line(skill.name()),
        text,
        folder,
        children,
        cuts_arguments: cut && !material.words.is_empty(),
    })
}

pub(crate) fn folder_of(snapshot: &Snapshot, skill: &Skill) -> PathBuf {
    let root = snapshot
        .root_of(skill)
        .map_or_else(PathBuf::new, |root| root.path.clone());
    match skill.place.layout {
        SkillLayout::Root | SkillLayout::Flat => root,
        SkillLayout::Folder => root.join(skill.id()),
    }
}

/// Returns the body for an agent's prompt, which has no arguments.
pub(crate) fn body_for_prompt(
    skill: &Skill,
    folder: &Path,
    body: &str,
) -> Result<String, BodyTooLong> {
    filled(skill, folder, body, &[], SkillCaller::Model)
}

fn body_text(
    skill: &Skill,
    folder: &Path,
    material: &ActivationInput<'_>,
) -> Result<String, BodyTooLong> {
    let ActivationInput {
        body,
        words,
        caller,
        ..
    } = material;
    filled(skill, folder, body, words, *caller)
}

/// Returns the body for a model: one kind of line end, filled, without control characters and blank edges.
fn filled(
    skill: &Skill,
    folder: &Path,
    body: &str,
    words: &[String],
    caller: SkillCaller,
) -> Result<String, BodyTooLong> {
    let lines = body.replace("\r\n", "\n").replace('\r', "\n");
    let filled = arguments::fill(
        &lines,
        &PlaceholderValues {
            caller,
            words,
            declared: &skill.file().details().arguments,
            folder: &folder.to_string_lossy(),
        },
    )?;
    let clean = without_controls(&filled);
    Ok(clean.trim_start_matches('\n').trim_end().to_owned())
}

/// Returns the start of a text up to a number of characters, cut at the end of a line or at least of a word.
fn start_of(text: &str, most: usize) -> (&str, bool) {
    let Some((end, next)) = text.char_indices().nth(most) else {
        return (text, false);
    };
    // The next character is included: if it is blank, a word or line ends just in time.
    let window = text.get(..end + next.len_utf8()).unwrap_or(text);
    let line = window.rfind('\n').filter(|at| *at >= end / 2);
    let at = line.or_else(|| window.rfind(char::is_whitespace));
    let start = text.get(..at.unwrap_or(end)).unwrap_or(text);
    (start.trim_end(), true)
}

fn push_resources(text: &mut String, resources: &SkillResources) {
    let (shown, more) = resources.shown();
    if !shown.is_empty() {
        text.push_str("<resources>\n");
        for name in shown {
            let _ = writeln!(text, "<file>{}</file>", escape_xml(&without_controls(name)));
        }
        text.push_str("</resources>\n");
    }
    if more > 0 || resources.uncounted {
        let least = if resources.uncounted { "At least " } else { "" };
        let (noun, verb) = if more == 1 {
            ("file", "is")
        } else {
            ("files", "are")
        };
        let _ = writeln!(
            text,
            "{least}{more} more {noun} in this folder {verb} not named here."
        );
    }
    if resources.links_out > 0 {
        let links = counted(resources.links_out, "link");
        let (lead, are) = if resources.links_out == 1 {
            ("leads", "is")
        } else {
            ("lead", "are")
        };
        let _ = writeln!(
            text,
            "{links} that {lead} out of this folder {are} not named here."
        );
    }
}

fn shown_path(path: &Path) -> String {
    let path = path.to_string_lossy();
    escape_xml(&without_controls(&path)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::start_of;

    #[test]
    fn a_long_text_is_cut_between_lines_or_words() {
        for (text, most, expected, cut) in [
            ("short", 10, "short", false),
            ("exactly", 7, "exactly", false),
            ("one two\nthree four", 12, "one two", true),
            ("one two three", 9, "one two", true),
            ("a\nlong words here", 12, "a\nlong words", true),
            ("unbroken", 3, "unb", true),
            ("\u{e4}\u{f6} \u{fc}\u{df}x", 4, "\u{e4}\u{f6}", true),
        ] {
            assert_eq!(start_of(text, most), (expected, cut), "{text}");
        }
    }
}
