//! The child that asks for a run, and the bounds of what it asks for: its children get no more than it has itself.
//!
//! Every request of a child comes here, whichever way it was asked for: by its tool, over MCP, over the bridge of an agent
//! program, by `grove` in a shell, which is that child; for an agent, tasks, steps, groups or a saved chain.

use std::path::{Path, PathBuf};

use grove_exec::{MARK, kept_mark};
use grove_plan::{Attempt, CallId, NodeId, Parent, Tools, TreeLimits};
use grove_skills::Environment;
use grove_spec::agent::model_scope::ModelScope;
use grove_store::{LoadedRun, Store, StoreError};

use crate::envelope::RunEnvelope;
use crate::error::EngineError;
use crate::journal::RunJournal;
use crate::powers::Powers;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallingChild {
    /// Its run, its node and its attempt.
    pub(crate) parent: Parent,
    pub(crate) folder: PathBuf,
    pub(crate) engine: String,
    /// Its model, as `provider/id`; none if a program chooses it.
    pub(crate) model: Option<String>,
    pub(crate) tools: Tools,
    /// The limits of its run, and the depth of that run.
    pub(crate) tree: TreeLimits,
    pub(crate) model_scopes: Vec<ModelScope>,
    pub(crate) surroundings: String,
    /// The call of its tool by which it asks; none where it asks in another way.
    pub(crate) call: Option<CallId>,
}

impl CallingChild {
    /// Returns a child of a run as one that asks; none if the plan has no such child.
    pub(crate) fn of(
        run: &LoadedRun,
        envelope: &RunEnvelope,
        parent: Parent,
        folder: PathBuf,
    ) -> Option<Self> {
        let child = run.plan.child(&parent.of.node)?;
        let node = run.state.nodes.get(&parent.of.node);
        let at = node
            .and_then(|node| node.last())
            .map_or(0, |last| last.model);
        let model = child.models.get(at).filter(|name| name.contains('/'));
        Some(Self {
            folder,
            engine: child.engine.clone(),
            model: model.cloned(),
            tools: child.tools.clone(),
            tree: TreeLimits {
                max_depth: run.plan.tree.deepest(&child.limits),
                ..run.plan.tree.clone()
            },
            model_scopes: envelope.model_scopes.clone(),
            surroundings: envelope.surroundings.clone(),
            call: None,
            parent,
        })
    }

    /// The child that this process belongs to; none for a process of a person or of a host.
    pub(crate) fn of_process(journal: &RunJournal) -> Result<Option<Self>, EngineError> {
        if !journal.is_child() {
            return Ok(None);
        }
        let unknown = || {
            EngineError::finding("this process belongs to a child of a run that is not known here")
                .hint("the child has to use its tool `subagent`")
        };
        let parent = parent_of_process(&journal.environment).ok_or_else(unknown)?;
        let loaded = journal.load(&parent.run).map_err(|_| unknown())?;
        let tree = loaded.state.nodes.get(&parent.of.node);
        let tree = tree.and_then(|node| node.worktree.as_ref()?.folder.clone());
        let child = loaded.plan.child(&parent.of.node).ok_or_else(unknown)?;
        let folder = tree.unwrap_or_else(|| child.place.folder.clone());
        let envelope = RunEnvelope::read(&loaded.envelope)?;
        let found = Self::of(&loaded, &envelope, parent, folder);
        found.map(Some).ok_or_else(unknown)
    }

    /// Returns the most that the children of its runs may do.
    pub(crate) fn powers(&self) -> Powers {
        Powers::of(&self.tools, &self.folder)
    }

    /// Refuses a folder outside the one in which it works.
    pub(crate) fn require_folder(&self, folder: &Path) -> Result<(), EngineError> {
        if self.powers().cover_folder(folder) {
            return Ok(());
        }
        let message = format!(
            "{} is outside {}, where the child that asks works",
            folder.display(),
            self.folder.display()
        );
        Err(EngineError::usage(message).hint("name a folder below it, or leave `cwd` out"))
    }

