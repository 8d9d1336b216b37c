//! `cargo bench`: programs on base pages and on huge pages, in all the ways
//! there are, side by side in one run.
#![expect(clippy::unwrap_used, reason = "what the tests share stops where it fails")]

mod args;
mod json;
mod outcome;
mod plan;
mod pool;
mod prepare;
mod run;
mod save;
mod server;
mod stats;
mod table;
mod watch;
mod way;
mod work;

#[path = "../support"]
#[expect(dead_code, reason = "the tests use more of it")]
mod support {
    pub(crate) mod bless;
    pub(crate) mod live;
    pub(crate) mod program;
    pub(crate) mod restore;
    pub(crate) mod tool;
}

use std::io::{self, Write};

use args::Args;
use clap::Parser;
use run::Bench;

fn main() -> io::Result<()> {
    let args = Args::parse();
    let bench = Bench::new(&args);
    let blocks = bench.ways();
    let saves = match args.wants(work::SAVE) {
        true => bench.saves(),
        false => vec![],
    };
    let text = match args.json {
        true => format!("{:#}\n", json::document(&blocks, &saves, args.rounds(), args.quick)),
        false => tables(&args, &blocks, &saves),
    };
    io::stdout().write_all(text.as_bytes())
}

fn tables(args: &Args, blocks: &[outcome::Block], saves: &[outcome::SaveRow]) -> String {
    let mut text = String::new();
    if !blocks.is_empty() {
        text += &table::ways(blocks, args.rounds());
    }
    if !saves.is_empty() {
        let keys = save::keys(args.quick);
        let title = format!("Redis saves {keys} thousand keys of 1000 bytes while it is written to");
        text += &format!("\n{}", table::saves(saves, &title));
    }
    text
}
