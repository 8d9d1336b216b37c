//! `cargo bench`: runs `hugectl --compare` on the programs of `work`.
#![expect(clippy::unwrap_used, reason = "like the tests, it panics on errors")]

mod args;
mod compare;
mod pool;
mod prepare;
mod servers;
mod stop;
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

fn main() -> io::Result<()> {
    let args = Args::parse();
    stop::watch();
    let scratch = prepare::Scratch::new();
    if !nix::unistd::geteuid().is_root() {
        let _ = writeln!(
            io::stderr(),
            "only root can fill the pool: it stays as it is"
        );
    }
    for work in work::ALL.iter().filter(|work| args.wants(work)) {
        if stop::is_requested() {
            break;
        }
        let size = work.sizes[usize::from(args.quick)].0;
        writeln!(
            io::stdout(),
            "\n{}: {}, size {size}",
            work.name,
            work.description
        )?;
        match compare::command(work, &args, &scratch, &[]) {
            Err(why) => writeln!(io::stdout(), "not run: {why}")?,
            Ok((_pool, mut command)) => stop::wait(&mut command.spawn()?)?,
        }
    }
    Ok(())
}
