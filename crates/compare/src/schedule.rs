//! The rounds: in each, all ways in random order.

use std::time::{Duration, Instant};

use hugetools_model::Root;

use crate::doubt::Doubts;
use crate::memory::Memory;
use crate::run::{Failed, Run, Runner};
use crate::settings::{Settings, Stop};
use crate::stats::{self, Ratio};
use crate::sys;
use crate::walks::{Counters, Walks};
use crate::way::Way;

/// How far a comparison is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Complete rounds.
    pub rounds: u32,
    /// The widest interval; `None` before there are five rounds.
    pub width: Option<f64>,
    /// The part that is done, from 0 to 1.
    pub done: f64,
}

/// The result.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The ways, in the order of the request.
    pub ways: Vec<Compared>,
    /// Why the result may mislead.
    pub doubts: Vec<String>,
    /// Why page walks were not counted.
    pub no_walks: Option<String>,
    /// Whether the user ended it.
    pub interrupted: bool,
    /// What is compared.
    pub value: Value,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Seconds from start to end.
    WallTime,
    /// Seconds of the CPUs, on a machine with other load.
    CpuTime,
    /// The program's own figure.
    Metric,
}

impl Value {
    /// Wall time on an idle machine only: beside others it says more about them.
    fn choose(settings: &Settings, is_busy: bool) -> Value {
        match (&settings.metric, &settings.server) {
            (Some(_), _) => Value::Metric,
            (None, None) if is_busy => Value::CpuTime,
            _ => Value::WallTime,
        }
    }

    fn of(self, run: &Run) -> f64 {
        match self {
            Value::WallTime => run.seconds,
            Value::CpuTime => (run.usage.user + run.usage.system).as_secs_f64(),
            Value::Metric => run.metric.unwrap_or(0.0),
        }
    }
}

/// A way and its runs.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The way.
    pub way: Way,
    /// The compared values, one a round.
    pub values: Vec<f64>,
    /// The ratio to plain; `None` for plain itself and for too few rounds.
    pub ratio: Option<Ratio>,
    pub(crate) runs: Vec<Run>,
    pub(crate) memory: Memory,
}

impl Compared {
    /// Means over the rounds.
    pub(crate) fn mean(&self, of: impl Fn(&Run) -> f64) -> f64 {
        stats::mean(&self.runs.iter().map(of).collect::<Vec<f64>>())
    }

    /// Medians of the page walks.
    pub(crate) fn walks(&self) -> Walks {
        let sum = |of: fn(&Walks) -> u64| {
            let all: u64 = self.runs.iter().map(|run| of(&run.walks)).sum();
            all / (self.runs.len() as u64).max(1)
        };
        Walks {
            data: sum(|walks| walks.data),
            instructions: sum(|walks| walks.instructions),
        }
    }
}

/// Runs the comparison. Calls `progress` after each run.
///
/// # Errors
/// A program that failed, or printed something else with `--same-output`.
pub fn compare(
    settings: &Settings,
    root: &Root,
    mut progress: impl FnMut(Progress),
) -> Result<Comparison, Failed> {
    sys::catch_interrupts();
    let (counters, no_walks) = match Counters::open() {
        Ok(counters) => (Some(counters), None),
        Err(why) => (None, Some(why)),
    };
    let mut runner = Runner {
        settings,
        root,
        counters,
    };
    let mut doubts = Doubts::begin(root, settings);
    let value = Value::choose(settings, doubts.is_busy);
    let mut ways = warm_up(&mut runner, &mut progress)?;
    let began = Instant::now();
    let mut clock = Clock::default();
    while !sys::is_interrupted() && !is_over(&settings.stop, &ways, &clock, began.elapsed()) {
        let Some(runs) = round(&mut runner, &ways)? else {
            break;
        };
        for (compared, run) in ways.iter_mut().zip(runs) {
            compared.values.push(value.of(&run));
            compared.runs.push(run);
        }
        rate(&mut ways);
        clock.longest = clock
            .longest
            .max(began.elapsed().saturating_sub(clock.last));
        clock.last = began.elapsed();
        progress(state(&settings.stop, &ways, began.elapsed()));
    }
    doubts.end(root, settings, &ways);
    Ok(Comparison {
        ways,
        doubts: doubts.lines,
        no_walks,
        interrupted: sys::is_interrupted(),
        value,
        higher_is_better: settings
            .metric
            .as_ref()
            .is_some_and(|metric| metric.higher_is_better),
    })
}

