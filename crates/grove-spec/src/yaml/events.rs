//! The full YAML parser behind guards: no anchors, aliases, tags, merge keys or duplicate keys, and a bounded depth.
//!
//! It uses parser events and an explicit stack, because tree builders recurse as deep as the input nests and abort the
//! process on `- - - - …`.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use super::{Key, MAX_DEPTH, Scalar, YamlEntry, YamlNode, YamlValue};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Position};

/// Parses a block into its top-level entries, or returns why it was refused.
pub fn parse(text: &str, first_line: u32) -> Result<Vec<YamlEntry>, YamlRefusal> {
    match parse_value(text, first_line)? {
        None => Ok(Vec::new()),
        Some(YamlNode {
            value: YamlValue::Map(entries),
            ..
        }) => Ok(entries),
        Some(node) if node.is_null() => Ok(Vec::new()),
        Some(node) => Err(YamlRefusal {
            diagnostic: Diagnostic::new(
                Code::YamlNotMapping,
                format!("frontmatter is {}, not a mapping", node.kind()),
            )
            .at(node.position),
            // `name:x` is text to YAML but a key to people.
            kind: match &node.value {
                YamlValue::Text(scalar) if scalar.plain => YamlRefusalKind::Syntax,
                _ => YamlRefusalKind::Guard,
            },
        }),
    }
}

/// Parses one value of any kind; an empty text has none.
pub fn parse_value(text: &str, first_line: u32) -> Result<Option<YamlNode>, YamlRefusal> {
    let mut builder = NodeBuilder {
        first_line,
        stack: Vec::new(),
        root: None,
    };
    let mut parser = Parser::new_from_str(text);
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| builder.syntax(*error.marker(), error.info()))?;
        builder.take(event, span.start)?;
    }
    Ok(builder.root)
}

/// The reason why a block was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlRefusal {
    /// The finding to report for it.
    pub diagnostic: Diagnostic,
    /// The kind of refusal, which decides if a repair is tried.
    pub kind: YamlRefusalKind,
}

/// The kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlRefusalKind {
    /// The text is not valid YAML, as often in real files; a repair may read it.
    Syntax,
    /// An anchor or a local tag before a text, which may be part of the text: `&c` or `!important`.
    Decoration,
    /// The text is YAML of a kind that is not accepted.
    Guard,
}

enum OpenCollection {
    List(Vec<YamlNode>, Position),
    Map {
        entries: Vec<YamlEntry>,
        key: Option<(Key, Position)>,
        start: Position,
    },
}

struct NodeBuilder {
    first_line: u32,
    stack: Vec<OpenCollection>,
    root: Option<YamlNode>,
}

