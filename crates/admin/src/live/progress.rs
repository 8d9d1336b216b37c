//! How far a pool has come, on a terminal: pages, pages in a second, time
//! left.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use hugetools_model::Root;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::sys::signal::SigSet;

use crate::effects::Growth;

/// What is done at once needs no bar.
const PATIENCE: Duration = Duration::from_millis(300);

const INTERVAL: Duration = Duration::from_millis(100);

/// Runs a write that takes its time. Only another thread can look meanwhile;
/// signals are left to this one, whose write they shall end.
pub(super) fn watch(root: &Root, growth: &Growth, write: &mut dyn FnMut()) {
    if !root.is_live() || !io::stderr().is_terminal() {
        return write();
    }
    let (end, ended) = channel::<()>();
    std::thread::scope(|scope| {
        let all = SigSet::all();
        let blocked = all.thread_block();
        scope.spawn(move || show(root, growth, &ended));
        if blocked.is_ok() {
            let _ = all.thread_unblock();
        }
        write();
        drop(end);
    });
}

fn show(root: &Root, growth: &Growth, ended: &Receiver<()>) {
    if ended.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let pages = growth.to.saturating_sub(growth.from);
    let bar = ProgressBar::with_draw_target(Some(pages), ProgressDrawTarget::stderr());
    let template = "{prefix} [{bar:30}] {pos} of {len} pages, {per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(growth.size.to_string());
    loop {
        if let Ok(now) = root.number(&growth.file.path) {
            bar.set_position(now.saturating_sub(growth.from).min(pages));
        }
        if ended.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    bar.finish_and_clear();
}
