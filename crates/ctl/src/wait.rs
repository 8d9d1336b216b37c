//! `--report`: hugectl stays as the parent of the program, as `time` does. It passes signals on,
//! samples the program's memory, prints the report, and ends as the program did.
//!
//! The library leaves its report in a shared page. If the page is empty, as without the library, or
//! a signal killed the program, hugectl reports the last sample, unless the library has printed a
//! report.

mod output;
mod remaining;
mod sample;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use hugetools_contract::report::{Ended, Life, Met, Proof};
use hugetools_model::Root;
use nix::sys::signal::Signal;

use crate::status::render;
use crate::sys::clock::unix_ms;
use crate::sys::program::{self, Child, End};
use crate::sys::report_page::ReportPage;
use output::Output;
use sample::Samples;

/// The destination of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportDestination {
    /// Where messages go: reports of the program and of the daemons that it leaves running.
    Terminal {
        /// As JSON.
        json: bool,
    },
    /// A file with a line of JSON for each process.
    File(PathBuf),
}

/// Wraps a table at the width of standard error, if that is a terminal.
pub type Wrap = fn(&str) -> String;

/// One side of the fork.
#[derive(Debug)]
pub enum Role {
    /// The child, which executes the program.
    Program(Program),
    /// The parent, which waits for it.
    Parent(Parent),
}

/// The child, which executes the program.
#[derive(Debug)]
pub struct Program {
    page: ReportPage,
    parent: u32,
    file: OwnedFd,
}

impl Program {
    /// Returns the part of `HUGETLB_REPORT_WATCH` after the process ID.
    pub fn variable(&self) -> String {
        format!("{}:{}", self.parent, self.file.as_raw_fd())
    }

    /// Tells the parent that the program didn't start: there is nothing to report.
    pub fn cancel(&self) {
        self.page.page().unstarted.store(1, Ordering::Release);
    }
}

/// Forks a child that executes the program.
///
/// # Errors
/// hugectl cannot wait for the program.
pub fn begin(to: &ReportDestination, messages: Option<&File>) -> Result<Role, String> {
    let failed = |what: &'static str| move |why: io::Error| format!("{what}: {why}");
    let (page, file) = ReportPage::new().map_err(failed("memfd_create"))?;
    let output = Output::open(to, messages).map_err(failed("the report's destination"))?;
    let parent = std::process::id();
    program::adopt_orphans(matches!(to, ReportDestination::Terminal { .. }));
    let side = program::start().inspect_err(|_error| program::adopt_orphans(false));
    Ok(match side.map_err(failed("fork"))? {
        None => Role::Program(Program { page, parent, file }),
        Some(child) => Role::Parent(Parent {
            child,
            page,
            output,
            start: unix_ms(),
            to: to.clone(),
            _file: file,
        }),
    })
}

/// The parent of the program.
#[derive(Debug)]
pub struct Parent {
    child: Child,
    page: ReportPage,
    output: Output,
    /// When the program began, in milliseconds since 1970.
    start: u64,
    to: ReportDestination,
    /// The libraries open the page through this descriptor.
    _file: OwnedFd,
}

impl Parent {
    /// Waits for the program and reports. Returns its status, or ends by the signal that
    /// killed it. Calls `lost` if the report cannot be written.
    pub fn wait(mut self, root: &Root, wrap: Wrap, lost: impl FnOnce(&io::Error)) -> u8 {
        let began = remaining::start(root, self.child.pid());
        let mut samples = Samples::new(root);
        let end = loop {
            if let Some(end) = self.child.next(samples.timeout()) {
                break end;
            }
            samples.take(self.child.pid(), self.images());
            self.page.page().set_peak(&samples.peak);
        };
        if self.page.page().unstarted.load(Ordering::Acquire) == 0 {
            let reported = self.report(root, end, &samples, began, wrap);
            reported.unwrap_or_else(|why| lost(&why));
        }
        match end {
            End::Exit(status) => u8::try_from(status).unwrap_or(u8::MAX),
            End::Signal(signal) => program::end_by(signal),
        }
    }

    fn images(&self) -> u32 {
        self.page.page().images.load(Ordering::Acquire)
    }

    fn report(
        &mut self,
        root: &Root,
        end: End,
        samples: &Samples<'_>,
        began: u64,
        wrap: Wrap,
    ) -> io::Result<()> {
        let own = match (end, self.page.text()) {
            (End::Exit(_), text) if !text.is_empty() => text,
            _ => self.last_sample(end, samples).into_bytes(),
        };
        self.output.write(&own, wrap)?;
        // A file has the reports of all processes.
        let ReportDestination::Terminal { json } = self.to else {
            return Ok(());
        };
        let remaining = remaining::find(root, began);
        for text in remaining::reports(root, &remaining, json) {
            self.output.write(text.as_bytes(), wrap)?;
        }
        Ok(())
    }

    fn last_sample(&self, end: End, samples: &Samples<'_>) -> String {
        let ended = match end {
            End::Exit(status) => Ended::Exit(Some(status)),
            End::Signal(number) => Ended::Signal {
                number,
                name: Signal::try_from(number).ok().map(Signal::as_str),
                out_of_memory: number == libc::SIGKILL && samples.has_run_out_of_memory(),
            },
        };
        let required: Vec<Met> = self.page.page().demands.get().collect();
        let now = unix_ms();
        let life = Life {
            ended,
            start: self.start,
            end: now,
            seen: samples.last.as_ref().map_or(now, |(_, at)| *at),
            peak: samples.peak,
        };
        let Some((last, _)) = &samples.last else {
            let proof = Proof {
                pid: self.child.pid(),
                required: &required,
                warning: Some(
                    "its memory was never seen: it ended at once or may not be inspected",
                ),
                life: Some(life),
                ..Proof::UNKNOWN
            };
            return render(&proof, self.output.json);
        };
        let is_current = samples.images == self.images();
        match end {
            // Its library could not map the page and has printed the report.
            End::Exit(_) if is_current && last.reports_by_itself() => String::new(),
            _ => last.text(self.output.json, Some(life), &required),
        }
    }
}
