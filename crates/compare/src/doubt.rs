//! Circumstances that make a result doubtful.

use hugetools_model::{KPath, Root};

use crate::result::Value;
use crate::settings::Settings;

/// Returns the load average of the last minute if other programs use the CPUs.
pub(crate) fn busy_load(root: &Root) -> Option<f64> {
    let text = root.read(&KPath::from("/proc/loadavg")).ok()?;
    let text = String::from_utf8(text).ok()?;
    let load = text.split_whitespace().next()?.parse().ok();
    load.filter(|load| *load > 0.5)
}

/// Returns why the result may mislead. `widest` is the width of the widest interval, if any.
pub(crate) fn doubts(
    load: Option<f64>,
    value: Value,
    settings: &Settings,
    widest: Option<f64>,
) -> Vec<String> {
    let busy = load.map(|load| {
        let compared = match value {
            Value::CpuTime => ", so CPU time is compared",
            _ => "",
        };
        format!("other programs were running (load average {load:.1}){compared}")
    });
    let wide = widest.filter(|widest| *widest >= settings.stop.within);
    let wide = wide.map(|widest| {
        format!(
            "the widest interval is {:.1} % of its ratio, wanted {:.1} %: more rounds or a longer \
             --time narrow it",
            widest * 100.0,
            settings.stop.within * 100.0
        )
    });
    busy.into_iter().chain(wide).collect()
}