    /// Returns the limits of a run that asks for these itself. Its usage counts for the run above as well, which knows how
    /// much is left.
    pub(crate) fn tree_below(&self, asked: &TreeLimits) -> TreeLimits {
        let above = &self.tree;
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        TreeLimits {
            timeout_ms: least(asked.timeout_ms, above.timeout_ms),
            max_tokens: least(asked.max_tokens, above.max_tokens),
            max_cost: least(asked.max_cost, above.max_cost),
            depth: above.depth.saturating_add(1),
            max_depth: least(asked.max_depth, above.max_depth),
            max_children: least(asked.max_children, above.max_children),
        }
    }

    /// Returns the scopes of models for its runs: its own, and those of the folder in which they work.
    pub(crate) fn scopes_below(&self, of_folder: Vec<ModelScope>) -> Vec<ModelScope> {
        let mut all: Vec<ModelScope> = Vec::new();
        for scope in self.model_scopes.iter().cloned().chain(of_folder) {
            if !all.contains(&scope) {
                all.push(scope);
            }
        }
        all
    }
}

/// The mark of the child that this process belongs to. Its keeper's word counts before the variable, which a child can
/// unset or change.
pub fn mark_of(environment: &Environment) -> Option<String> {
    let of_variable = || {
        let value = environment.variables.get(MARK)?;
        Some(value.to_string_lossy().into_owned())
    };
    kept_mark().or_else(of_variable)
}

/// The child of this process's mark: the last of the path from the root.
fn parent_of_process(environment: &Environment) -> Option<Parent> {
    let mark = mark_of(environment)?;
    let mut parts = mark.rsplit('/');
    let (n, node, run) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Parent {
        run: run.to_owned(),
        of: Attempt {
            node: NodeId::from(node),
            n: n.parse().ok()?,
        },
    })
}

/// Returns true if a run is one that a child asked for, or one below such a run.
pub(crate) fn is_own(store: &Store, child: &Parent, run: &str) -> Result<bool, StoreError> {
    let mut at = run.to_owned();
    while let Some(parent) = store.parent(&at)? {
        if parent.run == child.run && parent.of.node == child.of.node {
            return Ok(true);
        }
        at = parent.run;
    }
    Ok(false)
}

/// Refuses the process of a child what it may do with its own runs alone: those that it asked for, and those below them.
pub(crate) fn require_own(journal: &RunJournal, run: &str) -> Result<(), EngineError> {
    if !journal.is_child() {
        return Ok(());
    }
    match parent_of_process(&journal.environment) {
        Some(child) if is_own(&journal.store, &child, run)? => Ok(()),
        _ => Err(not_own(run)),
    }
}

