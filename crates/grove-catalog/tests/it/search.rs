//! Laws of the index and of search: what is kept equals what is made anew, order follows meaning, nothing
//! hostile is unbounded, damage is noticed.

use grove_catalog::Digest;
use grove_catalog::search::{IndexBuilder, SearchDocument, SearchIndex};
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Text {
    name: String,
    description: String,
    body: String,
}

impl Text {
    fn document(&self) -> SearchDocument<'_> {
        let all = format!("{}\0{}\0{}", self.name, self.description, self.body);
        SearchDocument {
            key: u128::from_le_bytes(std::array::from_fn(|at| {
                Digest::of(all.as_bytes()).as_bytes()[at]
            })),
            name: &self.name,
            id: &self.name,
            description: &self.description,
            body: &self.body,
        }
    }
}

fn text() -> impl Strategy<Value = Text> {
    let word = prop_oneof![
        prop::sample::select(vec![
            "deploy",
            "deploys",
            "Kubernetes",
            "k8s",
            "configMap",
            "snake_case",
            "the",
            "日本語",
            "naïve",
            "(MCP)",
            "Model Context Protocol",
            "#",
            "\n",
            "```",
        ])
        .prop_map(str::to_owned),
        "[a-zA-Z0-9]{1,12}",
        "\\PC{0,6}",
    ];
    let words = prop::collection::vec(word, 0..30).prop_map(|words| words.join(" "));
    ("[a-z]{1,8}(-[a-z]{1,8})?", words.clone(), words).prop_map(|(name, description, body)| Text {
        name,
        description,
        body,
    })
}

fn made(texts: &[Text]) -> Vec<u8> {
    let mut builder = IndexBuilder::default();
    for text in texts {
        builder.add(&text.document());
    }
    builder.finish([7; 32])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn keeping_what_has_not_changed_gives_the_index_made_anew(
        old in prop::collection::vec(text(), 0..8),
        new in prop::collection::vec(text(), 0..4),
        seed in any::<u64>(),
    ) {
        let index = SearchIndex::open(made(&old)).unwrap();
        // Some old ones, in another order, with new ones between.
        let mut after: Vec<Text> = old
            .iter()
            .enumerate()
            .filter(|(at, _)| seed >> (at % 60) & 1 == 0)
            .map(|(_, text)| text.clone())
            .chain(new)
            .collect();
        let turn = seed as usize % after.len().max(1);
        after.rotate_left(turn);
        let mut builder = IndexBuilder::default();
        for text in &after {
            let document = text.document();
            let known = (0..index.documents()).find(|at| index.key(*at) == Some(document.key));
            match known {
                Some(at) => prop_assert!(builder.keep(&index, at)),
                None => builder.add(&document),
            }
        }
        prop_assert_eq!(builder.finish([7; 32]), made(&after));
    }

    #[test]
    fn any_bytes_are_an_index_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = SearchIndex::open(bytes);
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let text = Text {
        name: "skill".to_owned(),
        description: "Deploys things".to_owned(),
        body: "Some text about clusters".to_owned(),
    };
    let good = made(&[text]);
    assert!(SearchIndex::open(good.clone()).is_some());
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert!(SearchIndex::open(bad).is_none(), "bit flipped at {at}");
        assert!(
            SearchIndex::open(good[..at].to_vec()).is_none(),
            "cut at {at}"
        );
    }
}

#[test]
fn a_megabyte_of_anything_is_bounded() {
    let long: Vec<String> = (0..200_000).map(|at| format!("w{at}x")).collect();
    let long = long.join(" ");
    let marks = "(A) \u{202e}\u{0}(".repeat(100_000);
    for body in [long, marks, "é".repeat(600_000), "日".repeat(400_000)] {
        let text = Text {
            name: "big".to_owned(),
            description: String::new(),
            body,
        };
        let bytes = made(&[text]);
        assert!(bytes.len() < 4 << 20, "{}", bytes.len());
        assert_eq!(SearchIndex::open(bytes).unwrap().documents(), 1);
    }
}
