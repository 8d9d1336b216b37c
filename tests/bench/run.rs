//! Carries the plan out.

use std::cell::Cell;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::args::Args;
use super::outcome::{Block, Cell as Figures, Outcome, Row, Save, SaveRow};
use super::plan::turns;
use super::pool::Pool;
use super::prepare;
use super::save;
use super::server::Server;
use super::stop;
use super::support::program::Libc;
use super::way::{Tools, Way};
use super::work::{self, Kind, Work};

/// A workload that is ready to run.
struct Job {
    work: Work,
    libc: Libc,
    program: Result<Vec<String>, String>,
    rows: Vec<Row>,
    /// What it printed first.
    output: Option<String>,
}

/// What runs workloads.
pub(crate) struct Bench<'a> {
    args: &'a Args,
    tools: Tools,
    /// How long others had the machine's pools.
    waited: Cell<Duration>,
}

impl Bench<'_> {
    pub(crate) fn new(args: &Args) -> Bench<'_> {
        Bench {
            args,
            tools: prepare::tools(),
            waited: Cell::default(),
        }
    }

    /// How long this waited for others that have the machine's pools.
    pub(crate) fn waited(&self) -> Duration {
        self.waited.get()
    }

    fn take(&self, mib: u64) -> Pool {
        let pool = Pool::take(mib);
        self.waited.set(self.waited.get() + pool.waited);
        pool
    }

    /// The first table.
    pub(crate) fn ways(&self) -> Vec<Block> {
        let wanted = work::ALL.iter().filter(|work| self.args.wants(work.name));
        let libcs = wanted.flat_map(|work| Libc::ALL.map(|libc| (work, libc)));
        let libcs = libcs.filter(|(work, libc)| *libc == Libc::Glibc || work.has_musl());
        let mut jobs: Vec<Job> = libcs.map(|(work, libc)| self.job(work, libc)).collect();
        let ways: Vec<Vec<Way>> = jobs.iter().map(Job::ways).collect();
        let rounds = self.args.rounds();
        // Without --quick the pages are looked at in a round of its own.
        let all = rounds + u32::from(!self.args.quick);
        for turn in turns(all, &ways) {
            if stop::is_asked() {
                break;
            }
            let job = &mut jobs[turn.work];
            progress(&format!(
                "round {} of {all}: {}",
                turn.round + 1,
                job.title(self.args.quick)
            ));
            self.turn(job, &turn.ways, turn.round == rounds);
        }
        jobs.into_iter()
            .map(|job| job.block(self.args.quick))
            .collect()
    }

    fn job(&self, work: &Work, libc: Libc) -> Job {
        let ways = match libc {
            Libc::Glibc => &Way::ALL[..],
            Libc::Musl => &Way::MUSL[..],
        };
        let row = |&way: &Way| Row {
            way,
            result: prepare::missing(way, &self.tools).map_or_else(|| Ok(Figures::default()), Err),
        };
        Job {
            work: *work,
            libc,
            program: prepare::program(work, libc, work.size(self.args.quick)),
            rows: ways.iter().map(row).collect(),
            output: None,
        }
    }

    /// Each way once; `only_look` where the time does not count.
    fn turn(&self, job: &mut Job, ways: &[Way], only_look: bool) {
        let quick = self.args.quick;
        let pool = self.take(job.work.pool_mib(quick));
        for &way in ways {
            let Some(place) = job.rows.iter().position(|row| row.way == way) else {
                continue;
            };
            let Ok(mut cell) = job.rows[place].result.clone() else {
                continue;
            };
            let outcome = pool
                .prepare(way)
                .and_then(|()| self.one(job, way, quick || only_look));
            let outcome = outcome.and_then(|outcome| job.compare(outcome));
            // A run that the signal reached does not count.
            if stop::is_asked() {
                return;
            }
            job.rows[place].result = outcome.map(|outcome| {
                match only_look {
                    true => cell.memory = cell.memory.join(outcome.memory),
                    false => cell.add(&outcome),
                }
                cell
            });
        }
    }

    fn one(&self, job: &Job, way: Way, look: bool) -> Result<Outcome, String> {
        let program = job.program.as_ref().map_err(String::clone)?;
        match job.work.kind {
            Kind::Redis => self.redis(way, look, job.work.size(self.args.quick)),
            _ => super::watch::Watched::start(prepare::command(way, &self.tools, program), look)?
                .finish(),
        }
    }

    /// The server is looked at, the time is the client's.
    fn redis(&self, way: Way, look: bool, thousands: u64) -> Result<Outcome, String> {
        let command = prepare::command(way, &self.tools, &["redis-server".to_owned()]);
        let server = Server::start(command, look)?;
        let (requests, keys) = (
            (thousands * 1000).to_string(),
            (thousands * 400).to_string(),
        );
        let started = Instant::now();
        let mut client = prepare::clean("redis-benchmark");
        client.args([
            "-s",
            server.socket(),
            "-q",
            "-t",
            "set,get",
            "-P",
            "8",
            "-c",
            "20",
        ]);
        let ran = client
            .args(["-d", "1000", "-n", &requests, "-r", &keys])
            .output();
        let seconds = started.elapsed().as_secs_f64();
        let outcome = server.stop()?;
        match ran {
            Ok(output) if output.status.success() => Ok(Outcome { seconds, ..outcome }),
            Ok(output) => Err(format!("redis-benchmark: {}", output.status)),
            Err(error) => Err(format!("redis-benchmark: {error}")),
        }
    }

    /// The second table.
    pub(crate) fn saves(&self) -> Vec<SaveRow> {
        let mut rounds: [Result<Vec<Save>, String>; 4] = [const { Ok(vec![]) }; 4];
        // The last round is for a look at the memory.
        let all = if self.args.quick {
            2
        } else {
            self.args.rounds() + 1
        };
        for round in 0..all {
            if stop::is_asked() {
                break;
            }
            progress(&format!("round {} of {all}: {}", round + 1, work::SAVE));
            let pool = self.take(save::pool_mib(self.args.quick));
            for (pages, saves) in save::ALL.iter().zip(&mut rounds) {
                let Ok(found) = saves else { continue };
                let ran = pool.prepare(pages.way).and_then(|()| {
                    save::run(
                        *pages,
                        &pool,
                        &self.tools,
                        self.args.quick,
                        round + 1 == all,
                    )
                });
                match ran {
                    _ if stop::is_asked() => break,
                    Ok(save) => found.push(save),
                    Err(why) => *saves = Err(why),
                }
            }
        }
        let row = |(pages, saves): (&save::Pages, Result<Vec<Save>, String>)| {
            (pages.name, saves.and_then(|saves| summary(&saves)))
        };
        save::ALL.iter().zip(rounds).map(row).collect()
    }
}

