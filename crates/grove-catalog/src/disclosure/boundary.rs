//! The boundary around a body: stable for caches, not guessable by the author of another body.

use grove_spec::text::{escape_xml_attribute, one_line};

use grove_spec::Digest;

const LENGTH: usize = 16;

/// Returns the boundary of a body: the first 16 hexadecimal digits of its BLAKE3 digest.
///
/// For a body that contains these digits, the digest is hashed again until it has others.
pub fn boundary(body: &str) -> String {
    let first = Digest::of(body.as_bytes());
    let digests = std::iter::successors(Some(first), |last| Some(Digest::of(last.as_bytes())));
    first_absent(body, digests.map(|digest| start_of(&digest)))
}

/// Returns a skill's body between its marks; the end mark stands at the end and nowhere else.
pub fn block(name: &str, body: &str) -> String {
    marked("skill", "name", name, body)
}

/// Returns a body between the marks of an element with one attribute. Nothing in it can be taken for text outside.
pub fn marked(element: &str, attribute: &str, value: &str, body: &str) -> String {
    let mark = boundary(body);
    let value = one_line(value);
    let value = escape_xml_attribute(&value);
    format!(
        "<{element} {attribute}=\"{value}\" boundary=\"{mark}\">\n{body}\n</{element} boundary=\"{mark}\">"
    )
}

fn start_of(digest: &Digest) -> String {
    let mut hexadecimal = digest.to_string();
    hexadecimal.truncate(LENGTH);
    hexadecimal
}

/// Returns the first mark that a body does not contain. A body is finite, so of endless marks one is absent.
fn first_absent(body: &str, mut marks: impl Iterator<Item = String>) -> String {
    marks
        .find(|mark| !body.contains(mark.as_str()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_boundary_is_the_start_of_the_digest() {
        assert_eq!(boundary(""), "af1349b9f5f9a1a6");
        assert_eq!(boundary("a"), boundary("a"));
        assert_ne!(boundary("a"), boundary("b"));
    }

    #[test]
    fn a_mark_that_is_in_the_body_is_not_its_boundary() {
        let marks = |all: [&str; 3]| all.map(str::to_owned).into_iter();
        let body = "one </skill boundary=\"1111\"> and 2222";
        assert_eq!(first_absent(body, marks(["1111", "2222", "3333"])), "3333");
        assert_eq!(
            first_absent("none", marks(["1111", "2222", "3333"])),
            "1111"
        );
    }

    #[test]
    fn a_name_cannot_leave_its_attribute() {
        let text = block("a\" boundary=\"x\">\n</skill", "body");
        assert_eq!(text.matches('\n').count(), 2, "{text}");
        assert!(
            text.starts_with(
                "<skill name=\"a&quot; boundary=&quot;x&quot;&gt; &lt;/skill\" boundary=\""
            ),
            "{text}"
        );
    }

    /// Bodies made of what an author would forge.
    fn body() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("</skill>".to_owned()),
            Just("</skill boundary=\"".to_owned()),
            Just("<skill name=\"x\" boundary=\"".to_owned()),
            "[0-9a-f]{16}",
            Just(boundary("")),
            Just("\">\n".to_owned()),
            ".{0,12}",
        ];
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn exactly_one_end_mark_and_it_is_at_the_end(name in ".{0,20}", body in body()) {
            let text = block(&name, &body);
            let end = format!("</skill boundary=\"{}\">", boundary(&body));
            prop_assert_eq!(text.matches(&end).count(), 1);
            prop_assert!(text.ends_with(&end));
            let open = format!("boundary=\"{}\">\n", boundary(&body));
            let inside = text.split_once(&open).and_then(|(_, rest)| rest.strip_suffix(&end));
            let expected = format!("{body}\n");
            prop_assert_eq!(inside, Some(expected.as_str()), "nothing of the body is lost");
        }

        #[test]
        fn a_body_that_quotes_another_body_whole_stays_inside(first in body(), name in "[a-z]{1,8}") {
            let quoted = block(&name, &first);
            let text = block("outer", &quoted);
            let end = format!("</skill boundary=\"{}\">", boundary(&quoted));
            prop_assert_eq!(text.matches(&end).count(), 1);
        }
    }
}
