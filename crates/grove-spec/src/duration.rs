//! Durations as people read them: `350 ms`, `20 s`, `1.5 s`, `5 min`, `1 h 30 min`.

/// A number of milliseconds in words, rounded as suits its size, and exact for the round values that people set.
pub fn in_words(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) if seconds == 0 => format!("{milliseconds} ms"),
        (0, 0) => match milliseconds / 100 % 10 {
            0 => format!("{rest} s"),
            tenths => format!("{rest}.{tenths} s"),
        },
        (0, _) if rest == 0 => format!("{minutes} min"),
        (0, _) => format!("{minutes} min {rest} s"),
        (_, 0) => format!("{hours} h"),
        _ => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_in_the_unit_that_people_use() {
        for (milliseconds, expected) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1 s"),
            (1_540, "1.5 s"),
            (20_000, "20 s"),
            (59_999, "59.9 s"),
            (60_000, "1 min"),
            (185_000, "3 min 5 s"),
            (3_599_999, "59 min 59 s"),
            (7_200_000, "2 h"),
            (5_400_000, "1 h 30 min"),
            (u64::MAX, "5124095576030 h 25 min"),
        ] {
            assert_eq!(in_words(milliseconds), expected);
        }
    }
}
