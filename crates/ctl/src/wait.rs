//! `--report`: hugectl stays as the parent of the program, as `time` does. It passes
//! signals on, looks at the program now and then, prints the report at the end, and ends
//! as the program has.
//!
//! The library leaves its report in a page that both share. Where there is none, as after
//! a signal or of a program without the library, the report is the last look.

mod fold;
mod look;
mod output;
mod remaining;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use hugetools_contract::report::{Ended, Life, Met, Origin, Proof};
use hugetools_model::Root;

use crate::sys::clock::wall_clock;
use crate::sys::program::{self, Child, End, Side};
use crate::sys::shared::Shared;
use look::Looks;
use output::Output;

/// Where the report goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// Standard error, of the one process and what it leaves running.
    Terminal {
        /// As JSON.
        json: bool,
        /// Whether warnings are shown.
        warns: bool,
    },
    /// A file, lines of JSON, of all processes.
    File(PathBuf),
}

/// Which of the two processes this is.
#[derive(Debug)]
pub enum Role {
    /// The one that becomes the program.
    Program(Program),
    /// The one that waits for it.
    Parent(Parent),
}

/// The child of hugectl, which becomes the program.
#[derive(Debug)]
pub struct Program {
    page: Shared,
    parent: u32,
    file: OwnedFd,
}

impl Program {
    /// What `HUGETLB_REPORT_WATCH` has behind the number of the program.
    pub fn variable(&self) -> String {
        format!("{}:{}", self.parent, self.file.as_raw_fd())
    }

    /// Tells the parent that there will be no program: there is nothing to report.
    pub fn cancel(&self) {
        self.page.page().unstarted.store(1, Ordering::Release);
    }
}

/// Makes a child that becomes the program.
///
/// # Errors
/// Why nobody can wait for it.
pub fn begin(to: &To, messages: Option<&File>) -> Result<Role, String> {
    let failed = |what: &'static str| move |why: io::Error| format!("{what}: {why}");
    let (page, file) = Shared::new().map_err(failed("memfd_create"))?;
    let output = Output::open(to, messages).map_err(failed("the file of the report"))?;
    let is_alone = matches!(to, To::File(_));
    let parent = std::process::id();
    let warns = matches!(to, To::Terminal { warns: true, .. });
    program::adopt_orphans(!is_alone);
    let side = program::start().inspect_err(|_error| program::adopt_orphans(false));
    Ok(match side.map_err(failed("fork"))? {
        Side::Program => Role::Program(Program { page, parent, file }),
        Side::Parent(child) => Role::Parent(Parent {
            child,
            page,
            output,
            start: wall_clock(),
            is_alone,
            warns,
            _file: file,
        }),
    })
}

/// The parent of the program.
#[derive(Debug)]
pub struct Parent {
    child: Child,
    page: Shared,
    output: Output,
    /// When the program was started, in milliseconds since 1970.
    start: u64,
    /// Whether nothing is said of what the program leaves running.
    is_alone: bool,
    warns: bool,
    /// The libraries open the page by its number.
    _file: OwnedFd,
}

impl Parent {
    /// Waits for the program, reports, and ends as it has: returns its status, unless a
    /// signal has ended it. `lost` says why the report cannot be written.
    pub fn wait(mut self, root: &Root, lost: impl FnOnce(&io::Error)) -> u8 {
        let began = remaining::start(root, self.child.pid());
        let mut looks = Looks::new(root);
        let end = loop {
            if let Some(end) = self.child.next(looks.patience()) {
                break end;
            }
            looks.look(self.child.pid(), self.images());
            self.page.page().set_peak(&looks.peak);
        };
        if self.page.page().unstarted.load(Ordering::Acquire) == 0 {
            let reported = self.report(root, end, &looks, began);
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

    fn report(&mut self, root: &Root, end: End, looks: &Looks<'_>, began: u64) -> io::Result<()> {
        let own = match (end, self.page.text()) {
            (End::Exit(_), text) if !text.is_empty() => text,
            _ => self.last_look(end, looks).into_bytes(),
        };
        self.output.write(&own)?;
        if self.is_alone {
            return Ok(());
        }
        let remaining = remaining::find(root, began);
        for text in remaining::reports(root, &remaining, self.output.json, self.warns) {
            self.output.write(text.as_bytes())?;
        }
        Ok(())
    }

    /// The report of what was seen last.
    fn last_look(&self, end: End, looks: &Looks<'_>) -> String {
        let ended = match end {
            End::Exit(status) => Ended::Exit(Some(status)),
            End::Signal(number) => Ended::Signal {
                number,
                out_of_memory: number == libc::SIGKILL && looks.has_run_out_of_memory(),
            },
        };
        let required: Vec<Met> = self.page.page().demands.get().collect();
        let now = wall_clock();
        let life = Life {
            ended,
            start: self.start,
            end: now,
            seen: looks.last.as_ref().map_or(now, |(_, at)| *at),
            peak: looks.peak,
        };
        let json = self.output.json;
        match &looks.last {
            // Its library has not reached the page, and has reported by itself.
            Some((last, _))
                if matches!(end, End::Exit(_))
                    && looks.images == self.images()
                    && last.has_library()
                    && !last.is_attached() =>
            {
                String::new()
            }
            Some((last, _)) => last.with_life(life, required).to_text(json),
            None => self.unseen(life, &required),
        }
    }

    /// The report of a program that has ended before it was seen.
    fn unseen(&self, life: Life, required: &[Met]) -> String {
        let proof = Proof {
            pid: self.child.pid(),
            exe: b"?",
            name: b"?",
            origin: Origin::default(),
            rows: &[],
            required,
            warning: Some("it could not be looked at before it ended"),
            life: Some(life),
        };
        let mut text = String::new();
        let written = match self.output.json {
            true => proof.write_json(&mut text),
            false => proof.write_table(&mut text),
        };
        debug_assert!(written.is_ok(), "a String takes everything");
        text
    }
}
