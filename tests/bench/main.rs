//! `cargo bench`: runs programs in all ways that put their memory on huge pages, alternately.
#![expect(
    clippy::unwrap_used,
    reason = "code shared with the tests panics on errors"
)]

mod args;
mod json;
mod outcome;
mod plan;
mod pool;
mod prepare;
mod run;
mod server;
mod stats;
mod stop;
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
    stop::watch();
    let blocks = Bench::new(&args).run();
    let text = match args.json {
        true => format!("{:#}\n", json::document(&blocks, args.rounds(), args.quick)),
        false => table::text(&blocks),
    };
    io::stdout().write_all(text.as_bytes())
}
