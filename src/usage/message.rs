//! Words the errors of clap, each in one line.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns one line that names the argument, the value and the allowed values.
pub(super) fn message(error: &clap::Error) -> String {
    let argument = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::UnknownArgument => format!("unexpected argument '{argument}' found"),
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("a value is required for '{argument}' but none was supplied")
        }
        ErrorKind::InvalidValue => {
            let allowed = text(error, ContextKind::ValidValue);
            format!("invalid value '{value}' for '{argument}', use {allowed}")
        }
        ErrorKind::ValueValidation => {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            format!(
                "invalid value '{value}' for '{argument}': {}",
                plain(&cause)
            )
        }
        ErrorKind::TooManyValues => {
            format!("unexpected value '{value}' for '{argument}' found; no more were expected")
        }
        ErrorKind::NoEquals => format!("'{argument}' needs an equals sign before its value"),
        ErrorKind::ArgumentConflict => {
            let other = text(error, ContextKind::PriorArg);
            match other == argument {
                true => format!("'{argument}' cannot be used twice"),
                false => format!("'{argument}' cannot be used with '{other}'"),
            }
        }
        ErrorKind::MissingRequiredArgument => format!("{argument} is missing"),
        other => other.to_string(),
    }
}

/// Returns a part of the context as text; several values are separated by commas.
pub(super) fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::Strings(values)) => values.join(", "),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

/// Replaces the standard library's words for a number that cannot be parsed.
fn plain(cause: &str) -> &str {
    match cause {
        "invalid digit found in string" => "not a number",
        "number too large to fit in target type" => "too large",
        cause => cause,
    }
}
