//! `--require`: memory that must be on huge pages.

use hugetools_contract::env::{Fallback, Pages, Require, RequireError};
use hugetools_contract::segment::Segment;

use super::{Preload, Run, usage};
use crate::say::failure::Failure;

pub(super) fn parse(list: Option<&str>) -> Result<Require, Failure> {
    let Some(list) = list else {
        return Ok(Require::default());
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Require::read(list.as_bytes()).or_else(|wrong| {
        let why = match wrong {
            RequireError::Segment(name) => format!(
                "no such segment {:?}; valid are text, data, bss, heap, shm, anon and stack",
                text(name)
            ),
            RequireError::Percent(percent) => format!(
                "{:?} is not a percentage (a whole number from 1 to 100)",
                text(percent)
            ),
            RequireError::Twice(segment) => format!("{} is named twice", segment.name()),
        };
        usage(format!("--require={list}: {why}"))
    })
}

/// Requests default pages for each required segment that no option requests.
pub(super) fn imply(run: &mut Run) {
    let has_data = run.segments.writable().is_some();
    let require = run.require;
    let data = require.has(Segment::Data) && !has_data;
    let bss = require.has(Segment::Bss) && !has_data && !data;
    for (is_required, pages) in [
        (require.has(Segment::Text), &mut run.segments.text),
        (data, &mut run.segments.data),
        (bss, &mut run.segments.bss),
        (require.has(Segment::Heap), &mut run.heap),
        (require.has(Segment::Shm), &mut run.shm),
        (require.has(Segment::Anon), &mut run.anon),
        (require.has(Segment::Stack), &mut run.stack),
    ] {
        if is_required {
            pages.get_or_insert(Pages::Default);
        }
    }
}

/// Checks for options that contradict a requirement.
pub(super) fn check(run: &Run) -> Result<(), Failure> {
    let require = &run.require;
    if !require.is_any() {
        return Ok(());
    }
    if run.preload == Preload::Never {
        return usage("--require needs the library, which --no-preload leaves out");
    }
    let of_file = [Segment::Text, Segment::Data, Segment::Bss];
    let of_file = of_file.into_iter().find(|segment| require.has(*segment));
    if let Some(segment) = of_file.filter(|_| run.segments.off) {
        return usage(format!(
            "--require={0} and --disable: one or the other",
            segment.name()
        ));
    }
    if require.has(Segment::Heap) && run.wants_libc() {
        return usage(
            "--require=heap and --heap-engine=libc: the program's own malloc falls back silently",
        );
    }
    for (segment, asked) in [(Segment::Anon, run.anon), (Segment::Stack, run.stack)] {
        let name = segment.name();
        if require.has(segment) && matches!(asked, Some(Pages::Size(_))) {
            return usage(format!(
                "--require={name}: --{name} never uses pool pages, so write it without a size"
            ));
        }
        if require.has(segment) && run.fallback == Some(Fallback::Base) {
            return usage(format!(
                "--require={name} and --fallback=base: --{name} uses transparent huge pages only"
            ));
        }
    }
    Ok(())
}
