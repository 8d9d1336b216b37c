//! What is wrong with a command line, in one text.

use clap::Command;
use clap::error::{ContextKind, ErrorKind};

/// What clap says, without its frame of title, usage and reference; of an
/// ambiguous abbreviation, what it may mean.
pub fn explain(error: &clap::Error, command: &Command) -> String {
    let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    if let (ErrorKind::UnknownArgument, Some(argument)) = (error.kind(), argument) {
        let meant = meant(&argument, command);
        if meant.len() > 1 {
            return format!("{argument} may mean {}", meant.join(", "));
        }
    }
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = ["\n\nUsage:", "\n\nFor more information"];
    let ends = end.iter().filter_map(|mark| text.find(mark));
    let text = &text[..ends.min().unwrap_or(text.len())];
    text.trim_end().replace("\n\n", "\n")
}

/// The options that an abbreviation may stand for.
fn meant(argument: &str, command: &Command) -> Vec<String> {
    let Some(name) = argument.strip_prefix("--").filter(|name| !name.is_empty()) else {
        return Vec::new();
    };
    let longs = command.get_arguments().filter_map(|arg| arg.get_long());
    let meant = longs.filter(|long| long.starts_with(name));
    meant.map(|long| format!("--{long}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;

    fn told(args: &[&str]) -> String {
        let flag = |name: &'static str| Arg::new(name).long(name).num_args(0);
        let command = Command::new("tool")
            .infer_long_args(true)
            .args([flag("data"), flag("disable")]);
        let error = command.clone().try_get_matches_from(args).unwrap_err();
        explain(&error, &command)
    }

    #[test]
    fn one_text_says_what_is_wrong() {
        assert_eq!(told(&["tool", "--d"]), "--d may mean --data, --disable");
        assert_eq!(told(&["tool", "x"]), "unexpected argument 'x' found");
        assert_eq!(told(&["tool", "--x"]), "unexpected argument '--x' found");
    }
}
