//! A list with one item a line, changed so that the items that stay keep their lines and their comments.
//!
//! A comment on an item's line is about the item, and so are the comment lines above it; they go when it goes. Comment
//! lines after the last item stay.

use crate::fence;
use crate::yaml::YamlNode;

/// The lines of a list, without its key's line.
pub(super) struct BlockList<'a> {
    /// The text of each item, and its lines with the comments above them.
    items: Vec<(Option<&'a str>, String)>,
    /// The comments after the last item.
    rest: &'a str,
    indent: &'a str,
}

impl<'a> BlockList<'a> {
    /// Cuts the lines of a list; nothing if they are not written one item a line.
    pub(super) fn cut(lines: &'a str, nodes: &'a [YamlNode]) -> Option<Self> {
        let mut starts = Vec::new();
        // The offset of the first line that belongs to the next item.
        let (mut about, mut indent) = (0, None);
        for (_, line, next) in fence::lines(lines) {
            let inner = line.trim_start();
            let before = line.get(..line.len() - inner.len()).unwrap_or_default();
            let is_aside = inner.is_empty() || inner.starts_with('#');
            let is_marked = inner == "-" || inner.starts_with("- ");
            if is_marked && before == *indent.get_or_insert(before) {
                starts.push(about);
            }
            if !is_aside {
                about = next;
            }
        }
        let ends = starts.iter().skip(1).copied().chain([about]);
        let texts: Vec<&str> = starts
            .iter()
            .zip(ends)
            .filter_map(|(start, end)| lines.get(*start..end))
            .collect();
        let texts = (texts.len() == nodes.len()).then_some(texts)?;
        let items = nodes.iter().zip(texts);
        Some(Self {
            items: items
                .map(|(node, text)| (node.as_text(), text.to_owned()))
                .collect(),
            rest: lines.get(about..)?,
            indent: indent?,
        })
    }

    pub(super) fn with(
        mut self,
        items: &[String],
        line_end: &str,
        written: impl Fn(&str) -> String,
    ) -> String {
        let mut lines = String::new();
        for item in items {
            let known = |(text, _): &(Option<&str>, String)| *text == Some(item.as_str());
            if let Some(at) = self.items.iter().position(known) {
                lines.push_str(&self.items.remove(at).1);
            } else {
                lines.push_str(self.indent);
                lines.push_str("- ");
                lines.push_str(&written(item));
                lines.push_str(line_end);
            }
        }
        lines.push_str(self.rest);
        lines
    }
}