impl NodeBuilder {
    fn take(&mut self, event: Event<'_>, mark: Marker) -> Result<(), YamlRefusal> {
        let position = self.position(mark);
        match event {
            Event::DocumentStart(_) if self.root.is_some() => Err(guard(
                Code::YamlNotMapping,
                "frontmatter has a second document",
                position,
            )),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::Alias(_) => Err(guard(Code::YamlAlias, "alias in frontmatter", position)),
            Event::Scalar(text, style, anchor, tag) => {
                // Before a key it cannot be prose: every other reader takes the key without it.
                let may_be_prose = style == ScalarStyle::Plain && !self.awaits_key();
                if let Some(tag) = tag {
                    // `!word` is a local tag; `!!` and `!<…>` name a type and are never prose.
                    let local = tag.handle == "!" && may_be_prose;
                    let message = format!("tag `{}{}` in frontmatter", tag.handle, tag.suffix);
                    return Err(decoration(Code::YamlTag, message, position, local));
                }
                if anchor != 0 {
                    return Err(decoration(
                        Code::YamlAnchor,
                        "anchor in frontmatter".into(),
                        position,
                        may_be_prose,
                    ));
                }
                let scalar = Scalar {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain,
                };
                self.place(YamlNode::new(YamlValue::Text(scalar), position))
            }
            Event::SequenceStart(anchor, tag) => self.open(
                anchor,
                tag.is_some(),
                position,
                OpenCollection::List(Vec::new(), position),
            ),
            Event::MappingStart(anchor, tag) => {
                let frame = OpenCollection::Map {
                    entries: Vec::new(),
                    key: None,
                    start: position,
                };
                self.open(anchor, tag.is_some(), position, frame)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.stack.pop() {
                Some(OpenCollection::List(items, start)) => {
                    self.place(YamlNode::new(YamlValue::List(items), start))
                }
                Some(OpenCollection::Map { entries, start, .. }) => {
                    self.place(YamlNode::new(YamlValue::Map(entries), start))
                }
                None => Ok(()),
            },
        }
    }

    fn open(
        &mut self,
        anchor: usize,
        tagged: bool,
        position: Position,
        frame: OpenCollection,
    ) -> Result<(), YamlRefusal> {
        if tagged {
            return Err(guard(
                Code::YamlTag,
                "tag on a list or mapping in frontmatter",
                position,
            ));
        }
        if anchor != 0 {
            return Err(guard(Code::YamlAnchor, "anchor in frontmatter", position));
        }
        if self.stack.len() >= MAX_DEPTH {
            return Err(guard(Code::YamlDepth, too_deep(), position));
        }
        self.stack.push(frame);
        Ok(())
    }

    fn place(&mut self, node: YamlNode) -> Result<(), YamlRefusal> {
        match self.stack.last_mut() {
            None => {
                self.root = Some(node);
                Ok(())
            }
            Some(OpenCollection::List(items, _)) => {
                items.push(node);
                Ok(())
            }
            Some(OpenCollection::Map {
                entries,
                key: key_slot,
                ..
            }) => {
                if let Some((key, position)) = key_slot.take() {
                    // An absent value has no position of its own.
                    let absent = matches!(&node.value, YamlValue::Text(scalar) if scalar.plain && scalar.text.is_empty());
                    let value = if absent {
                        YamlNode { position, ..node }
                    } else {
                        node
                    };
                    entries.push(YamlEntry {
                        key,
                        position,
                        value,
                    });
                    Ok(())
                } else {
                    let YamlValue::Text(Scalar { text, plain }) = node.value else {
                        // `{{ product }} text` is a mapping in a mapping to YAML but a sentence to people.
                        let finding = Diagnostic::new(Code::YamlNotMapping, "a key is not text");
                        return Err(YamlRefusal {
                            diagnostic: finding.at(node.position),
                            kind: YamlRefusalKind::Syntax,
                        });
                    };
                    if plain && text == "<<" {
                        return Err(guard(
                            Code::YamlMergeKey,
                            "merge key in frontmatter",
                            node.position,
                        ));
                    }
                    // The search is linear, but bounded by the block's 16 KiB.
                    if let Some(first) = entries.iter().find(|entry| entry.key == text) {
                        let message = format!(
                            "key `{text}` appears twice, first in line {}",
                            first.position.line
                        );
                        return Err(guard(Code::DuplicateKey, message, node.position));
                    }
                    *key_slot = Some((text.into(), node.position));
                    Ok(())
                }
            }
        }
    }

    fn awaits_key(&self) -> bool {
        matches!(
            self.stack.last(),
            Some(OpenCollection::Map { key: None, .. })
        )
    }

    fn position(&self, mark: Marker) -> Position {
        let line = u32::try_from(mark.line()).unwrap_or(u32::MAX);
        let column = u32::try_from(mark.col()).unwrap_or(u32::MAX);
        Position::new(
            self.first_line.saturating_add(line).saturating_sub(1),
            column.saturating_add(1),
        )
    }

    fn syntax(&self, mark: Marker, info: &str) -> YamlRefusal {
        // The scanner looks ahead and reaches its own limit of 255 before this builder gets an event.
        if info.contains("recursion limit") {
            return guard(Code::YamlDepth, too_deep(), self.position(mark));
        }
        YamlRefusal {
            diagnostic: Diagnostic::new(
                Code::YamlSyntax,
                format!("frontmatter is not YAML: {info}"),
            )
            .at(self.position(mark)),
            kind: YamlRefusalKind::Syntax,
        }
    }
}

fn too_deep() -> String {
    format!("frontmatter is nested deeper than {MAX_DEPTH} levels")
}

fn guard(code: Code, message: impl Into<String>, position: Position) -> YamlRefusal {
    YamlRefusal {
        diagnostic: Diagnostic::new(code, message).at(position),
        kind: YamlRefusalKind::Guard,
    }
}

fn decoration(code: Code, message: String, position: Position, may_be_prose: bool) -> YamlRefusal {
    let kind = if may_be_prose {
        YamlRefusalKind::Decoration
    } else {
        YamlRefusalKind::Guard
    };
    YamlRefusal {
        diagnostic: Diagnostic::new(code, message).at(position),
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (&'static str, u32) {
        let refusal = parse(text, 2).expect_err(text);
        (
            refusal.diagnostic.code.as_str(),
            refusal.diagnostic.position.map_or(0, |p| p.line),
        )
    }

    #[test]
    fn guards_name_the_line() {
        assert_eq!(refused("a: b\na: c\n"), ("duplicate-key", 3));
        assert_eq!(refused("m:\n  x: 1\n  x: 2\n"), ("duplicate-key", 4));
        assert_eq!(refused("a: &x b\n"), ("yaml-anchor", 2));
        assert_eq!(refused("a: &x [b]\nc: *x\n"), ("yaml-anchor", 2));
        assert_eq!(refused("a: !!str b\n"), ("yaml-tag", 2));
        assert_eq!(refused("a: !!seq [b]\n"), ("yaml-tag", 2));
        assert_eq!(refused("a: b\n<<: {c: d}\n"), ("yaml-merge-key", 3));
        assert_eq!(refused("- a\n"), ("yaml-not-mapping", 2));
        assert_eq!(refused("text\n"), ("yaml-not-mapping", 2));
        assert_eq!(refused("[a]: b\n"), ("yaml-not-mapping", 2));
        assert_eq!(
            refused(&format!("a: {}\n", "[".repeat(5000))),
            ("yaml-depth", 2)
        );
        assert_eq!(
            refused(&format!("{}\n", "- ".repeat(5000))),
            ("yaml-depth", 2)
        );
        assert_eq!(refused("a: b: c\n"), ("yaml-syntax", 2));
    }

    #[test]
    fn depth_is_counted_exactly() {
        let nested = |depth: usize| format!("a: {}{}\n", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH - 1), 1).is_ok());
        assert!(parse(&nested(MAX_DEPTH), 1).is_err());
    }
}
