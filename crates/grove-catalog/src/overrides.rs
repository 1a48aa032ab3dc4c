//! Overrides of agents: which file has the last word on each field, and who is switched off.
//!
//! One rule for all agents, whoever wrote them. Layers are laid over one another weakest first, the user's
//! before the project's, and each field by itself; what is said of one agent by its `id@root` counts after what
//! its layer says of the name. The one exception is `disabled` under a bare name that agents from elsewhere
//! (Grove, a package, an extra folder) share with a file of one's own: that file is there to take their place,
//! so they are switched off and it is not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use grove_spec::agent::overrides::{AgentOverride, Change, Field, Overrides, Set};
use grove_spec::config::Origin;
use grove_spec::skill::name_key;
use grove_spec::text::one_line;
use grove_spec::{Code, Diagnostic, Position};

use crate::address::near_names;
use crate::agents::{Agent, Agents};
use crate::definitions::address;
use crate::digest::Digest;
use crate::root::{Root, Source};
use crate::state::{Reason, State};

/// What one file says about agents, with its digest, so that what came of it can be proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// What it says.
    pub overrides: Overrides,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// A field that is not as the agent's file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overridden {
    /// The field.
    pub field: Field,
    /// Who set it.
    pub origin: Origin,
}

/// A text that stands in place of the one in an agent's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnText {
    /// The text.
    pub text: String,
    /// The file it is written in.
    pub file: PathBuf,
    /// The digest of that file's bytes.
    pub digest: Digest,
}

/// Sets the fields in force and switches off whom the layers switch off.
pub(crate) fn apply(agents: &mut [Agent], roots: &[Root], layers: &[Layer]) {
    if layers.iter().all(|layer| layer.overrides.is_empty()) {
        return;
    }
    let said = Said::new(layers);
    let source = |agent: &Agent| roots.get(agent.root).map(|root| root.source);
    let elsewhere: BTreeSet<String> = agents
        .iter()
        .filter(|agent| source(agent).is_some_and(|source| !is_own(source)))
        .map(|agent| name_key(&agent.name).into_owned())
        .collect();
    for agent in agents {
        let name = name_key(&agent.name).into_owned();
        let place = address(roots, agent);
        let (mut fields, own_text) = said.fields(&name, &place, layers);
        let is_own = source(agent).is_some_and(is_own);
        let in_place = is_own && elsewhere.contains(&name);
        fields
            .retain(|field, (_, by_address)| *field != Field::Disabled || *by_address || !in_place);
        let bulk = said
            .disable_builtins
            .filter(|_| source(agent) == Some(Source::Bundled));
        let off = match fields.get(&Field::Disabled) {
            Some((set, _)) => (set.change == Change::Disabled(true)).then_some(&set.origin),
            None => bulk.and_then(|(flag, origin)| flag.then_some(origin)),
        };
        if let Some(origin) = off
            && agent.state == State::Ok
        {
            agent.state = State::Disabled;
            agent.reasons.push(switched_off(agent, origin));
        }
        let Some(content) = &mut agent.content else {
            continue;
        };
        for (set, _) in fields.values() {
            set.change.apply(&mut content.parsed.agent);
            agent.overridden.push(Overridden {
                field: set.change.field(),
                origin: set.origin.clone(),
            });
        }
        agent.own_text = own_text;
    }
}

/// Whether a file of this source is written by whoever works here.
pub fn is_own(source: Source) -> bool {
    matches!(source, Source::User | Source::Project)
}

fn switched_off(agent: &Agent, origin: &Origin) -> Reason {
    let message = format!("switched off in {}:{}", origin.file.display(), origin.line);
    let fix = format!("run `grove agents enable {}`", one_line(&agent.name));
    Reason::new("disabled", message, fix)
}

/// A field's last word, and whether it was said of the address.
type Fields<'a> = BTreeMap<Field, (&'a Set, bool)>;

/// What all layers say, by whom they say it of.
struct Said<'a> {
    of: BTreeMap<String, Vec<(usize, &'a AgentOverride)>>,
    disable_builtins: Option<&'a (bool, Origin)>,
}

impl<'a> Said<'a> {
    fn new(layers: &'a [Layer]) -> Self {
        let mut of: BTreeMap<String, Vec<_>> = BTreeMap::new();
        let mut disable_builtins = None;
        for (at, layer) in layers.iter().enumerate() {
            for agent in &layer.overrides.agents {
                let key = name_key(&agent.agent).into_owned();
                of.entry(key).or_default().push((at, agent));
            }
            let bulk = layer.overrides.disable_builtins.as_ref();
            disable_builtins = bulk.or(disable_builtins);
        }
        Self {
            of,
            disable_builtins,
        }
    }

