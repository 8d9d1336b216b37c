//! Help, and error messages for command lines that cannot be parsed.

mod message;
pub(crate) mod short;

use std::ffi::OsString;

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command, CommandFactory};
use hugetools_model::Head;

use crate::log::Log;
use crate::stdout::{out_json, print};
use crate::terminal::lay_out;

use message::{message, text};

/// The exit status of a usage error.
const USAGE: u8 = 2;

/// Prints help, version or the error; returns the exit status.
pub(crate) fn no_args(log: Log, error: &clap::Error, argv: &[OsString], command: &Command) -> u8 {
    match help_or_error(error, argv, command, None) {
        Ok(text) => print(&log, &text),
        Err(text) => wrong(log, &text, wants_json(argv, command)),
    }
}

/// Prints a usage error; returns the exit status.
pub(crate) fn wrong(log: Log, text: &str, json: bool) -> u8 {
    if json {
        return USAGE.max(out_json(&log, &Head::failed(log.tool, USAGE, text)));
    }
    log.error(text);
    USAGE
}

/// Returns the text of help or version, or the message of a usage error as `Err`. `short` is the
/// help for `-h` if that differs.
pub(crate) fn help_or_error(
    error: &clap::Error,
    argv: &[OsString],
    command: &Command,
    short: Option<&str>,
) -> Result<String, String> {
    let is_long = |word: &OsString| word.as_encoded_bytes().starts_with(b"--hel");
    if let (ErrorKind::DisplayHelp, Some(text)) = (error.kind(), one_dash(argv, command)) {
        return Err(text);
    }
    match (error.kind(), short) {
        (ErrorKind::DisplayHelp, Some(short)) if !argv.iter().any(is_long) => Ok(lay_out(short)),
        (ErrorKind::DisplayHelp, Some(_)) => {
            Ok(lay_out(&command.clone().render_help().to_string()))
        }
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, _) => {
            Ok(error.to_string().trim_end().to_owned() + "\n")
        }
        (ErrorKind::InvalidUtf8, _) => Err(not_utf8(argv)),
        _ => Err(explain(error, argv, command)),
    }
}

/// Returns the message for an error: the problem, with a suggestion or a reference to the help.
/// Lists the candidates of an ambiguous abbreviation, and shows the missing `=` of a value.
fn explain(error: &clap::Error, argv: &[OsString], command: &Command) -> String {
    if let Some((argument, meant)) = ambiguous(error, command) {
        return format!("{argument} is ambiguous: {meant}");
    }
    if is_status_alone(error) {
        return STATUS_NEEDS_PROCESS.to_owned();
    }
    if let Some(text) = needs_equals(error, argv, command) {
        return text;
    }
    let message = message(error);
    let meant = similar(error, command);
    match error.kind() {
        ErrorKind::UnknownArgument if meant.is_empty() => see_help(message, command),
        ErrorKind::InvalidValue if text(error, ContextKind::InvalidValue).is_empty() => {
            see_help(message, command)
        }
        ErrorKind::MissingRequiredArgument => see_help(message, command),
        _ => message + &meant,
    }
}

fn see_help(text: String, command: &Command) -> String {
    format!("{text} (see {} --help)", command.get_name())
}

/// Returns the long options of a tool, without dashes.
fn longs(command: &Command) -> impl Iterator<Item = &str> {
    command.get_arguments().filter_map(Arg::get_long)
}

/// Returns the words that can be options: those before `--`, and before the program to start,
/// whose options are its own.
fn option_words<'a>(argv: &'a [OsString], command: &Command) -> impl Iterator<Item = &'a OsString> {
    let starts = command.get_arguments().any(Arg::is_trailing_var_arg_set);
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let words = argv.iter().skip(1).take_while(|word| *word != "--");
    words.take_while(move |word| !starts || is_option(word))
}

/// Returns a message if an unexpected word, not an option, follows an option that takes its value
/// after `=`.
fn needs_equals(error: &clap::Error, argv: &[OsString], command: &Command) -> Option<String> {
    let value = text(error, ContextKind::InvalidArg);
    if error.kind() != ErrorKind::UnknownArgument || value.starts_with('-') {
        return None;
    }
    let at = argv.iter().position(|word| *word == *value)?;
    let option = argv[at.checked_sub(1)?].to_str()?;
    let name = option.strip_prefix("--")?;
    let takes_equals = |arg: &Arg| {
        let is_meant = arg.get_long().is_some_and(|long| long.starts_with(name));
        is_meant && arg.is_require_equals_set()
    };
    let is_found = command.get_arguments().any(takes_equals);
    is_found.then(|| format!("{option} needs an equals sign before its value: {option}={value}"))
}

/// Returns a message for a long option with one dash: clap parses `-heap` as `-h` and prints the
/// help.
fn one_dash(argv: &[OsString], command: &Command) -> Option<String> {
    let meant = |word: &&str| {
        let name = word.trim_start_matches('-').split('=').next();
        let is_long = longs(command).any(|long| Some(long) == name);
        word.starts_with("-h") && *word != "-help" && is_long
    };
    let mut words = option_words(argv, command).filter_map(|word| word.to_str());
    let word = words.find(meant)?;
    Some(format!("unexpected argument '{word}' found; -{word}?"))
}

