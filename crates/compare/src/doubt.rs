//! Circumstances that make a result doubtful.

use hugetools_model::memory::buddy;
use hugetools_model::{KPath, Root};

use crate::result::Compared;
use crate::settings::Settings;
use crate::sys;

#[derive(Debug, Default)]
pub(crate) struct Doubts {
    pub(crate) lines: Vec<String>,
    /// Whether other programs used the CPUs at the start.
    pub(crate) is_busy: bool,
    ticks: Option<Ticks>,
}

/// CPU time of the machine, in clock ticks.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    steal: u64,
    all: u64,
}

impl Doubts {
    pub(crate) fn begin(root: &Root, settings: &Settings) -> Doubts {
        let mut doubts = Doubts {
            lines: Vec::new(),
            is_busy: false,
            ticks: ticks(root),
        };
        let loadavg = read(root, "/proc/loadavg");
        let busy = loadavg
            .split_whitespace()
            .next()
            .and_then(|word| word.parse::<f64>().ok());
        if let Some(busy) = busy.filter(|busy| *busy > 0.5) {
            doubts.is_busy = true;
            let compared = match (&settings.metric, &settings.server) {
                (None, None) => ", so CPU time is compared",
                _ => "",
            };
            doubts.lines.push(format!(
                "other programs were running (load average {busy:.1}){compared}"
            ));
        }
        let governor = read(
            root,
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        );
        let governor = governor.trim_end();
        if !governor.is_empty() && governor != "performance" {
            doubts.lines.push(format!(
                "the frequency of the CPUs varies: their governor is {governor}"
            ));
        }
        doubts
    }

    pub(crate) fn end(&mut self, root: &Root, settings: &Settings, ways: &[Compared]) {
        if let (Some(before), Some(now)) = (self.ticks, ticks(root)) {
            let (steal, all) = (
                now.steal.saturating_sub(before.steal),
                now.all.saturating_sub(before.all),
            );
            if steal * 100 > all {
                let share = crate::memory::percent(steal, all);
                self.lines.push(format!(
                    "the hypervisor gave {share:.1} % of the CPUs' time to other guests"
                ));
            }
        }
        self.lines.extend(fragmented(root, ways));
        let widths = ways.iter().filter_map(|way| Some(way.ratio?.width()));
        let widest = widths.reduce(f64::max);
        if let Some(widest) = widest.filter(|widest| *widest >= settings.stop.within) {
            self.lines.push(format!(
                "the widest interval is {:.1} % of its ratio, wanted {:.1} %: more rounds or a \
                 longer --time narrow it",
                widest * 100.0,
                settings.stop.within * 100.0
            ));
        }
    }
}

/// Returns a doubt if less memory is free as whole huge pages than the program had at its peak.
fn fragmented(root: &Root, ways: &[Compared]) -> Option<String> {
    let size = read(root, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    let size: u64 = size.trim_end().parse().ok()?;
    let order = (size / sys::page_size()).checked_ilog2()?;
    let blocks = buddy::read(root).ok()??;
    let order = usize::try_from(order).ok()?;
    let free: u64 = blocks.iter().map(|zone| zone.of_order(order)).sum();
    let (free, peak) = (free * size, ways.iter().map(|way| way.memory.peak).max()?);
    (free < peak).then(|| {
        format!(
            "memory is fragmented: at the end {} MB were free as huge pages, and the program \
             had up to {} MB",
            free >> 20,
            peak >> 20
        )
    })
}

fn ticks(root: &Root) -> Option<Ticks> {
    let text = read(root, "/proc/stat");
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_whitespace().flat_map(str::parse).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user.
    let all = fields.iter().take(8).sum();
    Some(Ticks {
        steal: *fields.get(7)?,
        all,
    })
}

fn read(root: &Root, path: &'static str) -> String {
    let text = root.read(&KPath::from(path)).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}
