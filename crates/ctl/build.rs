//! Reads the tables of known programs and writes them as code: hugectl need not read them
//! at each start, and nobody builds one that cannot be used.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's environment and writes its own files"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use entry::{Done, Entry, Inside, List, Reach, Table, Takes, Text, Word};

#[path = "src/probe/command_line/known_programs/entry.rs"]
mod entry;

const TABLES: &str = "share/programs.d";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={TABLES}");
    let mut files = fs::read_dir(TABLES)?
        .map(|file| file.map(|file| file.path()))
        .collect::<Result<Vec<PathBuf>, _>>()?;
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let table = read(&file).map_err(|why| format!("{}: {why}", file.display()))?;
        all.extend(table.program);
    }
    let out = PathBuf::from(env::var("OUT_DIR")?).join("programs.rs");
    let entries = all.iter().map(code);
    fs::write(out, format!("&[{}]\n", joined(entries)))?;
    Ok(())
}

fn read(file: &Path) -> Result<Table, Box<dyn Error>> {
    let table: Table = toml::from_str(&fs::read_to_string(file)?)?;
    table.check()?;
    Ok(table)
}

/// An entry as an expression.
fn code(entry: &Entry) -> String {
    let inside = match entry.inside {
        None => "None",
        Some(Inside::Go) => "Some(Inside::Go)",
        Some(Inside::Haskell) => "Some(Inside::Haskell)",
        Some(Inside::Jemalloc) => "Some(Inside::Jemalloc)",
        Some(Inside::PrefixedJemalloc) => "Some(Inside::PrefixedJemalloc)",
    };
    format!(
        "Entry {{ name: {}, exe: {}, needed: {}, symbols: {}, inside: {inside}, memory: {}, \
         anon: {}, takes: {}, bans: {:?}, own: {}, done: {}, auto: {}, why: {}, beware: {} }}",
        text(&entry.name),
        list(&entry.exe),
        list(&entry.needed),
        list(&entry.symbols),
        option(entry.memory.as_ref()),
        reach(entry.anon),
        takes(entry.takes.as_ref()),
        entry.bans,
        option(entry.own.as_ref()),
        done(&entry.done),
        list(&entry.auto),
        option(entry.why.as_ref()),
        option(entry.beware.as_ref()),
    )
}

fn reach(reach: Option<Reach>) -> String {
    match reach {
        None => "None".to_owned(),
        Some(Reach::All(all)) => format!("Some(Reach::All({all}))"),
        Some(Reach::Some(_)) => "Some(Reach::Some(Part::Part))".to_owned(),
    }
}

fn takes(takes: Option<&Takes>) -> String {
    let code = |Takes { with, size }: &Takes| {
        let (with, size) = (list(with), list(size));
        format!("Some(Takes {{ with: {with}, size: {size} }})")
    };
    takes.map_or("None".to_owned(), code)
}

fn done(done: &Done) -> String {
    match done {
        Done::Never => "Done::Never".to_owned(),
        Done::Word(Word::ThpAlways) => "Done::Word(Word::ThpAlways)".to_owned(),
        Done::Variable { variable, has } => format!(
            "Done::Variable {{ variable: {}, has: {} }}",
            text(variable),
            text(has)
        ),
        Done::Argument {
            arguments,
            variables,
        } => format!(
            "Done::Argument {{ arguments: {}, variables: {} }}",
            list(arguments),
            list(variables)
        ),
    }
}

fn text(text: &Text) -> String {
    format!("Cow::Borrowed({text:?})")
}

fn list(texts: &List) -> String {
    format!("Cow::Borrowed(&[{}])", joined(texts.iter().map(text)))
}

fn option(value: Option<&Text>) -> String {
    value.map_or("None".to_owned(), |value| format!("Some({})", text(value)))
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}
