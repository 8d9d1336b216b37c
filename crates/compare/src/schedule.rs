//! Runs a comparison in rounds. Each round runs the program once in every way, in random order.

use std::time::{Duration, Instant};

use hugetools_model::Root;

use crate::doubt::{busy_load, doubts};
use crate::program::{Failed, Run};
use crate::result::{Comparison, Progress, Value, WayResult};
use crate::run::Runner;
use crate::settings::{Settings, Stop};
use crate::stats::Ratio;
use crate::sys;
use crate::way::Way;

/// Runs the comparison. Calls `progress` after each complete round.
///
/// # Errors
/// A run failed, or could not be started or measured. Its output has no metric or, with
/// `--same-output`, differs from that of the first run.
pub fn compare(
    settings: &Settings,
    root: &Root,
    mut progress: impl FnMut(Progress),
) -> Result<Comparison, Failed> {
    sys::catch_interrupts();
    let mut runner = Runner::new(settings, root);
    let load = busy_load(root);
    let value = Value::choose(settings, load.is_some());
    let mut ways = warm_up(&mut runner, &settings.ways)?;
    let began = Instant::now();
    while !sys::is_interrupted() && !is_over(&settings.stop, &ways, began.elapsed()) {
        let Some(runs) = round(&mut runner, &ways)? else {
            break;
        };
        for (compared, run) in ways.iter_mut().zip(runs) {
            compared.values.push(value.of(&run));
            compared.runs.push(run);
        }
        update_ratios(&mut ways);
        progress(Progress {
            rounds: complete_rounds(&ways),
            width: widest_interval(&ways),
        });
    }
    Ok(Comparison {
        doubts: doubts(load, value, settings, widest_interval(&ways)),
        ways,
        interrupted: sys::is_interrupted(),
        value,
        higher_is_better: settings
            .metric
            .as_ref()
            .is_some_and(|metric| metric.higher_is_better),
    })
}

/// Runs each way once to sample its memory; the time doesn't count. Stops if the user interrupts.
fn warm_up(runner: &mut Runner<'_>, ways: &[Way]) -> Result<Vec<WayResult>, Failed> {
    let mut compared = Vec::new();
    for way in ways {
        if sys::is_interrupted() {
            break;
        }
        let run = runner.run(way, true);
        if sys::is_interrupted() {
            break;
        }
        let run = run?;
        compared.push(WayResult {
            way: way.clone(),
            values: Vec::new(),
            ratio: None,
            runs: Vec::new(),
            memory: run.memory,
            warning: run.warning,
        });
    }
    Ok(compared)
}

/// Runs each way once; `None` if the user interrupts it.
fn round(runner: &mut Runner<'_>, ways: &[WayResult]) -> Result<Option<Vec<Run>>, Failed> {
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
    Ok(Some(runs.into_iter().map(|(_, run)| run).collect()))
}

fn update_ratios(ways: &mut [WayResult]) {
    let Some((plain, others)) = ways.split_first_mut() else {
        return;
    };
    for other in others {
        other.ratio = Ratio::of(&other.values, &plain.values);
    }
}

fn complete_rounds(ways: &[WayResult]) -> u32 {
    let len = ways.first().map_or(0, |way| way.values.len());
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Returns the width of the widest interval; `None` while a way has no ratio.
fn widest_interval(ways: &[WayResult]) -> Option<f64> {
    let ratios = ways
        .iter()
        .skip(1)
        .map(|way| way.ratio.map(|ratio| ratio.width()));
    ratios
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::max)
}

fn is_over(stop: &Stop, ways: &[WayResult], elapsed: Duration) -> bool {
    let rounds = complete_rounds(ways);
    if stop.rounds.is_some_and(|limit| rounds >= limit) {
        return true;
    }
    rounds >= Stop::LEAST
        && (widest_interval(ways).is_some_and(|width| width < stop.within) || elapsed > stop.time)
}
