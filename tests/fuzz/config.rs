//! The configuration file: parsed, and planned for a machine with several nodes.

use std::path::PathBuf;

use hugetools_admin::config::source::Source;
use hugetools_admin::config::{EXAMPLE, requests, save};
use hugetools_admin::live::Live;
use hugetools_admin::plan::Refusal;
use hugetools_model::{Machine, Root, fixture};

use crate::engine::{archives, fuzz, kept};

/// Checks that an error begins with file, line and column of a place in the text.
fn judge(error: &str, text: &str) {
    let mut parts = error.split(':');
    assert_eq!(parts.next(), Some("f.toml"), "{error}");
    let mut number = || -> usize { parts.next().unwrap().parse().unwrap() };
    let (line, column) = (number(), number());
    let lines: Vec<&str> = text.split('\n').collect();
    assert!((1..=lines.len()).contains(&line), "{error}");
    let length = lines[line - 1].chars().count();
    assert!((1..=length + 1).contains(&column), "{error}");
    assert!(!error.contains(char::is_control), "{error:?}");
}

#[test]
fn config() {
    let archives = archives();
    let archive = archives.iter().find(|text| text.contains("/node/node7/"));
    let dir = tempfile::tempdir().unwrap();
    fixture::unpack(archive.unwrap(), dir.path()).unwrap();
    let root = Root::at(dir.path()).unwrap();
    let machine = Machine::read(&root).unwrap();
    let mut corpus = kept("config");
    corpus.push(EXAMPLE.as_bytes().to_vec());
    corpus.push(EXAMPLE.replace("\n#", "\n").into_bytes());
    corpus.push(save::text(&machine).into_bytes());
    let words = [
        "[[pool]]\n",
        "[[mount]]\n",
        "[thp]\n",
        "size = ",
        "min = ",
        "max = ",
        "nodes = {",
        "spread = ",
        "for = ",
        "\"2MB\"",
        "\"10%\"",
        "\"DEFAULT\"",
        "\"user:root\"",
        "}",
        "\"\"\"",
        "when = { nodes = 8 }\n",
        "= true\n",
        "*",
        "@",
        "-",
        "+",
        "\n",
    ];
    fuzz("config", corpus, &words, |text| {
        let text = String::from_utf8_lossy(text).into_owned();
        let source = match Source::new(PathBuf::from("f.toml"), text.clone()) {
            Ok(source) => source,
            Err(error) => {
                judge(&error, &text);
                let why: String = error.chars().filter(char::is_ascii_alphabetic).collect();
                return (why.chars().rev().take(12).collect(), 0);
            }
        };
        let mut effects = Live::new(root.clone());
        let sources = [source];
        match requests::plan(&sources, &machine, Some("a1"), false, &mut effects) {
            Err(error) => {
                judge(&error, &text);
                (error.chars().rev().take(12).collect(), 1)
            }
            Ok(plan) => {
                if let Some(Refusal::Impossible(why) | Refusal::Harmful(why)) = &plan.refusal {
                    assert!(why.starts_with("f.toml:"), "{why}");
                }
                (String::new(), plan.tasks.len() + 2)
            }
        }
    });
}
