//! How far a pool has come, on a terminal: pages, pages in a second, time
//! left.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use hugetools_model::Root;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::sys::signal::SigSet;

use crate::effects::Growth;

/// What is done at once needs no bar.
const PATIENCE: Duration = Duration::from_millis(300);

const INTERVAL: Duration = Duration::from_millis(100);

/// A bar, until it is dropped. Only another thread can look while this one
/// makes the pool grow.
#[derive(Debug)]
pub(super) struct Progress {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// A bar, if there is a terminal.
    pub(super) fn begin(root: &Root, growth: &Growth) -> Option<Progress> {
        if !root.is_live() || !io::stderr().is_terminal() {
            return None;
        }
        let (end, ended) = channel();
        let (root, growth) = (root.clone(), growth.clone());
        // Signals are left to this thread, whose call they shall end.
        let all = SigSet::all();
        let blocked = all.thread_block();
        let thread = std::thread::spawn(move || show(&root, &growth, &ended));
        if blocked.is_ok() {
            let _ = all.thread_unblock();
        }
        Some(Progress {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
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
