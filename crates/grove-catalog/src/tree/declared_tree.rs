//! Builds the tree from the declarations of skills, with findings about the declarations.
//!
//! A skill's declared children lie below its own folder; any other skill of the same root may name it as its parent.
//! The first claim on a child counts, declared children before named parents. A tree has all skills, usable or not: the
//! code that shows it decides what of it to show.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use grove_spec::skill::tree_keys::DeclaredValue;
use grove_spec::skill::{DeclaredChildren, TreeKeys, name_key};
use grove_spec::text::first_names;
use grove_spec::{Code, Diagnostic};

use super::places::{
    Places, all_places, child_paths, children_folder, in_children_folder, mentioned_paths,
    path_below, places,
};
use super::shared_words::ListedWords;
use super::{MAX_LEVELS, SkillTree};
use crate::identity::{self, SkillLayout};
use crate::root::Root;
use crate::snapshot::Skill;

/// The fewest children that are worth a branch.
const FEW: usize = 3;

/// Builds the tree and gives each skill the findings about its declarations.
///
/// The findings of discovery name children that are there and were not read: these are not missing.
pub(crate) fn declared_tree(
    skills: &mut [Skill],
    roots: &[Root],
    found: &[Diagnostic],
) -> SkillTree {
    let declaring: Vec<usize> = (0..skills.len())
        .filter(|at| {
            skills
                .get(*at)
                .is_some_and(|skill| skill.content.flags().has_tree_keys)
        })
        .collect();
    if declaring.is_empty() {
        return SkillTree::default();
    }
    let mut builder = TreeBuilder {
        skills,
        roots,
        mentioned: mentioned_paths(found),
        places: places(skills),
        names: BTreeMap::new(),
        ids: BTreeMap::new(),
        parents: vec![None; skills.len()],
        accepted: Vec::new(),
        declared: BTreeMap::new(),
        findings: Vec::new(),
    };
    for at in &declaring {
        builder.claim_children(*at);
    }
    if declaring.iter().any(|at| builder.parent_of(*at).is_some()) {
        builder.index_names();
    }
    for at in &declaring {
        builder.claim_parent(*at);
    }
    builder.cut_what_is_too_deep();
    let tree = builder.tree();
    builder.judge_branches(&tree);
    let findings = builder.findings;
    for (at, finding) in findings {
        if let Some(skill) = skills.get_mut(at) {
            skill.diagnostics.push(finding);
        }
    }
    tree
}

