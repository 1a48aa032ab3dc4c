//! The order of roots by strength.
//!
//! bundled < package < extra < managed < user < project. In a project the folder nearer to the working folder wins.
//! Inside one source the order is Grove's own folder, `.agents`, other hosts' by name, and last the folders that their
//! settings name.

use std::cmp::Ordering;

use crate::root::{Root, Source};

/// Returns a source's step on the ladder, from zero for the strongest.
pub const fn step(source: Source) -> u32 {
    match source {
        Source::Project => 0,
        Source::User => 1,
        Source::Managed => 2,
        Source::Extra => 3,
        Source::Package => 4,
        Source::Bundled => 5,
    }
}

/// Compares two roots; the stronger one is less, so that sorting puts winners first.
pub fn stronger_first(a: &Root, b: &Root) -> Ordering {
    a.standing
        .cmp(&b.standing)
        .then_with(|| a.path.cmp(&b.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::{Family, Standing};
    use crate::trust::Trust;

    /// Source, distance, family, order and path of roots, strongest first.
    const LADDER: &str = "\
        project 0 grove 0 /p/sub/.grove/skills
        project 0 agents 0 /p/sub/.agents/skills
        project 0 .claude 0 /p/sub/.claude/skills
        project 0 .codex 0 /p/sub/.codex/skills
        project 0 named 0 /p/sub/a
        project 1 grove 0 /p/.grove/skills
        project 1 agents 0 /p/.agents/skills
        project 1 named 0 /p/b
        project 1 named 1 /p/a
        user 0 grove 0 /h/.config/grove/skills
        user 0 agents 0 /h/.agents/skills
        user 0 .claude 0 /h/.claude/skills
        user 0 named 0 /h/named
        managed 0 grove 0 /h/.local/share/grove/skills
        extra 0 grove 0 /z
        extra 0 grove 1 /a
        package 0 grove 0 /pkg
        bundled 0 grove 0 /bundled";

    fn root(row: &str) -> Root {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let [source, distance, family, order, path] = cells[..] else {
            panic!("{row}");
        };
        let is_source = |known: &Source| known.as_str() == source;
        let source = Source::ALL.into_iter().find(is_source).unwrap();
        Root {
            label: path.into(),
            path: path.into(),
            source,
            standing: Standing {
                distance: distance.parse().unwrap(),
                family: match family {
                    "grove" => Family::Grove,
                    "agents" => Family::Agents,
                    "named" => Family::Named,
                    host => Family::Host(host.to_owned()),
                },
                order: order.parse().unwrap(),
                ..Standing::of(source)
            },
            trust: Trust::Trusted,
        }
    }

    #[test]
    fn the_ladder() {
        let ladder: Vec<Root> = LADDER.lines().map(root).collect();
        assert_eq!(ladder.len(), 18);
        for (i, a) in ladder.iter().enumerate() {
            for (j, b) in ladder.iter().enumerate() {
                assert_eq!(stronger_first(a, b), i.cmp(&j), "{} {}", a.label, b.label);
            }
        }
    }
}
