//! `cargo bench`: programs on base pages and on huge pages, in all the ways
//! there are, side by side in one run.
#![expect(
    clippy::unwrap_used,
    reason = "what the tests share stops where it fails"
)]

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
use std::time::Instant;

use args::Args;
use clap::Parser;
use run::Bench;

fn main() -> io::Result<()> {
    let (args, started) = (Args::parse(), Instant::now());
    stop::watch();
    let bench = Bench::new(&args);
    let mut out = io::stdout();
    let blocks = bench.ways();
    if !args.json && !blocks.is_empty() {
        out.write_all(table::ways(&blocks).as_bytes())?;
    }
    let saves = match args.wants(work::SAVE) {
        true => bench.saves(),
        false => vec![],
    };
    if !args.json && !saves.is_empty() {
        out.write_all(format!("\n{}", table::saves(&saves, &save::title(args.quick))).as_bytes())?;
    }
    run::progress(&format!(
        "took {:.0} s, of which {:.0} s waiting for others who had the pools",
        started.elapsed().as_secs_f64(),
        bench.waited().as_secs_f64(),
    ));
    match args.json {
        true => writeln!(
            out,
            "{:#}",
            json::document(&blocks, &saves, args.rounds(), args.quick)
        ),
        false => Ok(()),
    }
}
