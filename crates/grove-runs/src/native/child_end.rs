//! How a child ended, with what it came to.

use grove_plan::{Cause, Ending, Finish, FoundFile, Output, ReviewVerdict, Usage};
use grove_spec::Digest;
use serde_json::Value;

use crate::tools::Toolbox;

/// What a child wrote to its file is its answer up to here; of more, the file is named.
const MOST_WRITTEN: usize = 1 << 20;

/// How a child ended, as its driver saw it.
pub(crate) struct ChildEnd {
    pub(super) finish: Finish,
    /// Its last words.
    pub(crate) text: String,
    /// The value that met the schema.
    pub(crate) structured: Option<Value>,
    /// What it found, where it was to look at another's work.
    pub(crate) review: Option<ReviewVerdict>,
    /// What the last request took, if it came to no answer.
    pub(super) lost: Usage,
    /// The file that its answer was written to.
    path: Option<String>,
    /// What the child itself wrote there.
    written: Option<String>,
    /// Why it is not there.
    unsaved: Option<String>,
}

/// The file that an answer is written to.
pub(crate) struct AnswerFile<'a> {
    /// Its path for the child.
    pub(crate) path: &'a str,
    /// Its path for everybody else.
    pub(crate) shown: String,
    /// What was there before the child began.
    pub(crate) before: FoundFile,
    /// What was written there for earlier tries.
    pub(crate) earlier: Vec<Digest>,
}

impl ChildEnd {
    pub(crate) fn failed(cause: Cause) -> Self {
        Self::of(Finish::Failed(cause), String::new())
    }

    /// An end with the last words.
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
        }
    }

    /// The same with the value that it gave as data.
    pub(crate) fn with_value(mut self, value: Option<Value>) -> Self {
        self.structured = value;
        self
    }

    /// Sees to it that the answer is in its file. What the child wrote there itself is its answer; else its words are
    /// written, in place of whatever an earlier run or try left there.
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
            Err(why) => self.unsaved = Some(why),
        }
    }

    /// Its words; a child that gave data and no words has given its result all the same.
    fn said(&self) -> Option<Vec<u8>> {
        match (&self.structured, self.text.trim().is_empty()) {
            (_, false) => Some(self.text.clone().into_bytes()),
            (Some(value), true) => serde_json::to_vec(value).ok(),
            (None, true) => None,
        }
    }

    /// The ending, and the texts that it names.
    pub(crate) fn recorded(self) -> (Ending, Vec<Vec<u8>>) {
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
            review: self.review,
        };
        let ending = Ending {
            finish: self.finish,
            output,
            lost: self.lost,
        };
        let texts = text.into_iter().chain(structured).chain(written);
        (ending, texts.collect())
    }
}