/// Returns the intended option as a question, or an empty string. If clap suggests an abbreviation,
/// names the first option that begins with it.
fn similar(error: &clap::Error, command: &Command) -> String {
    if error.kind() != ErrorKind::UnknownArgument {
        return String::new();
    }
    let word = text(error, ContextKind::InvalidArg);
    let meant = suggest_option(&word, command);
    let suggested = text(error, ContextKind::SuggestedArg);
    let name = suggested.trim_start_matches('-');
    // clap also suggests options that have little in common with the word.
    let is_close = word.trim_start_matches('-').chars().next() == name.chars().next();
    if !meant.is_empty() || name.is_empty() || !is_close {
        return meant;
    }
    let option = longs(command).find(|long| long.starts_with(name));
    let option = option.unwrap_or(name);
    format!("; --{option}?")
}

/// Returns the option of this name, also one of hugeadm or hugectl, as a question, or "".
pub(crate) fn suggest_option(word: &str, command: &Command) -> String {
    let name = word.trim_start_matches('-').split('=').next();
    let name = name.unwrap_or_default();
    let has = |command: &Command| longs(command).any(|long| long == name);
    if has(command) {
        return format!("; --{name}?");
    }
    let others = [
        hugetools_admin::args::Args::command(),
        hugetools_ctl::args::Args::command(),
    ];
    let other = others.iter().find(|other| has(other));
    other.map_or_else(String::new, |other| {
        format!("; {} --{name}?", other.get_name())
    })
}

/// The message for a `--status` without a process, as in `--status --totals redis-server`.
const STATUS_NEEDS_PROCESS: &str = "--status needs a process directly after it\n  hugectl \
    --status PID|NAME|all [--tree] [--sizes|--totals] [--json]";

fn is_status_alone(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::InvalidValue
        && text(error, ContextKind::InvalidArg).starts_with("--status")
        && text(error, ContextKind::InvalidValue).is_empty()
}

/// Returns an ambiguous abbreviation and the options that it may stand for.
fn ambiguous(error: &clap::Error, command: &Command) -> Option<(String, String)> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let argument = text(error, ContextKind::InvalidArg);
    let name = argument
        .strip_prefix("--")
        .filter(|name| !name.is_empty())?;
    let meant = longs(command).filter(|long| long.starts_with(name));
    let meant: Vec<String> = meant.map(|long| format!("--{long}")).collect();
    (meant.len() > 1).then(|| (argument.clone(), meant.join(", ")))
}

/// The message for a command line on which no option says what to do.
pub const NOTHING_TO_DO: &str = "no option says what to do (see hugeadm -h)";

/// Returns the message for an argument that is not UTF-8.
fn not_utf8(argv: &[OsString]) -> String {
    let word = argv.iter().find(|word| word.to_str().is_none());
    format!(
        "an argument is not UTF-8: {:?}",
        word.cloned().unwrap_or_default()
    )
}

/// Whether `--json` is on a command line that clap could not parse.
pub fn wants_json(argv: &[OsString], command: &Command) -> bool {
    option_words(argv, command).any(|word| word == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    fn explained(args: &[&str]) -> String {
        let flag = |name: &'static str| Arg::new(name).long(name).num_args(0);
        let command = Command::new("tool")
            .infer_long_args(true)
            .args([flag("data"), flag("disable")]);
        let error = command.clone().try_get_matches_from(args).unwrap_err();
        let argv: Vec<OsString> = args.iter().map(OsString::from).collect();
        explain(&error, &argv, &command)
    }

    #[test]
    fn a_missing_equals_sign_is_explained() {
        use clap::CommandFactory;
        let wrong = |line: &str| {
            let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let command = hugetools_admin::args::Args::command();
            let error = command.clone().try_get_matches_from(&argv).unwrap_err();
            explain(&error, &argv, &command)
        };
        for (line, written) in [
            ("hugeadm --hard --add-temp-swap 32", "--add-temp-swap=32"),
            ("hugeadm --pool-list long", "--pool-list=long"),
        ] {
            assert!(wrong(line).ends_with(written), "{}", wrong(line));
        }
        assert!(!wrong("hugeadm --explain 32").contains('='));
    }

    #[test]
    fn usage_errors_suggest_options() {
        assert_eq!(
            explained(&["tool", "--d"]),
            "--d is ambiguous: --data, --disable"
        );
        assert_eq!(
            explained(&["tool", "x"]),
            "unexpected argument 'x' found (see tool --help)"
        );
        assert_eq!(
            explained(&["tool", "pool-list"]),
            "unexpected argument 'pool-list' found; hugeadm --pool-list?"
        );
        assert_eq!(
            explained(&["tool", "--status"]),
            "unexpected argument '--status' found; hugectl --status?"
        );
        assert_eq!(
            explained(&["tool", "--dta"]),
            "unexpected argument '--dta' found; --data?"
        );
        assert_eq!(
            explained(&["tool", "--sable"]),
            "unexpected argument '--sable' found (see tool --help)"
        );
        assert_eq!(
            explained(&["tool", "data"]),
            "unexpected argument 'data' found; --data?"
        );
    }
}
