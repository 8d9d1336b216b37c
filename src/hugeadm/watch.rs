//! `--stats --watch`: prints the counters repeatedly.

use std::time::Duration;

use hugetools_admin::document::Document;
use hugetools_admin::report::Status;
use hugetools_admin::stats::{Snapshot, Stats, stats, text};
use hugetools_model::{Head, Root};

use super::show::not_looked_at;
use super::{LOG, print_json, unwritable};
use crate::log::Log;
use crate::repeat::{End, repeat};

/// A watch and its last counters.
pub(super) struct Watch {
    root: Root,
    log: Log,
    json: bool,
    /// A warning about an invalid variable.
    warning: Option<String>,
    last: Option<Snapshot>,
}

impl Watch {
    pub(super) fn new(root: Root, log: Log, json: bool, warning: Option<String>) -> Watch {
        if !json {
            warning.iter().for_each(|text| LOG.warning(text));
        }
        Watch {
            root,
            log,
            json,
            warning,
            last: None,
        }
    }

    /// Runs until a signal ends it or the reader of its output is gone.
    pub(super) fn run(mut self, time: Duration) -> Status {
        let (log, json) = (self.log, self.json);
        match repeat(time, json, || self.look()) {
            End::Unread => Status::Done,
            End::Failed(why, _) => {
                let status = Status::Failed;
                if !json {
                    log.error(&why);
                    return status;
                }
                let head = Head::failed("hugeadm", status.code(), &why);
                status.max(print_json(&log, &head))
            }
            End::Unwritten(error) => unwritable(&log, &error),
        }
    }

    fn look(&mut self) -> Result<String, String> {
        let seen = Snapshot::read(&self.root).map_err(|why| why.to_string())?;
        let now = stats(&seen, self.last.as_ref());
        let text = match self.json {
            true => self.document(&seen, now)?,
            false => text(&now),
        };
        // Warn about unreadable files only once.
        if self.last.is_none() && !self.json {
            for why in &seen.unread {
                self.log.warning(&not_looked_at(why));
            }
        }
        self.last = Some(seen);
        Ok(text)
    }

    fn document(&self, seen: &Snapshot, now: Stats) -> Result<String, String> {
        let mut document = Document::new(false);
        document.head.warnings.extend(self.warning.clone());
        let unread = seen.unread.iter().map(|why| not_looked_at(why));
        document.head.warnings.extend(unread);
        document.stats = Some(now);
        let json = serde_json::to_string(&document).map_err(|why| why.to_string())?;
        Ok(json + "\n")
    }
}
