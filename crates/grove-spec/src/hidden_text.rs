//! Characters that people do not see but models read: tags, invisible operators, fillers, and direction controls.
//!
//! Many of these are ordinary in some scripts: a joiner between emoji or Arabic letters, a variation selector after a
//! symbol, a direction mark in Hebrew. The rules look at the neighbouring characters, so that a Persian or Hindi skill
//! is not flagged.

/// A finding of hidden text, with the byte offset of the first character of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenText {
    /// The kind of hidden text.
    pub kind: HiddenKind,
    /// Byte offset of the first such character.
    pub offset: usize,
    /// The number of such characters.
    pub count: usize,
    /// The ASCII text that the hidden characters encode, as Unicode tags do.
    pub decoded: String,
}

/// The two kinds of hidden text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiddenKind {
    /// Characters that show nothing.
    Invisible,
    /// Direction controls that reorder what is shown.
    Direction,
}

/// Returns true for embeddings, overrides and isolates, which reorder the text that follows.
pub const fn is_direction_control(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true for characters that change the direction of text: controls, and marks that put letters around them in
/// another order.
pub(crate) const fn decides_direction(c: char) -> bool {
    is_direction_control(c) || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// Finds hidden text; at most one finding per kind.
pub fn find(text: &str) -> Vec<HiddenText> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut found: Vec<HiddenText> = Vec::new();
    for (offset, c) in HiddenCharacters::new(text) {
        let kind = if is_direction_control(c) {
            HiddenKind::Direction
        } else {
            HiddenKind::Invisible
        };
        let decoded = tag_to_ascii(c);
        match found.iter_mut().find(|f| f.kind == kind) {
            Some(finding) => {
                finding.count += 1;
                if finding.decoded.len() < 200 {
                    finding.decoded.extend(decoded);
                }
            }
            None => found.push(HiddenText {
                kind,
                offset,
                count: 1,
                decoded: decoded.into_iter().collect(),
            }),
        }
    }
    found
}

/// The byte offsets of the hidden characters of a text.
pub(crate) fn places(text: &str) -> Vec<usize> {
    if text.is_ascii() {
        return Vec::new();
    }
    HiddenCharacters::new(text).map(|(at, _)| at).collect()
}

/// The text without its hidden characters; ordinary joiners and selectors stay.
pub fn strip(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut copied = 0;
    for (offset, c) in HiddenCharacters::new(text) {
        kept.push_str(text.get(copied..offset).unwrap_or_default());
        copied = offset + c.len_utf8();
    }
    kept.push_str(text.get(copied..).unwrap_or_default());
    kept
}

struct HiddenCharacters<'a> {
    text: &'a str,
    chars: std::iter::Peekable<std::str::CharIndices<'a>>,
    /// The last visible character, which decides whether a joiner or selector is ordinary.
    base: Option<char>,
    /// Set inside a flag that tag characters spell after the black flag.
    in_flag: bool,
    has_rtl: Option<bool>,
}

impl<'a> HiddenCharacters<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            chars: text.char_indices().peekable(),
            base: None,
            in_flag: false,
            has_rtl: None,
        }
    }

    fn text_has_rtl(&mut self) -> bool {
        let text = self.text;
        *self
            .has_rtl
            .get_or_insert_with(|| text.chars().any(is_rtl_letter))
    }

    fn is_suspect(&mut self, c: char) -> bool {
        let next = self.chars.peek().map(|(_, next)| *next);
        let base = self.base;
        match c {
            '\u{e0020}'..='\u{e007f}' => !self.in_flag,
            '\u{202a}'..='\u{202c}'
            | '\u{2066}'..='\u{2069}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{61c}' => !self.text_has_rtl(),
            '\u{200d}' => !(base.is_some_and(joins) && next.is_some_and(joins)),
            '\u{200c}' => !(base.is_some_and(joins) || next.is_some_and(joins)),
            '\u{200b}' => {
                !(base.is_some_and(breaks_without_spaces)
                    || next.is_some_and(breaks_without_spaces))
            }
            '\u{fe00}'..='\u{fe0f}' => !base.is_some_and(takes_selector),
            '\u{e0100}'..='\u{e01ef}' => !base.is_some_and(is_ideograph),
            '\u{e0000}'..='\u{e001f}'
            | '\u{202d}'
            | '\u{202e}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{feff}'
            | '\u{180e}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{3164}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{1bca0}'..='\u{1bca3}' => true,
            _ => false,
        }
    }
}

