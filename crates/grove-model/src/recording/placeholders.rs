//! The folders and ids that differ from one machine and one run to the next, and the placeholders for them.

use serde_json::Value;

/// Folders and ids of a run, which stand in a recording as placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordingPlaceholders {
    /// Ids of the run and of those above it, the run's own first.
    pub run_ids: Vec<String>,
    pub work: Option<String>,
    /// The folder that the run was asked for in, from which a working tree of the child's own may be made.
    pub project: Option<String>,
    pub home: Option<String>,
    pub state: Option<String>,
    /// The folder of temporary files.
    pub temp: Option<String>,
}

/// The shortest text that is replaced: shorter ones stand in other texts by chance.
const SHORTEST: usize = 2;

impl RecordingPlaceholders {
    pub(super) fn hide(&self, value: &mut Value) {
        let known = self.known();
        each_text(value, &mut |text| hide_in(text, &known));
    }

    /// Replaces the placeholders of a value with the texts that they stand for here.
    pub(super) fn show(&self, value: &mut Value) {
        let known = self.known();
        each_text(value, &mut |text| {
            if text.contains("{grove:") {
                for (place, placeholder) in &known {
                    *text = text.replace(placeholder, place);
                }
            }
        });
    }

    /// Returns the texts and their placeholders, the longest first: one folder may lie in another.
    fn known(&self) -> Vec<(&str, &'static str)> {
        let ids = self.run_ids.iter().map(|id| (id.as_str(), "{grove:run}"));
        let folders = [
            (&self.work, "{grove:work}"),
            (&self.project, "{grove:project}"),
            (&self.state, "{grove:state}"),
            (&self.temp, "{grove:temp}"),
            (&self.home, "{grove:home}"),
        ];
        let folders = folders.into_iter().filter_map(|(folder, placeholder)| {
            let folder = folder.as_deref()?.trim_end_matches('/');
            Some((folder, placeholder))
        });
        let mut known: Vec<_> = ids
            .chain(folders)
            .filter(|(text, _)| text.len() >= SHORTEST)
            .collect();
        known.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        known
    }
}

fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(map) => map.values_mut().for_each(|item| each_text(item, change)),
        _ => {}
    }
}

/// Puts placeholders for texts that stand as whole words: `/root` is not replaced in `/rooted` or in `/a/root`.
fn hide_in(text: &mut String, known: &[(&str, &'static str)]) {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    for (place, placeholder) in known {
        if !text.contains(place) {
            continue;
        }
        let mut hidden = String::with_capacity(text.len());
        let mut from = 0;
        for (at, _) in text.match_indices(place) {
            let before = text[..at].chars().next_back();
            let after = text[at + place.len()..].chars().next();
            let is_path = place.starts_with('/');
            let stands_alone = !before
                .is_some_and(|c| is_word(c) || (is_path && matches!(c, '.' | '}')))
                && !after.is_some_and(is_word);
            if stands_alone {
                hidden.push_str(&text[from..at]);
                hidden.push_str(placeholder);
                from = at + place.len();
            }
        }
        hidden.push_str(&text[from..]);
        *text = hidden;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn places() -> RecordingPlaceholders {
        RecordingPlaceholders {
            run_ids: vec!["r4k2".to_owned(), "r0aa".to_owned()],
            work: Some("/tmp/x/project/".to_owned()),
            project: Some("/srv/repository".to_owned()),
            home: Some("/home/me".to_owned()),
            state: Some("/home/me/.local/state/grove".to_owned()),
            temp: Some("/tmp".to_owned()),
        }
    }

    #[test]
    fn folders_and_ids_become_placeholders_and_return() {
        for (text, expected) in [
            ("read /tmp/x/project/a.rs", "read {grove:work}/a.rs"),
            ("/tmp/x/projects", "{grove:temp}/x/projects"),
            ("/srv/repository/b", "{grove:project}/b"),
            (
                "/home/me/.local/state/grove/runs.db",
                "{grove:state}/runs.db",
            ),
            ("~ is /home/me.", "~ is {grove:home}."),
            (
                "/home/men /a/home/me ../home/me",
                "/home/men /a/home/me ../home/me",
            ),
            ("run r4k2, r4k22", "run {grove:run}, r4k22"),
            ("nothing", "nothing"),
        ] {
            let mut value = json!({ "a": [text] });
            places().hide(&mut value);
            assert_eq!(value["a"][0], expected);
            places().show(&mut value);
            assert_eq!(value["a"][0], text);
        }
        let mut nested = json!("r0aa");
        places().hide(&mut nested);
        assert_eq!(nested, "{grove:run}");
    }
}
