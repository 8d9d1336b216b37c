//! What makes a result doubtful.

use hugetools_model::{KPath, Root};

use crate::result::Compared;
use crate::settings::Settings;

/// The doubts.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    pub(crate) lines: Vec<String>,
    /// Whether other programs used the CPUs at the start.
    pub(crate) is_busy: bool,
}

impl Doubts {
    pub(crate) fn begin(root: &Root, settings: &Settings) -> Doubts {
        let mut doubts = Doubts::default();
        let loadavg = read(root, "/proc/loadavg");
        let busy = loadavg
            .split_whitespace()
            .next()
            .and_then(|word| word.parse::<f64>().ok());
        if let Some(busy) = busy.filter(|busy| *busy > 0.5) {
            doubts.is_busy = true;
            let compared = match (&settings.metric, &settings.server) {
                (None, None) => ", so the time of the CPUs is compared",
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

    pub(crate) fn end(&mut self, settings: &Settings, ways: &[Compared]) {
        let widths = ways.iter().filter_map(|way| Some(way.ratio?.width()));
        let widest = widths.reduce(f64::max);
        if let Some(widest) = widest.filter(|widest| *widest >= settings.stop.within) {
            self.lines.push(format!(
                "the widest interval has {:.1} %, not {:.1} %: a longer --time narrows it",
                widest * 100.0,
                settings.stop.within * 100.0
            ));
        }
    }
}

fn read(root: &Root, path: &'static str) -> String {
    let text = root.read(&KPath::from(path)).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}
