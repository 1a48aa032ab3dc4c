//! The order of roots by strength.
//!
//! bundled < package < extra < managed < user < project. In a project the folder nearer to the working folder wins.
//! Inside one source the order is Grove's own folder, `.agents`, other hosts' by name, and last the folders that their
//! settings name.

use std::cmp::Ordering;

use crate::root::{Root, RootSource};

/// Returns a source's step on the ladder, from zero for the strongest.
pub const fn step(source: RootSource) -> u32 {
    match source {
        RootSource::Project => 0,
        RootSource::User => 1,
        RootSource::Managed => 2,
        RootSource::Extra => 3,
        RootSource::Package => 4,
        RootSource::Bundled => 5,
    }
}

/// Compares two roots; the stronger one is less, so that sorting puts winners first.
pub fn stronger_first(a: &Root, b: &Root) -> Ordering {
    a.rank.cmp(&b.rank).then_with(|| a.path.cmp(&b.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::{RootOwner, RootRank};
    use crate::trust::RootTrust;

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
        let is_source = |known: &RootSource| known.as_str() == source;
        let source = RootSource::ALL.into_iter().find(is_source).unwrap();
        Root {
            label: path.into(),
            path: path.into(),
            source,
            rank: RootRank {
                distance: distance.parse().unwrap(),
                owner: match family {
                    "grove" => RootOwner::Grove,
                    "agents" => RootOwner::Agents,
                    "named" => RootOwner::Named,
                    host => RootOwner::Host(host.to_owned()),
                },
                order: order.parse().unwrap(),
                ..RootRank::of(source)
            },
            trust: RootTrust::Trusted,
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
