//! Other libraries that stand before libc, tools that look into processes, and
//! other mallocs: each with the heap, in both orders.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::run::{How, run};
use crate::support::live::{machine, skip};
use crate::support::program::{Libc, build_as};
use crate::support::tool::hugectl;

const TIME: Duration = Duration::from_secs(20);

/// What is wrong with a run; what must be said may stand among other lines.
fn wrong(words: &[&str], environment: &[(&str, &str)]) -> Option<String> {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .env_clear()
        .envs(environment.iter().copied());
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    command.env("LC_ALL", "C").current_dir("/");
    let end = run(&mut command, TIME);
    let right = end.how == How::Status(0) && end.out.lines().any(|line| line == "right");
    (!right).then(|| format!("{words:?} {environment:?}: {end:#?}"))
}

fn found(program: &str) -> bool {
    let dirs = ["/usr/local/bin", "/usr/bin", "/bin"];
    dirs.iter().any(|dir| Path::new(dir).join(program).exists())
}

/// A command, and variables that it needs.
type Started<'a> = (Vec<&'a str>, Vec<(&'a str, &'a str)>);

/// Each is tried without us first: one that does not work so tells nothing.
fn hold(test: &str, name: &str, plain: Option<String>, ours: &[Started<'_>]) {
    if let Some(wrong) = plain {
        return skip(test, &format!("{name} alone does not run it: {wrong}")).unwrap_or(());
    }
    let mut all = Vec::new();
    for pool in [0, 60] {
        let Some(live) = machine(test) else { return };
        live.set_pool(pool);
        all.extend(ours.iter().filter_map(|(words, environment)| {
            wrong(words, environment).map(|wrong| format!("pool {pool}: {wrong}"))
        }));
    }
    assert!(all.is_empty(), "{name}:\n{}", all.join("\n"));
}

/// PHP's modules are loaded deeply bound.
#[test]
fn php_with_its_modules() {
    let test = "php";
    if !found("php") {
        return skip(test, "there is no php").unwrap_or(());
    }
    let php = [
        "php",
        "-r",
        "echo \"right\\n\"; $a = range(1, 1000000); $x = new DateTime(); preg_match('/(a+)+/', 'aaa', $m);",
    ];
    let hugectl = hugectl().to_str().unwrap();
    let ours = [
        ([&[hugectl, "--heap", "-q"], &php[..]].concat(), vec![]),
        ([&[hugectl, "--heap=thp", "-q"], &php[..]].concat(), vec![]),
        (
            [
                &[
                    hugectl,
                    "--heap",
                    "--shm",
                    "-q",
                    "sh",
                    "-c",
                    "\"$0\" \"$@\"",
                ],
                &php[..],
            ]
            .concat(),
            vec![],
        ),
    ];
    hold(test, "php", wrong(&php, &[]), &ours);
}

/// What it has is called only while it is there.
#[test]
fn a_library_that_is_closed_and_loaded_again() {
    for libc in Libc::ALL {
        let build = |as_what: &str, flags: &[&str]| {
            let name = format!("contract-passing_library-{libc:?}{as_what}");
            build_as(&name, "contract/passing_library", libc, flags)
        };
        let library = build(".so", &["-DLIBRARY", "-shared", "-fPIC"]);
        let Some((program, library)) = build("", &[]).zip(library) else {
            continue;
        };
        let words = [&program, &library].map(|path| path.to_str().unwrap());
        let hugectl = hugectl().to_str().unwrap();
        for option in ["--heap=thp", "--shm"] {
            let ours = [&[hugectl, "-q", option], &words[..]].concat();
            assert_eq!(wrong(&ours, &[]), wrong(&words, &[]), "{libc:?}");
        }
        assert_eq!(wrong(&words, &[]), None, "{libc:?}");
    }
}
