//! `cargo bench`: runs `hugectl --compare` on the programs of `work`.
#![expect(clippy::unwrap_used, reason = "like the tests, it panics on errors")]

mod args;
mod compare;
mod pool;
mod prepare;
mod servers;
mod stop;
mod table;
mod work;

#[path = "../support"]
#[expect(dead_code, reason = "the tests use more of it")]
mod support {
    pub(crate) mod bless;
    pub(crate) mod live;
    pub(crate) mod postgres;
    pub(crate) mod program;
    pub(crate) mod restore;
    pub(crate) mod tool;
}

use std::io::{self, Write};

use args::Args;
use clap::Parser;
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let args = Args::parse();
    stop::watch();
    let scratch = prepare::Scratch::new();
    let mut documents: Vec<Value> = Vec::new();
    for work in work::ALL.iter().filter(|work| args.wants(work)) {
        if stop::is_requested() {
            break;
        }
        let _ = writeln!(io::stderr(), "{}: {}", work.name, work.what);
        documents.push(compare::run(work, &args, &scratch));
    }
    let text = match args.json {
        true => format!(
            "{:#}\n",
            json!({"quick": args.quick, "workloads": documents})
        ),
        false => table::text(&documents),
    };
    io::stdout().write_all(text.as_bytes())
}
