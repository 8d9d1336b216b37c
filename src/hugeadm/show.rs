//! The listings of a run.

use std::path::Path;

use hugetools_admin::advice;
use hugetools_admin::advice::overview::overview;
use hugetools_admin::advice::text::explain;
use hugetools_admin::args::PoolList;
use hugetools_admin::bug_report::{self, BugReport};
use hugetools_admin::document::PoolEntry;
use hugetools_admin::listing::who;
use hugetools_admin::live::{self, accessible};
use hugetools_admin::report::Status;
use hugetools_admin::stats::metrics::{self, Sources};
use hugetools_admin::{listing, stats};
use hugetools_contract::level::Level;
use hugetools_model::hugetlb::node;
use hugetools_model::hugetlb::pool::{self, Pool};
use hugetools_model::machine::NONE_OFFERED;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::mount::{self, Mount};
use hugetools_model::process::cgroup;
use hugetools_model::{FileError, Machine, PageSize};

use super::run::Run;

impl Run {
    pub(super) fn list_before(&mut self) -> Result<(), FileError> {
        let show = self.args.show.clone();
        if show.list_all_mounts {
            let rows: Vec<_> = self.mounts()?.iter().map(Into::into).collect();
            if rows.is_empty() {
                self.say(Level::Warning, NO_MOUNTS);
            }
            self.out(&listing::mount_list(&rows));
            self.document.mounts = Some(rows);
        }
        if let Some(form) = show.pool_list {
            let rows: Vec<_> = self.pools()?.iter().map(Into::into).collect();
            if rows.is_empty() {
                self.say(Level::Warning, NONE_OFFERED);
            }
            match form {
                PoolList::Classic => self.out(&listing::pool_list(&rows)),
                PoolList::Long => self.show(&listing::long_pool_list(&rows)),
            }
            self.document.pools = Some(rows.into_iter().map(PoolEntry::Listed).collect());
        }
        if show.pool_list_nodes {
            let rows = listing::node_rows(&node::read(&self.root)?);
            if rows.is_empty() {
                self.say(Level::Warning, "no memory node has a pool");
            }
            self.out(&listing::node_list(&rows));
            self.document.nodes = Some(rows);
        }
        Ok(())
    }

    pub(super) fn list_after(&mut self) -> Result<(), FileError> {
        let show = self.args.show.clone();
        if self.is_idle {
            let machine = Machine::read(&self.root)?;
            self.show(&overview(&machine, &advice::findings(&machine)));
            // As in libhugetlbfs: a script that lost its options must fail.
            self.note_status(Status::Usage);
        }
        self.list_sizes(show.page_sizes, show.page_sizes_all)?;
        self.show_file()?;
        if show.who {
            let seen = live::who::scan(&self.root)?;
            let accounts = who::account(&seen);
            self.show(&who::text(&accounts));
            self.warn_unread(&seen.unread);
            let entries = accounts.into_iter().map(PoolEntry::Held);
            self.document.pools = Some(entries.collect());
        }
        if show.stats {
            let seen = stats::Snapshot::read(&self.root)?;
            let now = stats::stats(&seen);
            self.show(&stats::text(&now));
            self.warn_unread(&seen.unread);
            self.document.stats = Some(now);
        }
        if show.explain {
            let machine = Machine::read(&self.root)?;
            let findings = advice::findings(&machine);
            let facts = advice::facts(&machine);
            self.show(&explain(&machine, &self.usable_sizes()?, &findings, &facts));
            self.document.findings = Some(findings);
            self.document.facts = Some(facts);
        }
        if let Some(what) = &show.size_for {
            self.size_for(what)?;
        }
        if show.metrics {
            let output = show.output.filter(|_| !self.args.general.dry_run);
            self.metrics(output.as_deref())?;
        }
        if show.bug_report {
            let report = BugReport::read(&self.root);
            self.out(&bug_report::text(&report));
            self.document.bug_report = Some(report);
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "the environment is read here")]
    fn size_for(&mut self, what: &str) -> Result<(), FileError> {
        let path = std::env::var_os("PATH");
        let Some(size) = Meminfo::read(&self.root)?.huge_page_size else {
            self.fail(NONE_OFFERED);
            return Ok(());
        };
        match live::size_for::size_for(&self.root, what, size, path.as_deref()) {
            Ok(found) => {
                self.show(&found.text());
                self.document.size_for = Some(found);
            }
            Err(why) => self.fail(&format!("--size-for {what}: {why}")),
        }
        Ok(())
    }

    fn metrics(&mut self, output: Option<&Path>) -> Result<(), FileError> {
        let machine = Machine::read(&self.root)?;
        let seen = stats::Snapshot::read(&self.root)?;
        let sizes: Vec<_> = machine.pools.iter().map(|pool| pool.size).collect();
        let sources = Sources {
            machine: &machine,
            seen: &seen,
            groups: &cgroup::usage(&self.root, &sizes)?,
            runs: &RUNS.map(|(run, file)| (run, live::modification_time(&self.root, file))),
        };
        let text = metrics::text(&sources);
        self.warn_unread(&seen.unread);
        match output {
            None => self.out(&text),
            Some(path) => {
                if let Err(error) = live::files::write(path, &text) {
                    self.fail(&error);
                }
            }
        }
        self.document.metrics = Some(text);
        Ok(())
    }

    fn warn_unread(&mut self, unread: &[String]) {
        for why in unread {
            self.say(Level::Warning, &format!("not looked at: {why}"));
        }
    }

    /// Lists usable page sizes, all page sizes, or both.
    fn list_sizes(&mut self, usable: bool, all: bool) -> Result<(), FileError> {
        if usable {
            let sizes = self.usable_sizes()?;
            if sizes.is_empty() {
                let why = "no page size has both a pool and a mount";
                self.log.say(Level::Info, why);
            }
            self.out(&listing::size_lines(&sizes));
            self.document.page_sizes = Some(sizes);
        }
        if all {
            let sizes: Vec<_> = self.pools()?.iter().map(|pool| pool.size).collect();
            if sizes.is_empty() {
                self.say(Level::Warning, NONE_OFFERED);
            }
            self.out(&listing::size_lines(&sizes));
            self.document.page_sizes_all = Some(sizes);
        }
        Ok(())
    }

    fn usable_sizes(&self) -> Result<Vec<PageSize>, FileError> {
        let accessible = |point: &Path| accessible(&self.root, point);
        Ok(listing::usable_sizes(
            &self.pools()?,
            &self.mounts()?,
            accessible,
        ))
    }

    pub(super) fn pools(&self) -> Result<Vec<Pool>, FileError> {
        pool::read(&self.root, &Meminfo::read(&self.root)?)
    }

    fn mounts(&self) -> Result<Vec<Mount>, FileError> {
        let mut mounts = mount::read(&self.root)?;
        mounts.retain(Mount::is_hugetlbfs);
        Ok(mounts)
    }
}

/// Files whose modification times show the last `--apply` that changed anything and the last
/// `--check`.
const RUNS: [(&str, &str); 2] = [
    ("apply", "/var/lib/hugetools/rollback.json"),
    ("check", "/var/lib/hugetools/checked"),
];

/// The warning if no mount is listed.
const NO_MOUNTS: &str =
    "no hugetlbfs is mounted\n  hugeadm --create-global-mounts mounts one for each page size";