struct TreeBuilder<'a> {
    skills: &'a [Skill],
    roots: &'a [Root],
    /// The paths that earlier findings name.
    mentioned: BTreeSet<PathBuf>,
    places: Places<'a>,
    /// The skills of each root by name and by id, once a parent has to be found.
    names: BTreeMap<(usize, Cow<'a, str>), Vec<usize>>,
    ids: BTreeMap<(usize, &'a str), Vec<usize>>,
    parents: Vec<Option<usize>>,
    /// Children in the order in which they were claimed.
    accepted: Vec<usize>,
    /// The number of children that a branch declares, there or not.
    declared: BTreeMap<usize, usize>,
    findings: Vec<(usize, Diagnostic)>,
}

impl<'a> TreeBuilder<'a> {
    fn keys(&self, at: usize) -> Option<&'a TreeKeys> {
        self.skills.get(at)?.content.tree_keys()
    }

    fn claim_children(&mut self, branch: usize) {
        let Some(declared) = self.keys(branch).and_then(|keys| keys.children.as_ref()) else {
            return;
        };
        let Some(skill) = self.skills.get(branch) else {
            return;
        };
        if all_places(skill).all(|place| place.layout == SkillLayout::Flat) {
            let message =
                "a flat file has no folder of its own, so its children are not looked for";
            let help =
                "move the file to `<name>/SKILL.md`, or write `metadata.parent` in the children";
            let finding = Diagnostic::new(Code::ChildMissing, message).with_help(help);
            return self.findings.push((branch, finding.at(declared.at)));
        }
        let DeclaredChildren::Named(names) = &declared.value else {
            for child in self.every_child(skill) {
                self.claim(child, branch, branch);
            }
            return;
        };
        let (mut seen, mut twice, mut missing) = (BTreeSet::new(), Vec::new(), Vec::new());
        for name in names {
            if !seen.insert(name.as_str()) {
                twice.push(name.clone());
            } else if let Some(child) = self.child(skill, name) {
                self.claim(child, branch, branch);
            } else if !self.is_mentioned(skill, name) {
                missing.push(name.clone());
            }
        }
        self.declared.insert(branch, seen.len());
        if !twice.is_empty() {
            let message = format!("declared twice: {}", first_names(&twice));
            self.add_finding(branch, Code::ChildDuplicate, message, twice);
        }
        if !missing.is_empty() {
            let message = format!(
                "{} not there: {}",
                count(missing.len(), "declared child is", "declared children are"),
                first_names(&missing)
            );
            self.add_finding(branch, Code::ChildMissing, message, missing);
        }
    }

    /// Returns the skill that another one declares by this name: the first of the two places that has one.
    fn child(&self, branch: &Skill, name: &str) -> Option<usize> {
        all_places(branch).find_map(|place| {
            let [inner, own] = child_paths(place, name)?;
            let at = |path: &str| self.places.get(&(place.root, path)).copied();
            at(&inner).or_else(|| at(&own))
        })
    }

    fn every_child(&self, branch: &Skill) -> Vec<usize> {
        let mut all = BTreeSet::new();
        for place in all_places(branch) {
            let Some(start) = path_below(place) else {
                continue;
            };
            let below = self.places.range((place.root, start.as_str())..);
            let below = below.take_while(|((root, id), _)| {
                *root == place.root && id.starts_with(start.as_str())
            });
            for ((_, id), at) in below {
                let rest = id.get(start.len()..).unwrap_or_default();
                let name = in_children_folder(rest).unwrap_or(rest);
                if !name.contains('/') {
                    all.insert((name.to_owned(), *at));
                }
            }
        }
        all.into_iter().map(|(_, at)| at).collect()
    }

    /// Returns true if a declared child was met and could not be used, for which there is another finding.
    fn is_mentioned(&self, branch: &Skill, name: &str) -> bool {
        all_places(branch).any(|place| {
            let paths = child_paths(place, name).into_iter().flatten();
            let folder = children_folder(place);
            let file = identity::file_below_root(place.layout, &place.id);
            let root = self.roots.get(place.root).map(|root| root.path.as_path());
            paths
                .chain(folder)
                .chain([file])
                .any(|path| root.is_some_and(|root| self.mentioned.contains(&root.join(path))))
        })
    }

    fn parent_of(&self, child: usize) -> Option<&'a DeclaredValue<String>> {
        self.keys(child)?.parent.as_ref()
    }

    fn index_names(&mut self) {
        for (at, skill) in self.skills.iter().enumerate() {
            let root = skill.place.root;
            let names = self.names.entry((root, name_key(skill.name())));
            names.or_default().push(at);
            self.ids.entry((root, skill.id())).or_default().push(at);
        }
    }

    fn claim_parent(&mut self, child: usize) {
        let Some(declared) = self.parent_of(child) else {
            return;
        };
        let wanted = declared.value.as_str();
        let parent = match self.named(child, wanted).as_slice() {
            [one] => *one,
            [] => {
                let message = format!("no skill of this root is called `{wanted}`");
                return self.add_finding(child, Code::ParentMissing, message, Vec::new());
            }
            several => {
                let ids = several.iter().filter_map(|at| self.skills.get(*at));
                let ids: Vec<String> = ids.map(|skill| skill.id().to_owned()).collect();
                let message = format!(
                    "{} skills of this root are called `{wanted}`: {}",
                    ids.len(),
                    first_names(&ids)
                );
                return self.add_finding(child, Code::ParentMissing, message, ids);
            }
        };
        if self.claim(child, parent, child) {
            *self.declared.entry(parent).or_default() += 1;
        }
    }

    /// Returns the skills of the same root with a name, or else an id; the skill itself only if no other has it.
    fn named(&self, of: usize, wanted: &str) -> Vec<usize> {
        let Some(root) = self.skills.get(of).map(|skill| skill.place.root) else {
            return Vec::new();
        };
        let by_name = self.names.get(&(root, name_key(wanted)));
        let Some(all) = by_name.or_else(|| self.ids.get(&(root, wanted))) else {
            return Vec::new();
        };
        let others = all.iter().copied().filter(|at| all.len() == 1 || *at != of);
        others.collect()
    }

    /// Makes a skill the child of another unless it is one already or would be above itself. A finding goes to the
    /// skill that made the claim.
    fn claim(&mut self, child: usize, parent: usize, claimant: usize) -> bool {
        match self.parents.get(child).copied().flatten() {
            // Parent and child may both declare the same pair.
            Some(first) if first == parent => return false,
            Some(first) => {
                let message = format!(
                    "`{}` is a child of `{}` already",
                    self.id(child),
                    self.id(first)
                );
                self.add_finding(claimant, Code::ChildDuplicate, message, Vec::new());
                return false;
            }
            None => {}
        }
        let above =
            std::iter::successors(Some(parent), |at| self.parents.get(*at).copied().flatten());
        if above.into_iter().any(|at| at == child) {
            let message = if child == parent {
                format!("`{}` would be its own child", self.id(child))
            } else {
                format!(
                    "`{}` would be above itself under `{}`",
                    self.id(child),
                    self.id(parent)
                )
            };
            self.add_finding(claimant, Code::TreeCycle, message, Vec::new());
            return false;
        }
        if let Some(slot) = self.parents.get_mut(child) {
            *slot = Some(parent);
            self.accepted.push(child);
        }
        true
    }

    /// Makes the children of a skill on the last level stand on their own.
    fn cut_what_is_too_deep(&mut self) {
        let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for child in &self.accepted {
            if let Some(parent) = self.parents.get(*child).copied().flatten() {
                children.entry(parent).or_default().push(*child);
            }
        }
        let tops = children
            .keys()
            .filter(|at| self.parents.get(**at) == Some(&None));
        let mut waiting: VecDeque<(usize, usize)> = tops.map(|at| (*at, 1)).collect();
        while let Some((branch, level)) = waiting.pop_front() {
            let Some(own) = children.get(&branch) else {
                continue;
            };
            let is_last = level == MAX_LEVELS;
            let next = if is_last { 1 } else { level + 1 };
            waiting.extend(own.iter().map(|child| (*child, next)));
            if is_last {
                let ids: Vec<String> = own.iter().map(|child| self.id(*child).to_owned()).collect();
                for child in own {
                    if let Some(slot) = self.parents.get_mut(*child) {
                        *slot = None;
                    }
                }
                let message = format!(
                    "it is on the last of {MAX_LEVELS} levels of its tree, so {} on {} own: {}",
                    count(ids.len(), "child stands", "children stand"),
                    if ids.len() == 1 { "its" } else { "their" },
                    first_names(&ids)
                );
                self.add_finding(branch, Code::TreeDepth, message, ids);
            }
        }
    }

    fn tree(&self) -> SkillTree {
        SkillTree::of(self.accepted.iter().filter_map(|child| {
            let parent = self.parents.get(*child).copied().flatten()?;
            Some((*child, parent))
        }))
    }

    fn judge_branches(&mut self, tree: &SkillTree) {
        for branch in tree.branches() {
            let children = tree.children(branch);
            let declared = self.declared.get(&branch).copied().unwrap_or(0);
            if children.len().max(declared) < FEW {
                let message = format!("it has {}", count(children.len(), "child", "children"));
                self.add_finding(branch, Code::BranchSmall, message, Vec::new());
            }
            self.check_shared_words(branch, children);
        }
    }

    /// The description of a parent must give a model a reason to open it.
    fn check_shared_words(&mut self, branch: usize, children: &[usize]) {
        let Some((parent, description)) = self
            .skills
            .get(branch)
            .and_then(|skill| Some((skill, skill.description()?)))
        else {
            return;
        };
        let words = ListedWords::of(parent.name(), description);
        let hidden: Vec<String> = children
            .iter()
            .filter_map(|at| self.skills.get(*at))
            .filter(|child| child.content.flags().valid)
            .filter(|child| {
                let description = child.description().unwrap_or_default();
                !words.share_a_word(&ListedWords::of(child.name(), description))
            })
            .map(|child| child.name().to_owned())
            .collect();
        if !hidden.is_empty() {
            let message = format!(
                "its description has no word in common with {}: {}",
                count(hidden.len(), "child", "children"),
                first_names(&hidden)
            );
            self.add_finding(branch, Code::BranchVague, message, hidden);
        }
    }

    fn id(&self, at: usize) -> &'a str {
        self.skills.get(at).map_or("", Skill::id)
    }

    /// Adds a finding about a skill, at the key that caused it if there is one.
    fn add_finding(&mut self, at: usize, code: Code, message: String, names: Vec<String>) {
        let mut finding = Diagnostic::new(code, message).with_names(names);
        let keys = self.keys(at);
        let children = keys.and_then(|keys| Some(keys.children.as_ref()?.at));
        let parent = keys.and_then(|keys| Some(keys.parent.as_ref()?.at));
        finding.position = match code {
            Code::ParentMissing => parent,
            Code::BranchVague => None,
            _ => children.or(parent),
        };
        self.findings.push((at, finding));
    }
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