fn summary(saves: &[Save]) -> Result<Save, String> {
    match saves.split_last() {
        Some((looked, rounds)) => Ok(save::summary(rounds, looked)),
        None => Err("stopped before".to_owned()),
    }
}

impl Job {
    fn ways(&self) -> Vec<Way> {
        match self.program {
            Ok(_) => self.rows.iter().map(|row| row.way).collect(),
            Err(_) => vec![],
        }
    }

    fn title(&self, quick: bool) -> String {
        let size = self.work.size(quick);
        match self.work.kind {
            Kind::C(..) => {
                format!("{}, {size} MiB, {:?}", self.work.what, self.libc).to_lowercase()
            }
            _ => format!("{}, {size}", self.work.what),
        }
    }

    /// No way may change what a program prints.
    fn compare(&mut self, outcome: Outcome) -> Result<Outcome, String> {
        let first = self.output.get_or_insert_with(|| outcome.output.clone());
        match *first == outcome.output {
            true => Ok(outcome),
            false => Err(format!(
                "it printed {:?} instead of {first:?}",
                outcome.output
            )),
        }
    }

    fn block(self, quick: bool) -> Block {
        let title = self.title(quick);
        let rows = match self.program {
            Ok(_) => self.rows,
            Err(why) => (self.rows.into_iter())
                .map(|row| Row {
                    result: Err(why.clone()),
                    ..row
                })
                .collect(),
        };
        Block {
            name: self.work.name.to_owned(),
            title,
            rows,
        }
    }
}

/// Says on standard error how far it is.
pub(crate) fn progress(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
