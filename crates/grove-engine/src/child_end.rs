//! The end of a child with its output.

use grove_exec::StopTokens;
use grove_plan::{Cause, Ending, Finish, FoundFile, Output, ReviewVerdict, Usage};
use grove_spec::Digest;
use serde_json::Value;

use crate::error::with_causes;
use crate::tools::{STRUCTURED_OUTPUT, Toolbox};

/// The most bytes of a file that are taken as the child's answer; a longer file is only named.
const MOST_WRITTEN: usize = 1 << 20;

/// The end of a child, as its driver saw it.
pub(crate) struct ChildEnd {
    pub(crate) finish: Finish,
    /// The last words of the model.
    pub(crate) text: String,
    /// The value that met the schema.
    pub(crate) structured: Option<Value>,
    /// The verdict of a child that reviews the work of another.
    pub(crate) review: Option<ReviewVerdict>,
    /// The usage of the last request, if no answer came of it.
    pub(crate) lost: Usage,
    /// The file that its answer was written to.
    path: Option<String>,
    /// The text that the child itself wrote to the file.
    written: Option<String>,
    /// The reason why the answer is not in its file.
    unsaved: Option<String>,
    /// The reason why its words are not the data that was asked for.
    not_data: Option<String>,
}

pub(crate) struct AnswerFile<'a> {
    pub(crate) path: &'a str,
    /// Its path for people and other steps.
    pub(crate) shown: String,
    /// The state of the file before the child began.
    pub(crate) before: FoundFile,
    /// The digests of what was written there for earlier tries.
    pub(crate) earlier: Vec<Digest>,
}

impl ChildEnd {
    pub(crate) fn failed(cause: Cause) -> Self {
        Self::of(Finish::Failed(cause), String::new())
    }

    /// Makes an end with the last words.
    pub(crate) fn of(finish: Finish, text: String) -> Self {
        Self {
            finish,
            text,
            structured: None,
            review: None,
            lost: Usage::default(),
            path: None,
            written: None,
            unsaved: None,
            not_data: None,
        }
    }

    /// Adds the value that it gave as data.
    pub(crate) fn with_value(mut self, value: Option<Value>) -> Self {
        self.structured = value;
        self
    }

    /// Takes the data that was asked for out of its words, if it gave none through the tool.
    pub(crate) async fn take_data(&mut self, toolbox: &Toolbox, stop: &StopTokens) {
        let is_wanted = toolbox.schema.is_some() && self.structured.is_none();
        if self.finish != Finish::Answered || !is_wanted {
            return;
        }
        let Some(value) = data_in(&self.text) else {
            self.not_data = Some("it is not JSON".to_owned());
            return;
        };
        match toolbox.structured(STRUCTURED_OUTPUT, &value, stop).await {
            Some(result) if result.is_error => self.not_data = Some(result.text),
            _ => self.structured = Some(value),
        }
    }

    /// Makes sure that the answer is in its file. If the child wrote the file itself, that is its answer; else its words are
    /// written, over anything that an earlier run or try left there.
    pub(crate) fn save(&mut self, file: &AnswerFile<'_>, toolbox: &Toolbox) {
        if self.finish != Finish::Answered {
            return;
        }
        let work = &toolbox.work;
        let there = work.found(file.path).and_then(|now| {
            let is_new = now != FoundFile::Absent && now != file.before;
            is_new.then(|| work.read(file.path)).transpose()
        });
        let saved = match there {
            Ok(Some(bytes)) if !file.earlier.contains(&Digest::of(&bytes)) => {
                let text = String::from_utf8(bytes).ok();
                let text = text.filter(|text| text.len() <= MOST_WRITTEN);
                self.written = text.map(|text| toolbox.masked_text(text));
                Ok(())
            }
            Ok(_) => {
                let text = self.said().unwrap_or_default();
                work.write(file.path, &text).map(drop)
            }
            Err(why) => Err(why),
        };
        match saved {
            Ok(()) => self.path = Some(file.shown.clone()),
            Err(error) => self.unsaved = Some(with_causes(&error)),
        }
    }

    /// Returns its words, or its data as text: a child that gave data and no words has given its result all the same.
    fn said(&self) -> Option<Vec<u8>> {
        match (&self.structured, self.text.trim().is_empty()) {
            (_, false) => Some(self.text.clone().into_bytes()),
            (Some(value), true) => serde_json::to_vec(value).ok(),
            (None, true) => None,
        }
    }

    pub(crate) fn recorded(self) -> RecordedEnd {
        let text = self.said();
        let structured = self.structured.as_ref();
        let structured = structured.map(|value| serde_json::to_vec(value).unwrap_or_default());
        let written = self.written.map(String::into_bytes);
        let output = Output {
            text: text.as_deref().map(Digest::of),
            structured: structured.as_deref().map(Digest::of),
            path: self.path,
            written: written.as_deref().map(Digest::of),
            unsaved: self.unsaved,
            not_data: self.not_data,
            review: self.review,
        };
        let ending = Ending {
            finish: self.finish,
            output,
            lost: self.lost,
        };
        let texts = text.into_iter().chain(structured).chain(written);
        RecordedEnd {
            ending,
            texts: texts.collect(),
        }
    }
}

pub(crate) struct RecordedEnd {
    pub(crate) ending: Ending,
    pub(crate) texts: Vec<Vec<u8>>,
}

/// Returns the data in words that are JSON, or whose last block is.
fn data_in(text: &str) -> Option<Value> {
    let whole = serde_json::from_str(text.trim()).ok();
    whole.or_else(|| {
        let fenced = text.trim_end().strip_suffix("```")?;
        let (_, fenced) = fenced.rsplit_once("```")?;
        let (tag, body) = fenced.split_once('\n')?;
        let is_json = matches!(tag.trim().to_ascii_lowercase().as_str(), "" | "json");
        is_json.then(|| serde_json::from_str(body).ok())?
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_is_found_where_words_are_nothing_else_or_end_with_it() {
        let object = Some(json!({ "n": 7 }));
        for (text, expected) in [
            ("{\"n\": 7}", object.clone()),
            ("\n {\"n\": 7}\n", object.clone()),
            ("```json\n{\"n\": 7}\n```", object.clone()),
            ("Here it is:\n\n```JSON\n{\"n\": 7}\n```\n", object.clone()),
            ("```\n{\"n\": 7}\n```", object.clone()),
            (
                "```json\n{\"n\": 1}\n```\nno:\n```json\n{\"n\": 7}\n```",
                object,
            ),
            ("```json\n{\"n\": 7}\n```\nThat is all.", None),
            ("```python\n{\"n\": 7}\n```", None),
            ("It is {\"n\": 7}", None),
            ("{\"n\": 7", None),
            ("", None),
        ] {
            assert_eq!(data_in(text), expected, "{text}");
        }
    }
}