impl Iterator for HiddenCharacters<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        while let Some((offset, c)) = self.chars.next() {
            if c.is_ascii() {
                self.base = Some(c);
                self.in_flag = false;
                continue;
            }
            let suspect = !(offset == 0 && c == '\u{feff}') && self.is_suspect(c);
            match c {
                '\u{1f3f4}' => {
                    self.in_flag = true;
                    self.base = Some(c);
                }
                // A tag continues its flag; a selector between an emoji and its joiner does not become the base.
                '\u{e0020}'..='\u{e007e}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{e0100}'..='\u{e01ef}'
                | '\u{200b}'..='\u{200d}' => {}
                _ if suspect => self.in_flag = false,
                _ => {
                    self.base = Some(c);
                    self.in_flag = false;
                }
            }
            if suspect {
                return Some((offset, c));
            }
        }
        None
    }
}

fn tag_to_ascii(c: char) -> Option<char> {
    matches!(c, '\u{e0020}'..='\u{e007e}')
        .then(|| char::from_u32(u32::from(c) - 0xe0000))
        .flatten()
}

const fn is_rtl_letter(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && c != '\u{61c}'
}

/// Returns true for letters of joining scripts and for pictures: a joiner may stand between these.
const fn joins(c: char) -> bool {
    is_rtl_letter(c)
        || matches!(c, '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1a20}'..='\u{1cff}' | '\u{a800}'..='\u{abff}' | '\u{11000}'..='\u{11fff}')
        || is_picture(c)
}

const fn is_picture(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns true for the characters that a text or picture selector may follow.
const fn takes_selector(c: char) -> bool {
    is_picture(c)
        || is_ideograph(c)
        || matches!(c, '#' | '*' | '0'..='9' | '\u{a9}' | '\u{ae}' | '\u{2000}'..='\u{2bff}' | '\u{3000}'..='\u{303f}' | '\u{3297}' | '\u{3299}' | '\u{1800}'..='\u{18af}' | '\u{1000}'..='\u{109f}')
}

const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fdf}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns true for scripts without spaces, where a zero-width space marks the end of a word.
const fn breaks_without_spaces(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{19ff}' | '\u{3040}'..='\u{30ff}')
        || is_ideograph(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<HiddenKind> {
        find(text).into_iter().map(|f| f.kind).collect()
    }

    #[test]
    fn what_people_write_is_not_accused() {
        for text in [
            "plain",
            "می\u{200c}خواهم این را ببینم",
            "क्\u{200d}ष अच्छा है",
            "family 👨\u{200d}👩\u{200d}👧 and ❤\u{fe0f}\u{200d}🔥 and 1\u{fe0f}\u{20e3}",
            "flag 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} end",
            "שלום \u{200f}world\u{200e} ok",
            "葛\u{e0100}城",
            "ภาษา\u{200b}ไทย",
            "\u{feff}first is a byte order mark",
            "™\u{fe0f} ©\u{fe0f} ⚠\u{fe0f}",
        ] {
            assert_eq!(kinds(text), [], "{text:?}");
        }
    }

    #[test]
    fn what_hides_is_found_decoded_and_removed() {
        let tags: String = "ignore"
            .chars()
            .filter_map(|c| char::from_u32(u32::from(c) + 0xe0000))
            .collect();
        let found = find(&format!("Hi{tags}"));
        assert_eq!(found.len(), 1);
        assert_eq!(
            (
                found[0].kind,
                found[0].offset,
                found[0].count,
                found[0].decoded.as_str()
            ),
            (HiddenKind::Invisible, 2, 6, "ignore")
        );
        for (text, kind) in [
            ("ok\u{2062}\u{2064}", HiddenKind::Invisible),
            ("pay\u{200b}load", HiddenKind::Invisible),
            ("pay\u{200d}load", HiddenKind::Invisible),
            ("a\u{feff}b", HiddenKind::Invisible),
            ("a\u{fe0f}b", HiddenKind::Invisible),
            ("x\u{e0100}y", HiddenKind::Invisible),
            ("rm \u{202e}txt", HiddenKind::Direction),
            ("left\u{2066}right", HiddenKind::Direction),
        ] {
            assert_eq!(kinds(text), [kind], "{text:?}");
            assert_eq!(kinds(&strip(text)), [], "{text:?}");
        }
        assert_eq!(strip(&format!("a{tags}b👨\u{200d}👩")), "ab👨\u{200d}👩");
    }
}
