//! Runs the workloads.

use std::io::{self, Write};

use super::args::Args;
use super::outcome::{Block, Outcome, Rounds, Row};
use super::plan::turns;
use super::pool::Pool;
use super::support::program::Libc;
use super::watch::Watched;
use super::way::{Tools, Way};
use super::work::{self, Kind, Work};
use super::{prepare, server, stop};

/// A workload that is ready to run.
struct Job {
    work: Work,
    libc: Libc,
    program: Result<Vec<String>, String>,
    rows: Vec<Row>,
    /// The output of the first run.
    output: Option<String>,
}

/// Runs workloads.
pub(crate) struct Bench<'a> {
    args: &'a Args,
    tools: Tools,
}

impl Bench<'_> {
    pub(crate) fn new(args: &Args) -> Bench<'_> {
        Bench {
            args,
            tools: prepare::tools(),
        }
    }

    /// Runs all rounds. Without `--quick` one more round reads smaps, which takes time.
    pub(crate) fn run(&self) -> Vec<Block> {
        let quick = self.args.quick;
        let wanted = work::ALL.iter().filter(|work| self.args.wants(work.name));
        let libcs = wanted.flat_map(|work| Libc::ALL.map(|libc| (work, libc)));
        let libcs = libcs.filter(|(work, libc)| *libc == Libc::Glibc || work.has_musl());
        let mut jobs: Vec<Job> = libcs.map(|(work, libc)| self.job(work, libc)).collect();
        let ways: Vec<Vec<Way>> = jobs.iter().map(Job::ways).collect();
        let rounds = self.args.rounds();
        let all = rounds + u32::from(!quick);
        for turn in turns(all, &ways) {
            if stop::is_requested() {
                break;
            }
            let job = &mut jobs[turn.work];
            let (round, title) = (turn.round + 1, job.title(quick));
            let _ = writeln!(io::stderr(), "round {round} of {all}: {title}");
            self.turn(job, &turn.ways, turn.round == rounds);
        }
        jobs.into_iter().map(|job| job.block(quick)).collect()
    }

    fn job(&self, work: &Work, libc: Libc) -> Job {
        let ways = match libc {
            Libc::Glibc => &Way::ALL[..],
            Libc::Musl => &Way::MUSL[..],
        };
        let row = |&way: &Way| Row {
            way,
            result: prepare::missing(way, &self.tools).map_or_else(|| Ok(Rounds::default()), Err),
        };
        Job {
            work: *work,
            libc,
            program: prepare::program(work, libc, work.size(self.args.quick)),
            rows: ways.iter().map(row).collect(),
            output: None,
        }
    }

    /// Runs each way once. With `only_look` the time does not count.
    fn turn(&self, job: &mut Job, ways: &[Way], only_look: bool) {
        let quick = self.args.quick;
        let pool = Pool::take(job.work.pool_mib(quick));
        for &way in ways {
            let Some(place) = job.rows.iter().position(|row| row.way == way) else {
                continue;
            };
            let Ok(mut rounds) = job.rows[place].result.clone() else {
                continue;
            };
            let outcome = pool
                .prepare(way)
                .and_then(|()| self.one(job, way, quick || only_look));
            let outcome = outcome.and_then(|outcome| job.compare(outcome));
            // A run that was ended by the signal does not count.
            if stop::is_requested() {
                return;
            }
            job.rows[place].result = outcome.map(|outcome| {
                match only_look {
                    true => rounds.memory = rounds.memory.join(outcome.memory),
                    false => rounds.add(&outcome),
                }
                rounds
            });
        }
    }

    fn one(&self, job: &Job, way: Way, look: bool) -> Result<Outcome, String> {
        let program = job.program.as_ref().map_err(String::clone)?;
        let command = prepare::command(way, &self.tools, program);
        match job.work.kind {
            Kind::Redis => server::run(command, look, job.work.size(self.args.quick)),
            _ => Watched::start(command, look)?.finish(),
        }
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
            Kind::C(..) => format!("{}, {size} MiB, {:?}", self.work.what, self.libc),
            _ => format!("{}, {size}", self.work.what),
        }
    }

    /// Every way must print the same.
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
