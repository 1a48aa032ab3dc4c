//! Which root is stronger.
//!
//! bundled < package < extra < managed < user < project. In a project the folder nearer to the working
//! folder wins; inside one source grove's own folder, then `.agents`, then other hosts' by name, then what their settings
//! name.

use std::cmp::Ordering;

use crate::root::{Root, Source};

/// A source's step on the ladder, from zero for the strongest.
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

    fn root(source: Source, distance: u32, family: Family, order: u32, path: &str) -> Root {
        Root {
            label: path.into(),
            path: path.into(),
            source,
            standing: Standing {
                distance,
                family,
                order,
                ..Standing::of(source)
            },
            trust: Trust::Trusted,
        }
    }

    #[test]
    fn the_ladder() {
        let ladder = [
            root(Source::Project, 0, Family::Grove, 0, "/p/sub/.grove/skills"),
            root(
                Source::Project,
                0,
                Family::Agents,
                0,
                "/p/sub/.agents/skills",
            ),
            root(
                Source::Project,
                0,
                Family::Host(".claude".into()),
                0,
                "/p/sub/.claude/skills",
            ),
            root(
                Source::Project,
                0,
                Family::Host(".codex".into()),
                0,
                "/p/sub/.codex/skills",
            ),
            root(Source::Project, 0, Family::Named, 0, "/p/sub/a"),
            root(Source::Project, 1, Family::Grove, 0, "/p/.grove/skills"),
            root(Source::Project, 1, Family::Agents, 0, "/p/.agents/skills"),
            root(Source::Project, 1, Family::Named, 0, "/p/b"),
            root(Source::Project, 1, Family::Named, 1, "/p/a"),
            root(Source::User, 0, Family::Grove, 0, "/h/.config/grove/skills"),
            root(Source::User, 0, Family::Agents, 0, "/h/.agents/skills"),
            root(
                Source::User,
                0,
                Family::Host(".claude".into()),
                0,
                "/h/.claude/skills",
            ),
            root(Source::User, 0, Family::Named, 0, "/h/named"),
            root(
                Source::Managed,
                0,
                Family::Grove,
                0,
                "/h/.local/share/grove/skills",
            ),
            root(Source::Extra, 0, Family::Grove, 0, "/z"),
            root(Source::Extra, 0, Family::Grove, 1, "/a"),
            root(Source::Package, 0, Family::Grove, 0, "/pkg"),
            root(Source::Bundled, 0, Family::Grove, 0, "/bundled"),
        ];
        for (i, a) in ladder.iter().enumerate() {
            for (j, b) in ladder.iter().enumerate() {
                assert_eq!(stronger_first(a, b), i.cmp(&j), "{} {}", a.label, b.label);
            }
        }
    }
}
