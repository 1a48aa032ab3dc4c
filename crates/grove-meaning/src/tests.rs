//! The table that is in the repository: its digest, and scores that are the same in every build and on every machine.

use std::path::Path;

use grove_catalog::Digest;
use grove_catalog::search::{IndexBuilder, Meanings, SearchDocument, SearchIndex};
use grove_fs::files;
use std::sync::Arc;

use crate::integers::ONE;
use crate::near::cosine;
use crate::pooled::{product, vector};
use crate::record::{Record, counts, record};
use crate::table::{FILE_NAME, Table, find};
use crate::tokens::each_token;

fn bytes() -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let file = find([data.as_path()]).unwrap();
    files::read_bounded(&file, 64 << 20).unwrap()
}

fn tokens(table: &Table, text: &str) -> Vec<u16> {
    let mut tokens = Vec::new();
    each_token(table, text, &mut |token| tokens.push(token));
    tokens
}

fn document(name: &'static str, description: &'static str) -> SearchDocument<'static> {
    SearchDocument {
        key: 1,
        name,
        id: name,
        description,
        body: "",
    }
}

#[test]
fn the_file_has_the_name_of_its_digest() {
    let digest = Digest::of(&bytes()).to_string();
    let name = format!("grove-meaning-{}.table", digest.get(..16).unwrap());
    assert_eq!(name, FILE_NAME);
}

#[test]
fn a_damaged_file_is_refused() {
    let whole = bytes();
    for at in [0, 20, 70_000, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        assert!(Table::open(damaged).is_err(), "{at}");
    }
    assert!(Table::open(whole[..1_000].to_vec()).is_err());
    assert!(Table::open(Vec::new()).is_err());
}

#[test]
fn words_are_divided_into_the_longest_pieces() {
    let table = Table::open(bytes()).unwrap();
    let count = |text: &str| tokens(&table, text).len();
    assert_eq!(count("kubernetes"), tokens(&table, "Kubernetes").len());
    assert_eq!(tokens(&table, "Café"), tokens(&table, "cafe"));
    assert_eq!(tokens(&table, "a-b"), tokens(&table, "a - b"));
    assert_eq!(count(""), 0);
    assert_eq!(count("漢字"), 0, "the table has no such letters");
    assert_eq!(count(&"x".repeat(1_000)), 0, "data is no word");
    // As the model's own tokenizer divides it: un ##bel ##ie ##va ##bly.
    assert_eq!(count("unbelievably"), 5);
}

#[test]
fn a_product_of_the_largest_numbers_fits() {
    let (a, b) = ([4_096_i16; 256], [127_u8; 256]);
    assert_eq!(product(&a, &b), 4_096 * 127 * 256);
    assert_eq!(product(&[-4_096; 256], &b), -4_096 * 127 * 256);
}

#[test]
fn what_means_the_same_is_near() {
    let table = Table::open(bytes()).unwrap();
    let skills = [
        document("deploy", "Publish a web application to a hosting provider"),
        document("bank", "Reconcile account statements with the ledger"),
        document("bake", "Recipes for bread and cakes"),
    ];
    let mut builder = IndexBuilder::new(Some(Arc::new(Table::open(bytes()).unwrap())));
    for skill in &skills {
        builder.add(skill);
    }
    let index = SearchIndex::open(builder.finish([0; 32])).unwrap();
    assert_eq!(index.meanings(), table.digest());
    let near = |query: &str| {
        let asked = vector(&table, &counts(&tokens(&table, query)), |token| {
            table.asked(token)
        });
        let length: i64 = asked.iter().map(|value| value * value).sum();
        assert!((length - ONE * ONE).abs() < ONE * ONE / 100, "{length}");
        let asked: Vec<i16> = asked
            .iter()
            .map(|value| i16::try_from(value >> 2).unwrap())
            .collect();
        let closeness = skills.iter().map(|skill| {
            let bytes = record(&table, skill);
            cosine(&asked, Record::read(&table, &bytes).unwrap())
        });
        let closeness: Vec<i32> = closeness.collect();
        closeness
            .iter()
            .enumerate()
            .max_by_key(|(_, near)| **near)
            .unwrap()
            .0
    };
    assert_eq!(near("put my site online"), 0);
    assert_eq!(near("check what went in and out of my money"), 1);
    assert_eq!(near("make a loaf with yeast"), 2);
}

/// A build with another digest here has other results than the others. The digest was also computed by a program in another
/// language from the description of the records alone.
#[test]
fn records_are_the_same_everywhere() {
    let table = Table::open(bytes()).unwrap();
    let mut all = Vec::new();
    for skill in [
        document("deploy", "Publish a web application to a hosting provider"),
        document("naïve-bayes", "Classifies texts; 3 of 4 are RIGHT (mostly)"),
        document("", ""),
    ] {
        all.extend(record(&table, &skill));
    }
    insta::assert_snapshot!(Digest::of(&all).to_string());
}
