//! Commands that grow a pool: the attempts of [`crate::apply`] in the same order.

use hugetools_model::{KPath, Root};

use super::{number, quote};
use crate::step::Effort;

pub(crate) const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// hugeadm gives up after this many attempts in a row without new pages, but not before
/// [`Effort::time`] has passed.
pub(crate) const TRIES: u32 = 5;

/// Seconds between attempts.
pub(crate) const PAUSE: u64 = 2;

/// Returns the write, and the retries if it falls short.
pub(super) fn lines(
    write: &str,
    path: &KPath,
    asked: &str,
    effort: &Effort,
    root: &Root,
) -> String {
    let now = number(path, root);
    let short = format!("[ \"{now}\" -lt {asked} ]");
    let compact = trigger(&effort.compact, root);
    let mut lines = vec![
        write.to_owned(),
        format!("! {short} || {{ {compact}; {write}; }}"),
    ];
    if effort.hard {
        let drop = trigger(&KPath::from(DROP_CACHES), root);
        lines.push(format!(
            "! {short} || {{ sync; {drop}; {compact}; {write}; }}"
        ));
    }
    if effort.hard || !effort.time.is_zero() {
        let wait = effort.time.as_secs();
        lines.push(format!("had={now} left={TRIES} wait={wait}"));
        lines.push(format!(
            "while {short} && {{ [ $left -gt 0 ] || [ $wait -gt 0 ]; }}; do"
        ));
        lines.push(format!(
            "  sleep {PAUSE}; wait=$((wait - {PAUSE})); {compact}; {write}; now={now}"
        ));
        lines.push(format!(
            "  [ $now -gt $had ] && left={TRIES} || left=$((left - 1))"
        ));
        lines.push("  had=$now".to_owned());
        lines.push("done".to_owned());
    }
    lines.join("\n")
}

/// Writes 1 to a file that frees or compacts memory, if the kernel has it.
fn trigger(path: &KPath, root: &Root) -> String {
    let path = quote(root, path.as_str());
    format!("[ ! -w {path} ] || echo 1 > {path}")
}
