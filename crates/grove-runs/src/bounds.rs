//! The bounds of a run that a child asks for: its children get no more than that child has.
//!
//! Every request of a child comes here, whichever way it was asked for: by its tool, over MCP, over the bridge of an agent
//! program, by `grove` in a shell; for an agent, tasks, steps, groups or a saved chain. What a request names is looked for
//! elsewhere.

use std::path::Path;

use grove_exec::Program;
use grove_plan::{Parent, TreeLimits};
use grove_spec::agent::model_scope::ModelScope;
use grove_store::{Store, StoreError};

use crate::delegation::Above;
use crate::powers::Powers;
use crate::submission::{ChildRequest, RunRequest, SubmitError, usual_tools};

impl Above {
    /// Binds a run to what the child that asks for it has: its folder, its tools, the scopes of its models, and what its
    /// own run may spend. Returns what the children lose by it, in words.
    pub fn bind(&self, run: &mut RunRequest) -> Result<Vec<String>, SubmitError> {
        let powers = self.powers();
        let mut notes = Vec::new();
        self.require_folder(&run.folder)?;
        for child in &mut run.children {
            self.require_folder(&child.folder)?;
            notes.extend(narrow(child, &powers)?);
        }
        run.tree = self.tree_below(&run.tree);
        run.model_scopes = self.scopes_below(std::mem::take(&mut run.model_scopes));
        run.parent = Some(self.parent.clone());
        run.surroundings.clone_from(&self.surroundings);
        // The command of the person is only told of the person's own runs.
        run.on_complete = None;
        Ok(notes)
    }

    /// Refuses a folder outside the one in which the child that asks works.
    pub fn require_folder(&self, folder: &Path) -> Result<(), SubmitError> {
        if self.powers().cover_folder(folder) {
            return Ok(());
        }
        Err(SubmitError::Refused {
            message: format!(
                "{} is outside {}, where the child that asks works",
                folder.display(),
                self.folder.display()
            ),
            help: "name a folder below it, or leave `cwd` out".to_owned(),
        })
    }

