//! Public facts about models: context sizes and prices, with the day on which the list was put together. The facts that
//! a configuration gives about a model count before these.

use grove_plan::{ModelFacts, Prices};

/// The day on which the list was put together.
pub const KNOWN_MODELS_DATE: &str = "2026-11-16";

/// A model: its id without a date, the tokens that it can read, and prices of a million tokens in dollars: input, output,
/// read from a cache, written to a cache.
type Row = (&'static str, u64, [f64; 4]);

/// The known models; one without a published price for writing to a cache is listed with the price of its input.
const ROWS: &[Row] = &[
    ("claude-opus-4-8", 200_000, [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-7", 200_000, [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-6", 200_000, [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-5", 200_000, [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-1", 200_000, [15.0, 75.0, 1.5, 18.75]),
    ("claude-opus-4", 200_000, [15.0, 75.0, 1.5, 18.75]),
    ("claude-sonnet-4-6", 200_000, [3.0, 15.0, 0.3, 3.75]),
    ("claude-sonnet-4-5", 200_000, [3.0, 15.0, 0.3, 3.75]),
    ("claude-sonnet-4", 200_000, [3.0, 15.0, 0.3, 3.75]),
    ("claude-3-7-sonnet", 200_000, [3.0, 15.0, 0.3, 3.75]),
    ("claude-haiku-4-5", 200_000, [1.0, 5.0, 0.1, 1.25]),
    ("claude-3-5-haiku", 200_000, [0.8, 4.0, 0.08, 1.0]),
    ("gpt-5.1", 400_000, [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5", 400_000, [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-codex", 400_000, [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-mini", 400_000, [0.25, 2.0, 0.025, 0.25]),
    ("gpt-5-nano", 400_000, [0.05, 0.4, 0.005, 0.05]),
    ("gpt-4.1", 1_047_576, [2.0, 8.0, 0.5, 2.0]),
    ("gpt-4.1-mini", 1_047_576, [0.4, 1.6, 0.1, 0.4]),
    ("gpt-4.1-nano", 1_047_576, [0.1, 0.4, 0.025, 0.1]),
    ("gpt-4o", 128_000, [2.5, 10.0, 1.25, 2.5]),
    ("gpt-4o-mini", 128_000, [0.15, 0.6, 0.075, 0.15]),
    ("o3", 200_000, [2.0, 8.0, 0.5, 2.0]),
    ("o4-mini", 200_000, [1.1, 4.4, 0.275, 1.1]),
];

/// Returns the facts about a model by its id alone, which may have a date at its end.
pub(crate) fn known(id: &str) -> Option<ModelFacts> {
    let is_it = |row: &&Row| id.strip_prefix(row.0).is_some_and(is_a_date);
    let (_, context, [input, output, cached, cache_write]) = ROWS.iter().find(is_it)?;
    let price = |amount: f64| grove_spec::money::millionths(amount);
    let prices = Prices {
        input: price(*input)?,
        output: price(*output)?,
        cached: price(*cached),
        cache_write: price(*cache_write),
    };
    Some(ModelFacts {
        context: Some(*context),
        prices: Some(prices),
    })
}

/// Returns true if the rest of an id is empty or a date: `-20250929`, `-2025-04-14`, `-latest`.
fn is_a_date(rest: &str) -> bool {
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    let is_date = rest.starts_with('-')
        && digits == 8
        && rest
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_digit());
    rest.is_empty() || rest == "-latest" || is_date
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_known_by_its_id_with_or_without_a_date_and_not_by_another_ones() {
        let input = |id: &str| known(id).map(|facts| facts.prices.unwrap().input);
        for (id, expected) in [
            ("claude-sonnet-4-5", Some(3_000_000)),
            ("claude-sonnet-4-5-20250929", Some(3_000_000)),
            ("claude-opus-4-20250514", Some(15_000_000)),
            ("claude-opus-4-5", Some(5_000_000)),
            ("gpt-4.1-2025-04-14", Some(2_000_000)),
            ("gpt-5-mini", Some(250_000)),
            ("gpt-5-mini-latest", Some(250_000)),
            ("claude-opus-4-9", None),
            ("gpt-5-turbo", None),
            ("gpt-5.9", None),
            ("o3-pro", None),
            ("", None),
        ] {
            assert_eq!(input(id), expected, "{id}");
        }
        // Every row is found by its own id, so that no earlier row hides it.
        for row in ROWS {
            let facts = known(row.0).unwrap();
            assert_eq!(facts.context, Some(row.1), "{}", row.0);
            let output = grove_spec::money::millionths(row.2[1]);
            assert_eq!(
                facts.prices.map(|prices| prices.output),
                output,
                "{}",
                row.0
            );
        }
    }
}
