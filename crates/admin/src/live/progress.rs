//! A progress bar for a growing pool: pages, pages per second, time left.

use std::fmt;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::effects::Growth;

/// Delay before the bar appears, so that fast changes show none.
const DELAY: Duration = Duration::from_millis(300);

/// A bar, removed on drop.
#[derive(Debug)]
pub(super) struct Progress {
    begin: Instant,
    from: u64,
    bar: ProgressBar,
}

impl Progress {
    /// Shows a bar if stderr is a terminal.
    pub(super) fn begin(growth: &Growth) -> Option<Progress> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let pages = growth.to.saturating_sub(growth.from);
        let bar = ProgressBar::with_draw_target(Some(pages), ProgressDrawTarget::hidden());
        // Only new pages count for the rate.
        let (from, to) = (growth.from, growth.to);
        let template = "{prefix} [{bar:30}] {at} of {to} pages, {rate}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            let style =
                style.with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
                    let _ = write!(out, "{:.0} a second", state.per_sec());
                });
            let style = style.with_key(
                "at",
                move |state: &ProgressState, out: &mut dyn fmt::Write| {
                    let _ = write!(out, "{}", from.saturating_add(state.pos()));
                },
            );
            let style = style.with_key("to", move |_: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = write!(out, "{to}");
            });
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(growth.size.to_string());
        Some(Progress {
            begin: Instant::now(),
            from: growth.from,
            bar,
        })
    }

    pub(super) fn at(&self, pages: u64) {
        if self.bar.is_hidden() && self.begin.elapsed() > DELAY {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(pages.saturating_sub(self.from));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
