//! Man pages and completions agree with the code. `HUGETOOLS_BLESS=1` writes the options
//! between two marks in the man pages, and the completions.

mod json;
mod library;
mod shells;

use std::ffi::OsString;

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};

use crate::support::{bless, needs, tool, tree};

/// A tool with a man page and completions.
struct Tool {
    name: &'static str,
    section: u8,
    command: fn() -> Command,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "hugeadm",
        section: 8,
        command: hugetools_admin::args::Args::command,
    },
    Tool {
        name: "hugectl",
        section: 8,
        command: hugetools_ctl::args::Args::command,
    },
    Tool {
        name: "hugeedit",
        section: 8,
        command: hugetools::hugeedit::args::Args::command,
    },
    Tool {
        name: "ld.hugetlbfs",
        section: 1,
        command: hugetools::ld_hugetlbfs::command,
    },
    Tool {
        name: "pagesize",
        section: 1,
        command: hugetools::pagesize::args::Args::command,
    },
];

const BEGIN: &str = ".\\\" OPTIONS BEGIN: generated from the code, see tests/generated.rs\n";
const END: &str = ".\\\" OPTIONS END\n";

#[test]
fn man_pages_have_the_options_of_the_code() {
    for tool in TOOLS {
        let path = format!("man/{}.{}", tool.name, tool.section);
        let page = bless::read_text(&path);
        let (before, rest) = page
            .split_once(BEGIN)
            .expect("the mark of the options' begin");
        let (_, after) = rest.split_once(END).expect("the mark of the options' end");
        let now = format!("{before}{BEGIN}{}{END}{after}", options(tool));
        bless::compare(&path, &now).unwrap();
    }
}

/// Returns the OPTIONS block, with subheadings and without clap's macro for apostrophes.
fn options(tool: &Tool) -> String {
    let mut out = Vec::new();
    let man = clap_mangen::Man::new((tool.command)());
    man.render_options_section(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap().replace(r"\*(Aq", r"\(aq");
    // An empty line ends a paragraph already.
    let text = text.replace("\n.br\n\n.br\n", "\n\n");
    let lines = text.lines().skip_while(|line| !line.starts_with(".SH "));
    let lines = lines.map(|line| match line.strip_prefix(".SH ") {
        None => line.to_owned() + "\n",
        Some(heading) => {
            let (first, rest) = heading.trim_matches('"').split_at(1);
            format!(".SS {first}{}\n", rest.to_lowercase())
        }
    });
    lines.collect()
}

#[test]
fn mandoc_has_no_warnings() {
    if !needs::programs("mandoc_has_no_warnings", &["mandoc"]) {
        return;
    }
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "mandoc -T lint -W warning man/*"]);
    let output = command.current_dir(bless::project("")).output().unwrap();
    let warnings = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(warnings, "");
}

/// Runs the same check as lintian.
#[test]
fn groff_has_no_warnings() {
    if !needs::programs("groff_has_no_warnings", &["man"]) {
        return;
    }
    let each = "for page in man/*; do man --warnings -E UTF-8 -l -Tutf8 -Z $page; done >/dev/null";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", each]).env("LC_ALL", "C.UTF-8");
    command.env("MANROFFSEQ", "").env("MANWIDTH", "120");
    let output = command.current_dir(bless::project("")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn completions_have_the_options_of_the_code() {
    for tool in TOOLS {
        for (shell, name) in [
            (Shell::Bash, format!("{}.bash", tool.name)),
            (Shell::Zsh, format!("_{}", tool.name)),
            (Shell::Fish, format!("{}.fish", tool.name)),
        ] {
            let mut out = Vec::new();
            generate(shell, &mut (tool.command)(), tool.name, &mut out);
            let mut command = (tool.command)();
            command.build();
            let frame = String::from_utf8(out).unwrap();
            let text = shells::complete(shell, tool.name, &command, &frame);
            bless::compare(format!("completions/{name}"), &text).unwrap();
        }
    }
}

fn examples_of_the_help(tool: &Tool) -> Vec<String> {
    let help = tool::tool(tool.name).arg("--help").output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let (_, examples) = help.split_once("Examples:\n").expect("examples");
    let examples = examples.lines().map_while(|line| line.strip_prefix("  "));
    examples
        .filter_map(|line| Some(line.split_once("   ")?.0.to_owned()))
        .collect()
}

fn examples_of_the_page(tool: &Tool) -> Vec<String> {
    let page = bless::read_text(format!("man/{}.{}", tool.name, tool.section)).replace("\\-", "-");
    let examples = page
        .split_once("\n.SH EXAMPLES\n")
        .map_or("", |parts| parts.1);
    examples
        .lines()
        .filter_map(|line| line.strip_prefix("# ").or(line.strip_prefix("$ ")))
        .map(str::to_owned)
        .collect()
}

/// Runs the examples of hugeadm and pagesize, from help and man page, on a recorded machine.
#[test]
fn the_examples_work() {
    let on_machines = |tool: &&Tool| ["hugeadm", "pagesize"].contains(&tool.name);
    for tool in TOOLS.iter().filter(on_machines) {
        let (help, page) = (examples_of_the_help(tool), examples_of_the_page(tool));
        assert!(help.len() >= 3, "{}: {help:?}", tool.name);
        assert!(page.len() >= 3 || tool.name != "hugeadm", "{page:?}");
        for command in help.iter().chain(&page) {
            // The group postgres may be missing; root exists on every machine.
            let command = command.replace("postgres", "root");
            let words = command.split_whitespace().skip(1).map(OsString::from);
            let dir = tree::machine("x86_64-8node");
            let output = tool::tool(tool.name)
                .arg("--sysroot")
                .arg(dir.path())
                .args(words)
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(0), "{command}\n{output:?}");
        }
    }
}

#[test]
fn the_tutorial_s_commands_are_valid() {
    let page = bless::read_text("man/hugetools.7").replace("\\-", "-");
    let page = page.replace(" \\e\n   ", "");
    let lines = page.lines();
    let commands = lines.filter_map(|line| line.strip_prefix("# ").or(line.strip_prefix("$ ")));
    let mut seen = 0;
    for tool in TOOLS {
        for command in commands.clone() {
            let own = format!("{} ", tool.name);
            if !command.starts_with(&own) {
                continue;
            }
            let command = command.split(" >").next().unwrap_or(command);
            // A command substitution is one word.
            let (before, rest) = command.split_once("\"$(").unwrap_or((command, ""));
            let after = rest.split_once(")\"").map_or("", |parts| parts.1);
            let word = if rest.is_empty() { "" } else { "1" };
            let command = format!("{before}{word}{after}");
            let read = (tool.command)().try_get_matches_from(command.split_whitespace());
            assert!(read.is_ok(), "{command}: {}", read.unwrap_err());
            seen += 1;
        }
    }
    assert!(seen >= 15, "only {seen} commands");
}