    /// Returns the limits of a run that asks for these itself. Its usage counts for the run above as well, which knows how
    /// much is left.
    fn tree_below(&self, asked: &TreeLimits) -> TreeLimits {
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
    pub fn scopes_below(&self, of_folder: Vec<ModelScope>) -> Vec<ModelScope> {
        let mut scopes = self.model_scopes.clone();
        scopes.extend(of_folder);
        let mut all: Vec<ModelScope> = Vec::new();
        for scope in scopes {
            if !all.contains(&scope) {
                all.push(scope);
            }
        }
        all
    }
}

/// Returns true if a run is one that a child asked for, or one below such a run.
pub fn is_own(store: &Store, child: &Parent, run: &str) -> Result<bool, StoreError> {
    let mut at = run.to_owned();
    while let Some(parent) = store.parent(&at)? {
        if parent.run == child.run && parent.of.node == child.of.node {
            return Ok(true);
        }
        at = parent.run;
    }
    Ok(false)
}

/// Leaves a child only the tools that the powers of the child above it cover. Returns the tools that it loses, in words.
fn narrow(request: &mut ChildRequest, above: &Powers) -> Result<Vec<String>, SubmitError> {
    let agent = &request.agent;
    let program = request.program.as_ref();
    let program = program.and_then(|_| Program::named(&request.engine));
    if program.is_some_and(|program| !program.can.tool_list) && !above.are_whole() {
        return Err(SubmitError::Refused {
            message: format!(
                "engine `{}` of `{agent}` chooses its tools itself, and the child that asks does not have all of them",
                request.engine
            ),
            help: "choose `engine: native` for it".to_owned(),
        });
    }
    let listed = request.tools.take().unwrap_or_else(usual_tools);
    let (kept, lost): (Vec<String>, Vec<String>) = listed.into_iter().partition(|name| {
        above.cover_tool(name) && (program.is_none() || above.cover_in_program(name))
    });
    if kept.is_empty() && !lost.is_empty() {
        return Err(SubmitError::Refused {
            message: format!(
                "`{agent}` needs {}, which the child that asks does not have",
                lost.join(", ")
            ),
            help: "ask an agent that needs less".to_owned(),
        });
    }
    request.tools = Some(kept);
    Ok(if lost.is_empty() {
        Vec::new()
    } else {
        let lost = lost.join(", ");
        vec![format!(
            "`{agent}` works without {lost}: the child that asks does not have them"
        )]
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::LazyLock;

    use grove_plan::{Attempt, Limits, NodeId, Tools};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::{TOOLS, ToolRow};

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

    /// A child as a request names it.
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

    /// Builds the request that the surfaces hand over, before it is bound.
    fn request(asked: &Asked) -> RunRequest {
        let children = asked.children.iter().enumerate().map(|(n, child)| {
            let id = |n: usize| match asked.form {
                Form::Tasks | Form::Group => format!("1.{n}"),
                Form::Agent | Form::Steps | Form::Reviewed => format!("{}", n + 1),
            };
            let is_after = matches!(asked.form, Form::Steps | Form::Reviewed) && n > 0;
            json!({
                "id": id(n),
                "after": if is_after { vec![id(n - 1)] } else { vec![] },
                "group": if id(n).contains('.') { json!("1") } else { Value::Null },
                "label": null,
                "inputs": null,
                "agent": format!("agent{n}"),
                "address": format!("agent{n}@own"),
                "task": "work",
                "tools": child.tools,
                "deniedTools": [],
                "engine": child.engine,
                "program": (child.engine != "native").then_some("/bin/program"),
                "models": ["house/m"],
                "fallbackAfterWrites": false,
                "folder": folder(child.place),
                "readable": [],
                "limits": Limits { max_subagent_depth: child.levels, ..Limits::default() },
                "outputSchema": null,
                "reviews": (is_after && matches!(asked.form, Form::Reviewed)).then(|| id(n - 1)),
            })
        });
        let [timeout, tokens, cost, depth, children_limit] = asked.limits;
        let written = json!({
            "title": "x",
            "task": "x",
            "children": children.collect::<Vec<_>>(),
            "groups": {},
            "folder": folder(asked.place),
            "tree": {
                "timeoutMs": timeout,
                "maxTokens": tokens,
                "maxCost": cost,
                "maxDepth": depth,
                "maxChildren": children_limit,
            },
            "submitKey": null,
            "background": false,
            "recording": null,
            "surroundings": "own",
            "modelScopes": asked.scope.map(scope).into_iter().collect::<Vec<_>>(),
        });
        serde_json::from_value(written).unwrap()
    }

    /// Returns a child of a bound run in its role as the one that asks.
    fn above(run: &RunRequest, child: &ChildRequest) -> Above {
        let listed = child.tools.clone().unwrap_or_else(usual_tools);
        let in_our_words = |name: &String| match ToolRow::by_name(name) {
            Some(row) => row.name.to_owned(),
            None => name.clone(),
        };
        let parent = Parent {
            run: "run".to_owned(),
            of: Attempt {
                node: NodeId::from("1"),
                n: 1,
            },
        };
        Above {
            parent,
            folder: grove_fs::files::canonical(&child.folder).unwrap(),
            engine: child.engine.clone(),
            model: None,
            tools: Tools {
                allowed: listed.iter().map(in_our_words).collect(),
                can_write: false,
            },
            tree: TreeLimits {
                max_depth: run.tree.deepest(&child.limits),
                ..run.tree.clone()
            },
            model_scopes: run.model_scopes.clone(),
            surroundings: run.surroundings.clone(),
        }
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
    fn growth(run: &RunRequest, child: &Above, higher: &Above) -> Option<String> {
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
            let mut higher: Vec<Above> = Vec::new();
            for asked in &levels {
                let mut run = request(asked);
                if let Some(asks) = higher.last()
                    && asks.bind(&mut run).is_err()
                {
                    continue;
                }
                for child in &run.children {
                    let child = above(&run, child);
                    for higher in &higher {
                        let grown = growth(&run, &child, higher);
                        prop_assert!(grown.is_none(), "{grown:?} in {levels:?}");
                    }
                }
                prop_assert_eq!(run.parent.is_some(), !higher.is_empty());
                let next = asked.asks_next % run.children.len();
                higher.push(above(&run, &run.children[next]));
            }
        }

        // Shows that the law is not empty: a request that is below the child in every way is not refused.
        #[test]
        fn what_a_child_has_itself_it_can_ask_for(asked in asked()) {
            let mut run = request(&asked);
            let whole = above(&run, &run.children[0]);
            let whole = Above {
                folder: grove_fs::files::canonical(&folder("")).unwrap(),
                tools: Tools { allowed: TOOLS.iter().map(|row| row.name.to_owned()).collect(), can_write: true },
                ..whole
            };
            let tools: Vec<_> = run.children.iter().map(|child| child.tools.clone()).collect();
            let is_of_server = tools.iter().flatten().flatten().any(|name| name.starts_with(crate::mcp::MCP));
            let bound = whole.bind(&mut run);
            if !is_of_server {
                prop_assert_eq!(bound.ok(), Some(Vec::new()));
                let usual = |tools: Option<Vec<String>>| tools.unwrap_or_else(usual_tools);
                for (child, before) in run.children.into_iter().zip(tools) {
                    prop_assert_eq!(usual(child.tools), usual(before));
                }
            }
        }
    }
}
