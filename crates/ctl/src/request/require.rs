//! `--require`: what must be on huge pages, and what goes together with it.

use hugetools_contract::env::{Fallback, Pages, Require, Wrong};
use hugetools_contract::segment::Segment;

use super::{HeapEngine, Preload, Run, usage};
use crate::say::failure::Failure;

/// Reads the list.
pub(super) fn require(list: &str) -> Result<Require, Failure> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Require::read(list.as_bytes()).or_else(|wrong| {
        let why = match wrong {
            Wrong::Segment(name) => format!(
                "there is no segment {:?}: there are text, data, bss, heap, shm, anon \
                 and stack",
                text(name)
            ),
            Wrong::Percent(percent) => format!(
                "{:?} is no percentage: it is a whole number from 1 to 100",
                text(percent)
            ),
            Wrong::Twice(segment) => format!("{} is named twice", segment.name()),
        };
        usage(format!("--require={list}: {why}"))
    })
}

/// What is required is asked for.
pub(super) fn imply(run: &mut Run) {
    let is_required = |segment| run.require.has(segment);
    let (text, heap, shm) = (
        is_required(Segment::Text),
        is_required(Segment::Heap),
        is_required(Segment::Shm),
    );
    let (data, bss) = (is_required(Segment::Data), is_required(Segment::Bss));
    let asked = |pages: &mut Option<Pages>, is_required: bool| {
        if is_required {
            pages.get_or_insert(Pages::Default);
        }
    };
    let has_data = run.segments.writable().is_some();
    asked(&mut run.segments.text, text);
    asked(&mut run.segments.data, data && !has_data);
    asked(&mut run.segments.bss, bss && !data && !has_data);
    asked(&mut run.heap, heap);
    asked(&mut run.shm, shm);
    asked(&mut run.anon, is_required(Segment::Anon));
    asked(&mut run.stack, is_required(Segment::Stack));
}

/// What contradicts a requirement.
pub(super) fn check(run: &Run) -> Result<(), Failure> {
    let require = &run.require;
    if !require.is_any() {
        return Ok(());
    }
    if run.preload == Preload::Never {
        return usage(
            "--require and --no-preload: it is the library that sees to what is required",
        );
    }
    let of_file = [Segment::Text, Segment::Data, Segment::Bss];
    let of_file = of_file.into_iter().find(|segment| require.has(*segment));
    if let Some(segment) = of_file.filter(|_| run.segments.off) {
        return usage(format!(
            "--require={0} and --disable: {0} is to stay where it is",
            segment.name()
        ));
    }
    only_thp(run)?;
    if require.has(Segment::Heap) && run.engine == Some(HeapEngine::Libc) {
        return usage(
            "--require=heap and --heap-engine=libc: the program's own malloc takes other pages \
             without a word",
        );
    }
    Ok(())
}

/// Private mappings and stacks are on transparent huge pages, or on base pages.
fn only_thp(run: &Run) -> Result<(), Failure> {
    for (segment, asked) in [(Segment::Anon, run.anon), (Segment::Stack, run.stack)] {
        if !run.require.has(segment) {
            continue;
        }
        let name = segment.name();
        if let Some(Pages::Size(_)) = asked {
            return usage(format!(
                "--require={name} and --{name} with a size: such memory is never on pages of a \
                 pool, only on transparent huge pages (--{name})"
            ));
        }
        if run.fallback == Some(Fallback::Base) {
            return usage(format!(
                "--require={name} and --fallback=base: such memory is on transparent huge pages, \
                 or on base pages"
            ));
        }
    }
    Ok(())
}