/// When rounds ended.
#[derive(Debug, Default)]
struct Clock {
    last: Duration,
    longest: Duration,
}

fn warm_up(
    runner: &mut Runner<'_>,
    progress: &mut impl FnMut(Progress),
) -> Result<Vec<Compared>, Failed> {
    let mut ways: Vec<Compared> = Vec::new();
    let mut expected = None;
    for way in &runner.settings.ways {
        if sys::is_interrupted() {
            break;
        }
        let run = runner.run(way, true);
        if sys::is_interrupted() {
            break;
        }
        let run = run?;
        check(way, &run, &mut expected)?;
        ways.push(Compared {
            way: way.clone(),
            values: Vec::new(),
            ratio: None,
            runs: Vec::new(),
            memory: run.memory,
        });
        progress(state(&runner.settings.stop, &[], Duration::ZERO));
    }
    Ok(ways)
}

/// Runs all ways once; `None` if the user interrupts it.
fn round(runner: &mut Runner<'_>, ways: &[Compared]) -> Result<Option<Vec<Run>>, Failed> {
    let mut order: Vec<usize> = (0..ways.len()).collect();
    fastrand::shuffle(&mut order);
    let mut runs: Vec<(usize, Run)> = Vec::new();
    for at in order {
        let run = runner.run(&ways[at].way, false);
        if sys::is_interrupted() {
            return Ok(None);
        }
        runs.push((at, run?));
    }
    runs.sort_by_key(|(at, _)| *at);
    let runs: Vec<Run> = runs.into_iter().map(|(_, run)| run).collect();
    let mut expected = None;
    for (compared, run) in ways.iter().zip(&runs) {
        check(&compared.way, run, &mut expected)?;
    }
    Ok(Some(runs))
}

/// Whether the output equals that of plain.
fn check(way: &Way, run: &Run, expected: &mut Option<Vec<u8>>) -> Result<(), Failed> {
    let Some(output) = &run.output else {
        return Ok(());
    };
    match expected {
        None => *expected = Some(output.clone()),
        Some(expected) if expected == output => {}
        Some(_) => {
            let why = "its output differs from that of plain".to_owned();
            let text = String::from_utf8_lossy(output).into_owned();
            return Err(crate::run::failed(way, 125, why, text));
        }
    }
    Ok(())
}

fn rate(ways: &mut [Compared]) {
    let Some((plain, others)) = ways.split_first_mut() else {
        return;
    };
    for other in others {
        other.ratio = Ratio::of(&other.values, &plain.values);
    }
}

fn rounds(ways: &[Compared]) -> u32 {
    let len = ways.first().map_or(0, |way| way.values.len());
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn width(ways: &[Compared]) -> Option<f64> {
    let ratios = ways
        .iter()
        .skip(1)
        .map(|way| way.ratio.map(|ratio| ratio.width()));
    ratios
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::max)
}

fn is_over(stop: &Stop, ways: &[Compared], clock: &Clock, elapsed: Duration) -> bool {
    let rounds = rounds(ways);
    if stop.rounds.is_some_and(|most| rounds >= most.max(1)) {
        return true;
    }
    rounds >= Stop::LEAST
        && (width(ways).is_some_and(|width| width < stop.within)
            || elapsed + clock.longest > stop.time)
}

fn state(stop: &Stop, ways: &[Compared], elapsed: Duration) -> Progress {
    let rounds = rounds(ways);
    let by_time = elapsed.as_secs_f64() / stop.time.as_secs_f64();
    let by_rounds = stop
        .rounds
        .map_or(0.0, |most| f64::from(rounds) / f64::from(most));
    // The width shrinks with the root of the number of rounds.
    let by_width = width(ways).map_or(0.0, |width| (stop.within / width.max(1e-9)).powi(2));
    Progress {
        rounds,
        width: width(ways),
        done: by_time.max(by_rounds).max(by_width).min(1.0),
    }
}
