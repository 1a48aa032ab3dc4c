//! The order of layers, and switching agents off.

use std::path::Path;

use grove_spec::agent;
use grove_spec::config::LayerScope::{Project, User};
use grove_spec::config::{self, LayerScope};

use super::*;
use crate::agents::resolve_with;
use crate::tests::{all_roots, candidate, root_index};

fn layer(scope: LayerScope, file: &str, text: &str) -> OverrideLayer {
    let overrides = if text.starts_with('{') {
        agent::settings::parse(text, scope, Path::new(file)).0
    } else {
        let (layer, findings) = config::parse(text, scope, Path::new(file));
        assert_eq!(findings, []);
        layer.agents.unwrap()
    };
    OverrideLayer {
        overrides,
        digest: Digest::of(text.as_bytes()),
    }
}

/// The agent `x` of these sources, and the builtin `y`.
fn agents(sources: &[RootSource], layers: &[OverrideLayer]) -> Agents {
    let mut all: Vec<(RootSource, &str)> = sources.iter().map(|source| (*source, "x")).collect();
    all.push((RootSource::Bundled, "y"));
    let candidates = all.into_iter().map(|(source, name)| {
        let text = format!(
            "---\nname: {name}\ndescription: d\nmodel: own\ntools: read\nthinking: low\n---\nBody\n"
        );
        let path = format!("{name}.md");
        candidate(root_index(source), &path, &text, agent::parse(&text))
    });
    resolve_with(all_roots(), candidates.collect(), layers, Vec::new())
}

fn of<'a>(agents: &'a Agents, name: &str) -> &'a Agent {
    match agents.find(name) {
        Ok(at) => &agents.all[at],
        Err(near) => panic!("{name}: {near:?}"),
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
        RootSource::Bundled,
        RootSource::User,
        RootSource::Project,
        RootSource::Package,
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
                ("tools", "p.toml", 3),
                ("model", "u.toml", 2),
                ("thinking", "u.json", 1),
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
            vec![RootSource::Bundled],
            vec![off(User, "u")],
            None,
            vec!["disabled"],
        ),
        (
            vec![RootSource::User],
            vec![off(User, "u")],
            None,
            vec!["disabled"],
        ),
        (
            vec![RootSource::Bundled, RootSource::User],
            vec![off(User, "u")],
            Some("user"),
            vec!["ok", "disabled"],
        ),
        (
            vec![RootSource::Package, RootSource::Project],
            vec![off(Project, "p")],
            Some("project"),
            vec!["ok", "disabled"],
        ),
        (
            vec![RootSource::Bundled],
            vec![
                off(User, "u"),
                layer(Project, "p", "[agents.overrides.x]\ndisabled = false\n"),
            ],
            Some("bundled"),
            vec!["ok"],
        ),
        (
            vec![RootSource::Bundled, RootSource::User],
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
        let usable = Some(found).filter(|agent| agent.state == EntryState::Ok);
        let source = usable.map(|agent| agents.roots[agent.root].source.as_str());
        assert_eq!(source, used, "{sources:?}");
        let named = agents.all.iter().filter(|agent| agent.name == "x");
        let found: Vec<&str> = named.map(|agent| agent.state.as_str()).collect();
        assert_eq!(found, states, "{sources:?}");
    }
}

#[test]
fn builtins_can_be_switched_off_together_and_kept_one_by_one() {
    let all = |scope, flag: bool| layer(scope, "a", &format!("agents.disable_builtins = {flag}\n"));
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
        let agents = agents(&[RootSource::Bundled], &layers);
        let states = (
            of(&agents, "x").state.as_str(),
            of(&agents, "y").state.as_str(),
        );
        assert_eq!(states, (x, y), "{layers:?}");
    }
    let own = agents(&[RootSource::User], &[all(User, true)]);
    assert_eq!(of(&own, "x").state, EntryState::Ok);
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
    let agents = agents(&[RootSource::Bundled], &layers);
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
    let agents = agents(&[RootSource::User], &layers);
    let said = agents.unknown_overrides(&layers);
    let [finding] = said.as_slice() else {
        panic!("{said:?}");
    };
    assert!(finding.message.contains("`xx`") && finding.message.contains("near: `x`"));
    assert_eq!(finding.position, Some(Position::new(1, 1)));
}
