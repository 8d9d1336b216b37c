//! Adds values of options to clap's completions: the machine's page sizes, processes, users and
//! groups, and the program after hugectl's options. The scripts are in `shell`.

use std::fmt::Write;

use clap::{Arg, Command};
use clap_complete::Shell;

const BASH: &str = include_str!("shell/bash.sh");
const BASH_PROGRAM: &str = include_str!("shell/program.bash");
const ZSH: &str = include_str!("shell/zsh.sh");
const FISH: &str = include_str!("shell/fish.fish");

/// Amounts for most machines.
const POOLS: &str = "DEFAULT:1GB DEFAULT:10% DEFAULT:25% DEFAULT:50%";

/// The value name in the help, and the code that offers values in zsh and fish.
const VALUES: [(&str, &str, &str); 11] = [
    ("SIZE|thp", "_@ID@_sizes_or_thp", "(__@ID@_sizes) thp"),
    ("SIZE|1/N", "_@ID@_sizes", "(__@ID@_sizes)"),
    ("SIZE", "_@ID@_sizes", "(__@ID@_sizes)"),
    ("SPEC", "_@ID@_pools", POOLS),
    ("SPREAD", "_@ID@_pools", POOLS),
    ("SIZE:MODE", "_@ID@_modes", "(__@ID@_modes)"),
    ("PID|NAME|all", "_@ID@_processes", "(__@ID@_processes)"),
    (
        "SEGMENTS",
        "_@ID@_segments",
        "text data bss heap shm anon stack",
    ),
    ("USER", "_users", "(__fish_complete_users)"),
    ("GROUP", "_groups", "(__fish_complete_groups)"),
    ("OCTAL", "_@ID@_octal", "0700 0750 0770 0755 1777"),
];

/// Returns the name of an option's value in the help.
fn value(arg: &Arg) -> Option<String> {
    let takes = arg.get_action().takes_values();
    let names = arg.get_value_names().filter(|_| takes)?;
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    Some(names.join(" "))
}

/// Returns the options with a value.
fn options(command: &Command) -> impl Iterator<Item = (&Arg, &str, String)> {
    let options = command.get_arguments();
    options.filter_map(|arg| Some((arg, arg.get_long()?, value(arg)?)))
}

fn starts_programs(command: &Command) -> bool {
    command.get_arguments().any(Arg::is_trailing_var_arg_set)
}

/// Returns the completion script of a tool; `frame` is clap's.
pub(super) fn complete(shell: Shell, name: &str, command: &Command, frame: &str) -> String {
    let frame = match shell {
        // Disables shellcheck's warnings about clap's code.
        Shell::Bash => &format!("# shellcheck disable=SC1007,SC2207\n{frame}"),
        _ => frame,
    };
    if !["hugeadm", "hugectl"].contains(&name) {
        return frame.to_owned();
    }
    let text = match shell {
        Shell::Bash => bash(name, command, frame),
        Shell::Zsh => zsh(command, frame),
        Shell::Fish => fish(name, command, frame),
        _ => frame.to_owned(),
    };
    text.replace("@ID@", name)
}

fn bash(name: &str, command: &Command, frame: &str) -> String {
    let mut values = String::new();
    for (arg, long, mut value) in options(command) {
        let words = arg.get_possible_values();
        let words: Vec<&str> = words.iter().map(|word| word.get_name()).collect();
        if !words.is_empty() {
            value = format!("={}", words.join(" "));
        }
        let next = if arg.is_require_equals_set() {
            ""
        } else {
            " | '--@ ' "
        };
        let next = next.replace('@', long);
        writeln!(values, "    --{long}{next}) echo '{value}' ;;").unwrap();
    }
    let values = values.replace(" )", ")");
    let program = if starts_programs(command) {
        BASH_PROGRAM
    } else {
        ""
    };
    let part = BASH
        .replace("@VALUES@", &values)
        .replace("@PROGRAM@", program);
    let (body, end) = frame.rsplit_once("\nif [[ ").expect("bash's last lines");
    let end = end.replace(&format!("-F _{name} "), "-F _@ID@_line ");
    format!("{body}{part}\nif [[ {end}")
}

fn zsh(command: &Command, frame: &str) -> String {
    let mut text = frame.to_owned();
    // An option that requires `=` does not take the next word.
    for (_, long, _) in options(command).filter(|(arg, _, _)| arg.is_require_equals_set()) {
        text = text.replace(&format!("--{long}=["), &format!("--{long}=-["));
    }
    for (value, function, _) in VALUES {
        let old = format!(":{}:_default'", value.replace(':', r"\:"));
        let raw = format!(":{value}:_default'");
        let new = format!(":{}:{function}'", value.replace(':', r"\:"));
        text = text.replace(&old, &new).replace(&raw, &new);
    }
    let text = text.replace("'*--status=[", "'*--status[");
    let (head, body) = text.split_once("\n\n").expect("zsh's first line");
    format!("{head}\n\n{ZSH}{body}")
}

fn fish(name: &str, command: &Command, frame: &str) -> String {
    let mut text = FISH.to_owned();
    let mut frame = frame.to_owned();
    for (arg, long, value) in options(command) {
        // An option that requires `=` does not take the next word.
        let needs = if arg.is_require_equals_set() {
            "f"
        } else {
            "x"
        };
        if needs == "f" {
            frame = without_next(&frame, long);
        }
        let known = VALUES.iter().find(|(known, ..)| *known == value);
        if let Some((_, _, offered)) = known {
            writeln!(
                text,
                "complete -c {name} -l {long} -{needs} -a \"{offered}\""
            )
            .unwrap();
        }
    }
    if starts_programs(command) {
        let skipped = options(command).filter(|(arg, _, _)| !arg.is_require_equals_set());
        let skipped: Vec<String> = skipped.map(|(_, long, _)| format!("--{long}")).collect();
        let skipped = skipped.join(" ");
        let no_status = "not __fish_contains_opt status";
        writeln!(
            text,
            "complete -c {name} -x -n '{no_status}' -a '(__fish_complete_subcommand -- {skipped})'\n\
             complete -c {name} -x -n '__fish_contains_opt status' -a '(__{name}_processes)'"
        )
        .unwrap();
    }
    format!("{frame}{text}")
}

/// Removes the mark (`-r`) that makes an option take the next word.
fn without_next(frame: &str, long: &str) -> String {
    let own = format!(" -l {long} -d ");
    let lines = frame.lines().map(|line| match line.contains(&own) {
        true if line.ends_with("' -r") => line.trim_end_matches(" -r").to_owned() + "\n",
        true => line.replace("' -r -", "' -") + "\n",
        false => format!("{line}\n"),
    });
    lines.collect()
}