    /// The last word on each field of an agent, and the text in place of its own.
    fn fields(&self, name: &str, place: &str, layers: &[Layer]) -> (Fields<'a>, Option<OwnText>) {
        let by = |key: &str, by_address: bool| {
            let all = self.of.get(key).map_or(&[][..], Vec::as_slice);
            all.iter().map(move |(at, said)| (*at, by_address, *said))
        };
        let mut all: Vec<_> = by(name, false).chain(by(place, true)).collect();
        all.sort_by_key(|(at, by_address, _)| (*at, *by_address));
        let (mut fields, mut own_text) = (Fields::new(), None);
        for (at, by_address, said) in all {
            for set in &said.fields {
                fields.insert(set.change.field(), (set, by_address));
                if let (Change::SystemPrompt(text), Some(layer)) = (&set.change, layers.get(at)) {
                    own_text = Some(OwnText {
                        text: text.clone(),
                        file: set.origin.file.clone(),
                        digest: layer.digest,
                    });
                }
            }
        }
        (fields, own_text)
    }
}

impl Agents {
    /// Findings about overrides of agents that nobody is.
    pub fn unknown_overrides(&self, layers: &[Layer]) -> Vec<Diagnostic> {
        let mut known: BTreeSet<String> = BTreeSet::new();
        for agent in &self.agents {
            known.insert(name_key(&agent.name).into_owned());
            known.insert(self.address(agent));
        }
        let all = layers.iter().flat_map(|layer| &layer.overrides.agents);
        let unknown = all.filter(|said| !known.contains(&*name_key(&said.agent)));
        unknown
            .map(|said| {
                let names = self.agents.iter().map(|agent| agent.name.as_str());
                let near = near_names(names, &said.agent);
                let mut message = format!(
                    "no agent is called `{}`, which is overridden here",
                    one_line(&said.agent)
                );
                if !near.is_empty() {
                    message.push_str("; near: `");
                    message.push_str(&near.join("`, `"));
                    message.push('`');
                }
                Diagnostic::new(Code::OverrideUnknown, message)
                    .in_file(&said.origin.file)
                    .at(Position::new(said.origin.line, 1))
                    .with_names(near)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use grove_spec::agent;
    use grove_spec::config::LayerScope::{Project, User};
    use grove_spec::config::{self, LayerScope};

    use super::*;
    use crate::agents::{Answer, Candidate, Content, resolve_with};
    use crate::root::Standing;
    use crate::trust::Trust;

    fn layer(scope: LayerScope, file: &str, text: &str) -> Layer {
        let overrides = if text.starts_with('{') {
            agent::settings::parse(text, scope, Path::new(file)).0
        } else {
            let (layer, findings) = config::parse(text, scope, Path::new(file));
            assert_eq!(findings, []);
            layer.agents.unwrap()
        };
        Layer {
            overrides,
            digest: Digest::of(text.as_bytes()),
        }
    }

    /// The agent `x` of these sources, and the builtin `y`.
    fn agents(sources: &[Source], layers: &[Layer]) -> Agents {
        let mut all: Vec<(Source, &str)> = sources.iter().map(|source| (*source, "x")).collect();
        all.push((Source::Bundled, "y"));
        let roots = Source::ALL.map(|source| Root {
            path: PathBuf::from(format!("/{}", source.as_str())),
            label: format!("{}:agents", source.as_str()),
            source,
            standing: Standing::of(source),
            trust: Trust::Trusted,
        });
        let candidates = all.into_iter().map(|(source, name)| {
            let text = format!("---\nname: {name}\ndescription: d\nmodel: own\ntools: read\nthinking: low\n---\nBody\n");
            Candidate {
                root: roots.iter().position(|root| root.source == source).unwrap(),
                path: format!("{name}.md"),
                file: None,
                content: Ok(Content {
                    digest: Digest::of(text.as_bytes()),
                    size: text.len() as u64,
                    parsed: agent::parse(&text),
                }),
                diagnostics: Vec::new(),
            }
        });
        resolve_with(roots.to_vec(), candidates.collect(), layers, Vec::new())
    }

    fn of<'a>(agents: &'a Agents, name: &str) -> &'a Agent {
        match agents.find(name) {
            Answer::One(at) => &agents.agents[at],
            Answer::None { near } => panic!("{name}: {near:?}"),
        }
    }

    #[test]
    fn the_project_is_laid_over_the_user_field_by_field() {
        let layers = [
            layer(
                User,
                "u.json",
                r#"{"subagents": {"agentOverrides": {"x": {"model": "pi", "thinking": "high", "tools": ["a"]}}}}"#,
            ),
            layer(
                User,
                "u.toml",
                "[agents.overrides.x]\nmodel = 'user'\nmax_tokens = 5\n",
            ),
            layer(
                Project,
                "p.toml",
                "[agents.overrides.x]\nmax_tokens = false\ntools = false\n",
            ),
        ];
        for source in [
            Source::Bundled,
            Source::User,
            Source::Project,
            Source::Package,
        ] {
            let agents = agents(&[source], &layers);
            let agent = of(&agents, "x");
            let file = agent.file().unwrap();
            assert_eq!(file.model.as_deref(), Some("user"));
            assert_eq!(file.thinking.as_deref(), Some("high"));
            assert_eq!((file.max_tokens, &file.tools), (None, &None));
            let origins: Vec<(&str, &str, u32)> = agent
                .overridden
                .iter()
                .map(|set| {
                    let file = set.origin.file.to_str().unwrap();
                    (set.field.as_str(), file, set.origin.line)
                })
                .collect();
            assert_eq!(
                origins,
                [
                    ("model", "u.toml", 2),
                    ("thinking", "u.json", 1),
                    ("tools", "p.toml", 3),
                    ("maxTokens", "p.toml", 2),
                ]
            );
            assert_eq!(of(&agents, "y").overridden, []);
        }
    }

    #[test]
    fn a_builtin_that_is_switched_off_leaves_its_name_to_others() {
        let off = |scope, file| layer(scope, file, "[agents.overrides.x]\ndisabled = true\n");
        for (sources, layers, used, states) in [
            (
                vec![Source::Bundled],
                vec![off(User, "u")],
                None,
                vec!["disabled"],
            ),
            (
                vec![Source::User],
                vec![off(User, "u")],
                None,
                vec!["disabled"],
            ),
            (
                vec![Source::Bundled, Source::User],
                vec![off(User, "u")],
                Some("user"),
                vec!["ok", "disabled"],
            ),
            (
                vec![Source::Package, Source::Project],
                vec![off(Project, "p")],
                Some("project"),
                vec!["ok", "disabled"],
            ),
            (
                vec![Source::Bundled],
                vec![
                    off(User, "u"),
                    layer(Project, "p", "[agents.overrides.x]\ndisabled = false\n"),
                ],
                Some("bundled"),
                vec!["ok"],
            ),
            (
                vec![Source::Bundled, Source::User],
                vec![layer(
                    User,
                    "u",
                    "[agents.overrides.'x@user:agents']\ndisabled = true\n",
                )],
                Some("bundled"),
                vec!["disabled", "ok"],
            ),
        ] {
            let agents = agents(&sources, &layers);
            let found = of(&agents, "x");
            let usable = Some(found).filter(|agent| agent.state == State::Ok);
            let source = usable.map(|agent| agents.roots[agent.root].source.as_str());
            assert_eq!(source, used, "{sources:?}");
            let named = agents.agents.iter().filter(|agent| agent.name == "x");
            let found: Vec<&str> = named.map(|agent| agent.state.as_str()).collect();
            assert_eq!(found, states, "{sources:?}");
        }
    }

    #[test]
    fn builtins_can_be_switched_off_together_and_kept_one_by_one() {
        let all =
            |scope, flag: bool| layer(scope, "a", &format!("agents.disable_builtins = {flag}\n"));
        let keep = layer(User, "k", "[agents.overrides.x]\ndisabled = false\n");
        let other = layer(User, "k", "[agents.overrides.x]\nmodel = 'm'\n");
        for (layers, x, y) in [
            (vec![all(User, true)], "disabled", "disabled"),
            (vec![all(User, true), all(Project, false)], "ok", "ok"),
            (
                vec![all(User, false), all(Project, true)],
                "disabled",
                "disabled",
            ),
            (vec![all(User, true), keep.clone()], "ok", "disabled"),
            (vec![keep, all(Project, true)], "ok", "disabled"),
            (vec![all(User, true), other], "disabled", "disabled"),
        ] {
            let agents = agents(&[Source::Bundled], &layers);
            let states = (
                of(&agents, "x").state.as_str(),
                of(&agents, "y").state.as_str(),
            );
            assert_eq!(states, (x, y), "{layers:?}");
        }
        let own = agents(&[Source::User], &[all(User, true)]);
        assert_eq!(of(&own, "x").state, State::Ok);
        let reason = &of(&own, "y").reasons[0];
        assert_eq!(reason.code, "disabled");
        assert!(reason.message.contains("a:1"), "{}", reason.message);
    }

    #[test]
    fn a_text_in_place_of_the_files_says_where_it_is_from() {
        let layers = [layer(
            User,
            "u",
            "[agents.overrides.x]\nsystem_prompt = 'Other'\n",
        )];
        let agents = agents(&[Source::Bundled], &layers);
        let text = of(&agents, "x").own_text.clone().unwrap();
        assert_eq!(
            (text.text.as_str(), text.digest),
            ("Other", layers[0].digest)
        );
        assert_eq!(of(&agents, "y").own_text, None);
    }

    #[test]
    fn an_override_of_nobody_is_said() {
        let layers = [layer(
            User,
            "u",
            "[agents.overrides.xx]\nmodel = 'm'\n[agents.overrides.x]\n[agents.overrides.'y@bundled:agents']\n",
        )];
        let agents = agents(&[Source::User], &layers);
        let said = agents.unknown_overrides(&layers);
        let [finding] = said.as_slice() else {
            panic!("{said:?}");
        };
        assert!(finding.message.contains("`xx`") && finding.message.contains("near: `x`"));
        assert_eq!(finding.position, Some(Position::new(1, 1)));
    }
}
