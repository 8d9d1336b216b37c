//! hugetools-json(7) documents every field of every document with its type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::support::bless;
use crate::support::live::skip;
use crate::support::program::{Libc, build};
use crate::support::tool::tool;
use crate::support::tree::machine;

/// The types of fields, by their paths.
type Fields = BTreeMap<String, BTreeSet<String>>;

const EVERY: &str = "Every document";

/// Returns the documented fields by heading.
fn page() -> BTreeMap<String, Fields> {
    let text = bless::read_text("man/hugetools-json.7").replace("\\-", "-");
    let mut all: BTreeMap<String, Fields> = BTreeMap::new();
    let mut heading = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix(".SS ") {
            heading = name.to_owned();
        }
        let row = line.strip_prefix(".BR ").filter(|_| !heading.is_empty());
        if let Some((path, types)) = row.and_then(|row| row.split_once(" \" (")) {
            let types = types.trim_end_matches(")\"").split(" or ");
            let fields = all.entry(heading.clone()).or_default();
            let before = fields.insert(path.to_owned(), types.map(str::to_owned).collect());
            assert_eq!(before, None, "{heading}: {path} twice");
        }
    }
    all
}

/// Collects the leaves of a document. `N` stands for any number as a key.
fn fields(value: &Value, path: &str, found: &mut Fields) {
    let mut leaf = |name: &str| {
        let types = found.entry(path.to_owned()).or_default();
        types.insert(name.to_owned());
    };
    match value {
        Value::Null => leaf("null"),
        Value::Bool(_) => leaf("boolean"),
        Value::Number(_) => leaf("number"),
        Value::String(_) => leaf("text"),
        Value::Array(all) => {
            for one in all {
                fields(one, &format!("{path}[]"), found);
            }
        }
        Value::Object(all) => {
            for (key, one) in all {
                let key = match (path, key.parse::<u64>()) {
                    ("environment", _) => "NAME",
                    (_, Ok(_)) => "N",
                    _ => key,
                };
                let dot = if path.is_empty() { "" } else { "." };
                fields(one, &format!("{path}{dot}{key}"), found);
            }
        }
    }
}

/// Returns the documents of a text: one, or one per line.
fn documents(text: &str) -> Vec<Value> {
    match serde_json::from_str(text) {
        Ok(one) => vec![one],
        Err(_) => {
            let lines = text.lines().filter(|line| line.starts_with('{'));
            lines
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        }
    }
}

fn run(name: &str, words: &str) -> String {
    let mut command = tool(name);
    command.args(words.split_whitespace());
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

fn of_hugeadm() -> Vec<String> {
    let dir = machine("x86_64-8node");
    let tree = dir.path().display();
    let file = dir.path().join("pools.toml");
    let text = "[[pool]]\nsize = \"2MB\"\nmin = 80\nessential = false\n";
    std::io::Write::write_all(&mut std::fs::File::create(&file).unwrap(), text.as_bytes()).unwrap();
    let file = file.display();
    let all = "--pool-list --pool-list-nodes --list-all-mounts --page-sizes --page-sizes-all \
               --explain --stats --metrics --bug-report";
    [
        format!("--json --sysroot {tree} {all}"),
        format!("--json --sysroot {tree} --dry-run --pool-pages-min 2MB:+4 --thp-always"),
        format!("--json --sysroot {tree} --pool-pages-min 2MB:+4 --thp-always --create-mounts"),
        format!("--json --sysroot {tree} --pool-pages-min 2MB:+4000 --force"),
        format!("--json --sysroot {tree} --check={file}"),
        format!("--json --sysroot {tree} --apply={file}"),
        "--json --who --stats".to_owned(),
        format!("--json --size-for {}", std::process::id()),
        "--json --size-for sh".to_owned(),
        "--json --nonsense".to_owned(),
    ]
    .iter()
    .map(|words| run("hugeadm", words))
    .collect()
}

fn of_status(dir: &Path) -> Vec<String> {
    let own = std::process::id();
    let file = dir.join("report");
    let report = format!("--heap=thp --report={}", file.display());
    // `--require` refuses the start if transparent huge pages are off.
    run("hugectl", &format!("{report} --require=heap:1 true"));
    run("hugectl", &format!("{report} true"));
    let report = bless::read_text(&file);
    assert!(!report.is_empty());
    let words = [
        format!("--json --status {own}"),
        format!("--json --status {own} --sizes"),
        format!("--json --status {own} --totals"),
        format!("--json --status {own} {own}"),
        format!("--json --status {own} --tree --totals"),
    ];
    let documents = words.iter().map(|words| run("hugectl", words));
    documents.chain([report]).collect()
}

/// Returns the output of each section's commands.
fn samples(dir: &Path) -> Vec<(&'static str, Vec<String>)> {
    let own = std::process::id();
    let explained = "--text --data --heap --shm --require=heap:1,text sh -c true";
    let copy = dir.join("copy");
    let program = build("segments", Libc::Glibc, &["-pie", "-fPIE"]).unwrap();
    std::fs::copy(program, &copy).unwrap();
    let edit = format!("--json --align {}", copy.display());
    vec![
        ("hugeadm", of_hugeadm()),
        (
            "hugectl --compare",
            vec![
                run("hugectl", "--json --compare=plain,thp --rounds=1 true"),
                run(
                    "hugectl",
                    "--json --compare=plain,2MB --rounds=5 git --version",
                ),
            ],
        ),
        (
            "hugectl --dry-run",
            vec![
                run("hugectl", &format!("--json --dry-run {explained}")),
                run("hugectl", "--json --dry-run --shm"),
            ],
        ),
        (
            "hugectl --explain",
            vec![run("hugectl", &format!("--json --explain {explained}"))],
        ),
        ("hugectl --status", of_status(dir)),
        (
            "hugectl --pid",
            vec![run("hugectl", &format!("--json --pid {own}"))],
        ),
        ("hugeedit", vec![run("hugeedit", &edit)]),
        ("pagesize", vec![run("pagesize", "--json")]),
    ]
}

#[test]
fn the_page_has_every_field_of_every_document() {
    let dir = tempfile::tempdir().unwrap();
    let page = page();
    let every = &page[EVERY];
    let top = |path: &str| path.split(['.', '[']).next().unwrap().to_owned();
    for (section, texts) in samples(dir.path()) {
        if section == "hugectl --pid" && !nix::unistd::geteuid().is_root() {
            let _ = skip::<()>("the fields of an adoption", "it needs root");
            continue;
        }
        let written = &page[section];
        let mut found = Fields::new();
        for text in &texts {
            let documents = documents(text);
            assert!(!documents.is_empty(), "{section}: {text}");
            documents.iter().for_each(|one| fields(one, "", &mut found));
        }
        for (path, types) in &found {
            // For several processes, --status has the same fields below `processes[]`.
            let of_one = path.strip_prefix("processes[].").unwrap_or(path);
            let known = written.get(path).or_else(|| written.get(of_one));
            let known = known.or_else(|| every.get(path));
            let known = known.unwrap_or_else(|| panic!("{section}: {path} is not in the page"));
            assert!(
                types.is_subset(known),
                "{section}: {path}: {types:?}, not {known:?}"
            );
        }
        let seen: BTreeSet<String> = found.keys().map(|path| top(path)).collect();
        // These need hugetlbfs mounts, a process under `--require`, or several nodes.
        let rare = ["mounts", "required", "next_touch"];
        for path in written
            .keys()
            .filter(|path| !rare.contains(&top(path).as_str()))
        {
            assert!(
                seen.contains(&top(path)),
                "{section}: {path} was never seen"
            );
        }
    }
}
