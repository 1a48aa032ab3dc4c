//! The bytes of a generated `SKILL.md`: a frontmatter as people write them and a varied body.
//!
//! The same index gives the same bytes on every machine, so a benchmark can be repeated.

/// Every generated file has exactly this size, so time per skill does not depend on the draw.
pub(crate) const FILE_BYTES: usize = 4096;

/// The frontmatter of the reference measurements is 450 bytes long; the description fills it up.
const DESCRIPTION_BYTES: usize = 250;
const LINE_WIDTH: usize = 78;

const ACTIONS: &str = "review, generate, migrate, audit, summarise, deploy, profile, convert, validate, annotate, \
    refactor, monitor, compare, extract, schedule, document";
const SUBJECTS: &str = "terraform, invoices, notebooks, containers, spreadsheets, changelogs, schemas, pipelines, \
    protocols, dashboards, migrations, contracts, genomes, benchmarks, translations, certificates, \
    manuscripts, queries, releases, sensors";
const QUALITIES: &str = "reproducible, incremental, well-tested, multi-step, large, legacy, nested, regulated, \
    time-critical, shared, encrypted, untyped";
const MEANS: &str = "a checklist, the bundled script, a dry run first, the project's own linter, \
    a side-by-side diff, sampled rows, explicit rollback steps, a review by two people, \
    the reference tables, cached results, a small pilot, structured logs";
const AUTHORS: &str =
    "platform-team, data-office, field-engineering, open-research, release-crew, documentation";
const LICENSES: &str = "MIT, Apache-2.0, BSD-3-Clause, CC-BY-4.0, Proprietary";

/// The name of the skill, which is also the name of its folder.
pub(crate) fn name(index: usize) -> String {
    let mut draw = Draw::of(index);
    let (action, subject) = (draw.one_of(ACTIONS), draw.one_of(SUBJECTS));
    format!("{action}-{subject}-{index:06}")
}

/// The whole `SKILL.md` of the skill.
pub(crate) fn skill_md(index: usize) -> String {
    let mut draw = Draw::of(index);
    let (action, subject) = (draw.one_of(ACTIONS), draw.one_of(SUBJECTS));
    let description = wrapped("  ", &description(&mut draw, action, subject));
    let metadata = metadata(&mut draw, action, subject);
    let name = name(index);
    let mut text = format!("---\nname: {name}\ndescription: >-\n{description}{metadata}---\n");
    fill_with_body(&mut text, &mut draw, action, subject);
    text
}

fn description(draw: &mut Draw, action: &str, subject: &str) -> String {
    let mut sentences = format!(
        "Helps to {action} {} {subject} with {}. Use when the user asks to {action} or {} {subject}, or mentions",
        draw.one_of(QUALITIES),
        draw.one_of(MEANS),
        draw.one_of(ACTIONS),
    );
    while sentences.len() < DESCRIPTION_BYTES {
        let words = [" ", draw.one_of(QUALITIES), " ", draw.one_of(SUBJECTS), ","];
        sentences.extend(words);
    }
    sentences.extend([" and needs ", draw.one_of(MEANS), "."]);
    sentences
}

fn metadata(draw: &mut Draw, action: &str, subject: &str) -> String {
    let (license, author) = (draw.one_of(LICENSES), draw.one_of(AUTHORS));
    let (major, minor, patch) = (draw.below(4), draw.below(20), draw.below(10));
    format!(
        "license: {license}\n\
         metadata:\n\
         \x20 author: {author}\n\
         \x20 version: \"{major}.{minor}.{patch}\"\n\
         \x20 tags:\n\
         \x20   - {action}\n\
         \x20   - {subject}\n"
    )
}

fn fill_with_body(text: &mut String, draw: &mut Draw, action: &str, subject: &str) {
    text.extend(["\n# How to ", action, " ", subject, "\n"]);
    while text.len() < FILE_BYTES {
        text.push('\n');
        text.push_str(&match draw.below(4) {
            0 => list(draw),
            1 => code(draw, action, subject),
            _ => paragraph(draw),
        });
    }
    // The text is ASCII, so it may be cut anywhere.
    text.truncate(FILE_BYTES - 1);
    text.push('\n');
}

fn paragraph(draw: &mut Draw) -> String {
    let n_sentences = 3 + draw.below(4);
    let sentences: Vec<String> = (0..n_sentences)
        .map(|_| {
            format!(
                "Before you {} {} {}, {} the {} with {}.",
                draw.one_of(ACTIONS),
                draw.one_of(QUALITIES),
                draw.one_of(SUBJECTS),
                draw.one_of(ACTIONS),
                draw.one_of(SUBJECTS),
                draw.one_of(MEANS),
            )
        })
        .collect();
    wrapped("", &sentences.join(" "))
}

fn list(draw: &mut Draw) -> String {
    let heading = format!("## {} {}\n", draw.one_of(QUALITIES), draw.one_of(SUBJECTS));
    let n_items = 3 + draw.below(5);
    let items = (0..n_items).map(|_| {
        format!(
            "\n- {} the {}: {}",
            draw.one_of(ACTIONS),
            draw.one_of(SUBJECTS),
            draw.one_of(MEANS),
        )
    });
    heading + &items.collect::<String>() + "\n"
}

fn code(draw: &mut Draw, action: &str, subject: &str) -> String {
    let limit = draw.below(10_000);
    format!(
        "```bash\npython scripts/{action}.py --input {subject}.json --limit {limit} --dry-run\n```\n"
    )
}

fn wrapped(indent: &str, sentences: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in sentences.split(' ') {
        if column > 0 && column + 1 + word.len() > LINE_WIDTH {
            text.push('\n');
            column = 0;
        }
        let before = if column == 0 { indent } else { " " };
        text.extend([before, word]);
        column += before.len() + word.len();
    }
    text.push('\n');
    text
}

/// A xorshift generator: the draws have to be the same for ever, which no library promises.
struct Draw(u64);

impl Draw {
    fn of(index: usize) -> Self {
        // Spreads neighbouring indices; the state must not be zero.
        let mut draw = Self((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            draw.next();
        }
        draw
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_of(&mut self, words: &'static str) -> &'static str {
        let words: Vec<&str> = words.split(", ").collect();
        words[self.below(words.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frontmatter(text: &str) -> &str {
        let end = text[4..].find("---\n").unwrap();
        &text[..4 + end + 4]
    }

    #[test]
    fn every_file_has_the_same_size() {
        for index in (0..100_000).step_by(97) {
            assert_eq!(skill_md(index).len(), FILE_BYTES, "skill {index}");
        }
    }

    #[test]
    fn the_frontmatter_is_about_450_bytes_long() {
        let lengths: Vec<usize> = (0..1_000)
            .map(|index| frontmatter(&skill_md(index)).len())
            .collect();
        let mean = lengths.iter().sum::<usize>() / lengths.len();
        assert!((430..=490).contains(&mean), "mean {mean}");
        assert!(
            lengths.iter().all(|length| (380..=560).contains(length)),
            "{lengths:?}"
        );
    }

    #[test]
    fn names_differ_and_keep_to_the_standard() {
        let names: std::collections::BTreeSet<String> = (0..10_000).map(name).collect();
        assert_eq!(names.len(), 10_000);
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(
            names
                .iter()
                .all(|name| name.len() <= 64 && name.chars().all(plain))
        );
    }

    #[test]
    fn the_same_index_gives_the_same_bytes_and_another_gives_others() {
        assert_eq!(skill_md(7), skill_md(7));
        assert_ne!(skill_md(7)[40..], skill_md(8)[40..]);
    }
}
