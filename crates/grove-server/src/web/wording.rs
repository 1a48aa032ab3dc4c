//! States, times, tokens and money as people read them on a page. No state is told by colour alone: each has a sign and a word.

use grove_engine::view::{REJECTED, Times};
use grove_spec::duration::in_words;
use grove_spec::money::amount;
use grove_spec::text::grouped;

use super::html::HtmlPage;
use super::viewer::Viewer;

/// The class of a state, from which its colour follows.
pub(super) fn class(state: &str) -> &'static str {
    match state {
        "complete" => "good",
        "failed" | "lost" | REJECTED => "bad",
        "asking" | "paused" => "doubt",
        "running" => "work",
        _ => "quiet",
    }
}

/// The sign of a state.
pub(super) fn sign(state: &str) -> &'static str {
    match state {
        "complete" => "✓",
        "failed" | "lost" => "✗",
        REJECTED => "!",
        "asking" => "?",
        "paused" => "‖",
        "running" => "●",
        "stopped" => "■",
        "skipped" => "–",
        _ => "○",
    }
}

/// Writes a state: its sign and its word.
pub(super) fn state(word: &str, html: &mut HtmlPage) {
    html.tag("span", &[("class", class(word))]);
    html.element("<span aria-hidden=\"true\">", sign(word), "</span> ");
    html.text(word).markup("</span>");
}

/// Writes the sign of something that went well or did not; none for what has not ended.
pub(super) fn outcome(is_well: Option<bool>, html: &mut HtmlPage) {
    html.markup(match is_well {
        Some(true) => "<span class=\"good\" role=\"img\" aria-label=\"done\">✓</span>",
        Some(false) => "<span class=\"bad\" role=\"img\" aria-label=\"failed\">✗</span>",
        None => "<span class=\"quiet\" role=\"img\" aria-label=\"not ended\">…</span>",
    });
}

/// A number of tokens in few signs: `950`, `12.3 K`, `1.2 M`.
pub(super) fn tokens(tokens: u64) -> String {
    let tenths = |unit: u64, name: &str| {
        let tenths = tokens / (unit / 10);
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    };
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => tenths(1_000, "K"),
        _ => tenths(1_000_000, "M"),
    }
}

/// All digits of a number of tokens.
pub(super) fn all_tokens(tokens: u64) -> String {
    grouped(usize::try_from(tokens).unwrap_or(usize::MAX))
}

/// An amount of money from its millionths.
pub(super) fn money(millionths: u64) -> String {
    grove_spec::money::in_words(amount(millionths))
}

/// Writes the time since a moment, which the page's script keeps current where the page is live.
pub(super) fn age(at: u64, viewer: &Viewer<'_>, last: Times, html: &mut HtmlPage) {
    let now = viewer.now(last).wall;
    let words = short(now.saturating_sub(at));
    match viewer {
        Viewer::File => html.text(&words),
        Viewer::Browser(browser) => {
            let words = if browser.is_stream { "" } else { &words };
            html.leaf("time", &[("data-since", &at.to_string())], words)
        }
    };
}

/// A duration in its largest unit alone: `3 s`, `12 min`, `2 h`, `5 d`.
pub(super) fn short(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A duration with as many units as people need.
pub(super) fn duration(milliseconds: u64) -> String {
    in_words(milliseconds)
}

/// A moment, for people anywhere: `2026-01-31 09:05 UTC`.
pub(super) fn utc(milliseconds: u64) -> String {
    let minutes = milliseconds / 60_000;
    let (days, minute) = (minutes / 1_440, minutes % 1_440);
    // Years begin in March, so that the day that is added comes last; eras are 400 years long.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month < 3);
    let (hour, minute) = (minute / 60, minute % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short_and_right() {
        for (given, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0 K"),
            (12_345, "12.3 K"),
            (999_999, "999.9 K"),
            (1_234_567, "1.2 M"),
        ] {
            assert_eq!(tokens(given), expected);
        }
        assert_eq!(
            (money(1_234), money(2_345_678)),
            ("0.0012".into(), "2.35".into())
        );
        assert_eq!(
            (short(59_999), short(3_600_000)),
            ("59 s".into(), "1 h".into())
        );
    }

    #[test]
    fn a_moment_is_a_date() {
        for (milliseconds, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (1_767_225_599_000, "2025-12-31 23:59 UTC"),
            (4_107_542_399_000, "2100-02-28 23:59 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(utc(milliseconds), expected);
        }
    }
}