/// The refusal of a run that another child, a host or a person asked for.
pub(crate) fn not_own(run: &str) -> EngineError {
    let message = format!("run {run} is not one that this child asked for");
    EngineError::usage(message).hint("ask the one who gave you the task")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    use grove_exec::Program;
    use grove_plan::Limits;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::resolve::{ListedTools, of_reviewer};
    use crate::tools::TOOLS;

    /// Folders that lie in one another, and links that lead out of them.
    static FOLDERS: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        let folders = tempfile::tempdir().unwrap();
        for name in ["a/b/c", "a/d", "e"] {
            grove_fs::files::make_folder(&folders.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink("../../e", folders.path().join("a/b/out")).unwrap();
        std::os::unix::fs::symlink("../b", folders.path().join("a/d/back")).unwrap();
        folders
    });

    const PLACES: [&str; 9] = [
        "", "a", "a/b", "a/b/c", "a/d", "e", "a/b/out", "a/d/back", "a/b/../d",
    ];

    /// The ways in which a request names its children.
    #[derive(Debug, Clone, Copy)]
    enum Form {
        Agent,
        Tasks,
        Steps,
        Group,
        Reviewed,
    }

    #[derive(Debug, Clone)]
    struct Named {
        tools: Option<Vec<&'static str>>,
        engine: &'static str,
        place: &'static str,
        levels: Option<u64>,
    }

    /// A request, and the number of its child that asks next.
    #[derive(Debug, Clone)]
    struct Asked {
        form: Form,
        place: &'static str,
        children: Vec<Named>,
        limits: [Option<u64>; 5],
        scope: Option<&'static str>,
        asks_next: usize,
    }

    fn listed() -> impl Strategy<Value = Vec<&'static str>> {
        let names: Vec<&'static str> = TOOLS
            .iter()
            .flat_map(|row| std::iter::once(row.name).chain(row.others.iter().copied()))
            .chain(["mcp:a/x", "mcp:a/y", "mcp:b/x"])
            .collect();
        prop::collection::vec(prop::sample::select(names), 0..8)
    }

    fn named() -> impl Strategy<Value = Named> {
        let engines = [
            "native", "native", "native", "claude", "codex", "pi", "copilot", "acp:x",
        ];
        (
            prop::option::weighted(0.8, listed()),
            prop::sample::select(engines.to_vec()),
            prop::sample::select(PLACES.to_vec()),
            prop::option::of(0..4_u64),
        )
            .prop_map(|(tools, engine, place, levels)| Named {
                tools,
                engine,
                place,
                levels,
            })
    }

    fn asked() -> impl Strategy<Value = Asked> {
        let forms = [
            Form::Agent,
            Form::Tasks,
            Form::Steps,
            Form::Group,
            Form::Reviewed,
        ];
        (
            prop::sample::select(forms.to_vec()),
            prop::sample::select(PLACES.to_vec()),
            prop::collection::vec(named(), 1..4),
            prop::array::uniform5(prop::option::of(1..9_u64)),
            prop::option::of(prop::sample::select(vec!["x", "y", "z"])),
            0..3_usize,
        )
            .prop_map(|(form, place, mut children, limits, scope, asks_next)| {
                if matches!(form, Form::Agent) {
                    children.truncate(1);
                }
                Asked {
                    form,
                    place,
                    children,
                    limits,
                    scope,
                    asks_next,
                }
            })
    }

    fn folder(place: &str) -> PathBuf {
        FOLDERS.path().join(place)
    }

    fn scope(name: &str) -> ModelScope {
        let written = json!({
            "origin": { "file": "/settings.json", "line": 1 },
            "ofAll": { "allow": [name], "enforce": true, "strict": true },
            "byAgent": {},
        });
        serde_json::from_value(written).unwrap()
    }

    /// A run of a child as it is bound: its folders, its limits, and the tools of its children.
    struct BoundRun {
        folder: PathBuf,
        children: Vec<CallingChild>,
        tree: TreeLimits,
    }

    /// Binds a request to the child that asks; none if it is refused. The first of a tree is asked for by no child.
    fn bound(asked: &Asked, above: Option<&CallingChild>) -> Option<BoundRun> {
        let [timeout_ms, max_tokens, max_cost, max_depth, max_children] = asked.limits;
        let tree = TreeLimits {
            timeout_ms,
            max_tokens,
            max_cost,
            depth: 0,
            max_depth,
            max_children,
        };
        let run_folder = folder(asked.place);
        let own_scopes: Vec<ModelScope> = asked.scope.map(scope).into_iter().collect();
        let (tree, scopes) = match above {
            Some(above) => {
                above.require_folder(&run_folder).ok()?;
                (above.tree_below(&tree), above.scopes_below(own_scopes))
            }
            None => (tree, own_scopes),
        };
        let powers = above.map(CallingChild::powers);
        let children = asked.children.iter().enumerate().map(|(n, child)| {
            let place = folder(child.place);
            if let Some(above) = above {
                above.require_folder(&place).ok()?;
            }
            let tools = child.tools.as_ref();
            let listed = tools.map(|names| names.iter().map(|it| (*it).to_owned()).collect());
            let is_reviewer = matches!(asked.form, Form::Reviewed) && n > 0;
            let listed = if is_reviewer {
                of_reviewer(listed)
            } else {
                listed
            };
            let servers = ["a".to_owned(), "b".to_owned()];
            let tools = ListedTools {
                agent: "agent",
                listed,
                denied: &BTreeSet::new(),
                engine: child.engine,
                servers: &servers,
            };
            let limits = Limits {
                max_subagent_depth: child.levels,
                ..Limits::default()
            };
            Some(CallingChild {
                parent: Parent {
                    run: "run".to_owned(),
                    of: Attempt {
                        node: NodeId::from("1"),
                        n: 1,
                    },
                },
                folder: place,
                engine: child.engine.to_owned(),
                model: None,
                tools: tools.choose(powers.as_ref()).ok()?.tools,
                tree: TreeLimits {
                    max_depth: tree.deepest(&limits),
                    ..tree.clone()
                },
                model_scopes: scopes.clone(),
                surroundings: "own".to_owned(),
                call: None,
            })
        });
        Some(BoundRun {
            folder: run_folder,
            children: children.collect::<Option<_>>()?,
            tree,
        })
    }

    /// Returns true if a tool, or one that can do as much, is in a list.
    fn is_held(name: &str, list: &[String]) -> bool {
        let has = |names: &[&str]| list.iter().any(|it| names.contains(&it.as_str()));
        match name {
            "skill" | "contact_supervisor" => true,
            "read" | "ls" | "find" | "grep" => has(&["read", "ls", "find", "grep", "bash"]),
            "write" | "edit" => has(&["write", "edit"]),
            same => has(&[same]),
        }
    }

    /// Names the first thing that a child has and one above it lacks.
    fn growth(run: &BoundRun, child: &CallingChild, higher: &CallingChild) -> Option<String> {
        let lacking = |name: &&String| !is_held(name, &higher.tools.allowed);
        if let Some(name) = child.tools.allowed.iter().find(lacking) {
            return Some(format!("the tool {name}"));
        }
        let real = |path: &Path| grove_fs::files::canonical(path).unwrap();
        for place in [&child.folder, &run.folder] {
            if !real(place).starts_with(real(&higher.folder)) {
                return Some(format!("the folder {}", place.display()));
            }
        }
        let chooses_itself = Program::named(&child.engine).is_some_and(|it| !it.can.tool_list);
        if chooses_itself
            && !["write", "bash"]
                .iter()
                .all(|name| is_held(name, &higher.tools.allowed))
        {
            return Some(format!("the tools of {}", child.engine));
        }
        let (own, of_higher) = (&run.tree, &higher.tree);
        let exceeds = |own: Option<u64>, above: Option<u64>| {
            above.is_some_and(|above| own.is_none_or(|own| own > above))
        };
        for (what, own, above) in [
            ("time", own.timeout_ms, of_higher.timeout_ms),
            ("tokens", own.max_tokens, of_higher.max_tokens),
            ("money", own.max_cost, of_higher.max_cost),
            ("depth", own.max_depth, of_higher.max_depth),
            ("children", own.max_children, of_higher.max_children),
        ] {
            if exceeds(own, above) {
                return Some(format!("{what}: {own:?} and not {above:?}"));
            }
        }
        if own.depth <= of_higher.depth {
            return Some("a depth above its own".to_owned());
        }
        let mut scopes = higher.model_scopes.iter();
        let lost = scopes.find(|scope| !child.model_scopes.contains(scope));
        lost.map(|_| "models outside a scope".to_owned())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 10_000, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

        // Covers trees of delegation of any depth and form; a request that is refused asks for nothing.
        #[test]
        fn no_child_of_any_tree_has_what_one_above_it_lacks(levels in prop::collection::vec(asked(), 2..6)) {
            let mut higher: Vec<CallingChild> = Vec::new();
            for asked in &levels {
                let Some(run) = bound(asked, higher.last()) else {
                    continue;
                };
                for child in &run.children {
                    for higher in &higher {
                        let grown = growth(&run, child, higher);
                        prop_assert!(grown.is_none(), "{grown:?} in {levels:?}");
                    }
                }
                let next = asked.asks_next % run.children.len();
                higher.push(run.children[next].clone());
            }
        }

        // Shows that the law is not empty: a request that is below the child in every way is not refused.
        #[test]
        fn what_a_child_has_itself_it_can_ask_for(asked in asked()) {
            let Some(alone) = bound(&asked, None) else {
                return Ok(());
            };
            let all = TOOLS.iter().map(|row| row.name).chain(["mcp:a/x", "mcp:a/y", "mcp:b/x"]);
            let whole = CallingChild {
                folder: folder(""),
                tools: Tools { allowed: all.map(str::to_owned).collect(), can_write: true },
                ..alone.children[0].clone()
            };
            let below = bound(&asked, Some(&whole)).unwrap();
            for (child, alone) in below.children.into_iter().zip(alone.children) {
                prop_assert_eq!(child.tools, alone.tools);
            }
        }
    }
}
