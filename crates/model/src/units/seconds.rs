//! A time in seconds, as in options.

use std::time::Duration;

/// Parses a time from 0.1 seconds to a day; `None` for anything else.
pub fn parse(word: &str) -> Option<Duration> {
    let seconds: f64 = word.parse().ok()?;
    (0.1..=86400.0)
        .contains(&seconds)
        .then(|| Duration::from_secs_f64(seconds))
}

/// The error message if [`parse`] returns `None`.
pub const NOT_A_TIME: &str = "not a time in seconds, from 0.1 to 86400";

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_time_is_neither_too_short_nor_too_long() {
        assert_eq!(parse("0.1").map(|time| time.as_millis()), Some(100));
        for odd in ["", "0", "0.09", "-1", "86401", "inf", "nan", "2s"] {
            assert_eq!(parse(odd), None, "{odd}");
        }
    }
}
