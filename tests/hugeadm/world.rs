//! A machine that answers: a recorded tree with a simulated kernel behind its
//! files, and directories and mounts that are only remembered.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use hugetools_admin::apply::apply;
use hugetools_admin::args::Args;
use hugetools_admin::effects::{Effects, Found, Ran};
use hugetools_admin::plan::{Mount, Owner, Plan, plan};
use hugetools_admin::report::{Level, NotRun, Outcome, TaskReport, messages};
use hugetools_admin::request::Request;
use hugetools_model::sim::Sim;
use hugetools_model::{Machine, PageSize, Root};
use tempfile::TempDir;

use crate::support::tree;

pub(crate) const EARLIER_FAILED: Outcome = Outcome::NotRun {
    why: NotRun::EarlierFailed,
};

pub(crate) const NODES: &str = "x86_64-8node";

pub(crate) fn size(text: &str) -> PageSize {
    text.parse().unwrap()
}

/// A machine with a kernel, directories and mounts.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) root: Root,
    pub(crate) there: BTreeMap<PathBuf, Owner>,
    pub(crate) refused: Option<(&'static str, i32)>,
}

pub(crate) const ROOT_DIR: Owner = Owner {
    uid: 0,
    gid: 0,
    mode: 0o755,
};

impl World {
    pub(crate) fn new(machine: &str, kernel: impl Fn(Sim) -> Sim) -> World {
        let dir = tree::machine(machine);
        let root = Root::simulated(dir.path(), kernel(Sim::new(dir.path())));
        World {
            dir,
            root,
            there: BTreeMap::from([(PathBuf::from("/"), ROOT_DIR)]),
            refused: None,
        }
    }

    pub(crate) fn now(&self) -> Machine {
        Machine::read(&self.root).unwrap()
    }

    /// Persistent pages and maximum of a size.
    pub(crate) fn pool(&self, size: PageSize) -> (u64, u64) {
        let machine = self.now();
        let pool = machine.pool(size).unwrap();
        (pool.minimum().get(), pool.maximum().get())
    }

    pub(crate) fn plan(&self, args: &[&str]) -> Plan {
        let argv = [&["hugeadm"], args].concat();
        let args = Args::read(argv.iter().map(Into::into).collect()).unwrap();
        let machine = self.now();
        let group = |_: &str| Ok(Some(7));
        plan(&machine, &Request::new(&args, &machine, &group).unwrap())
    }

    pub(crate) fn run(&mut self, args: &[&str]) -> Vec<TaskReport> {
        let plan = self.plan(args);
        let root = self.root.clone();
        apply(&plan, &root, self)
    }

    fn refuses(&self, call: &str) -> io::Result<()> {
        match self.refused {
            Some((refused, errno)) if refused == call => Err(io::Error::from_raw_os_error(errno)),
            _ => Ok(()),
        }
    }
}

impl Effects for World {
    fn look(&mut self, path: &Path) -> io::Result<Option<Found>> {
        Ok(self.there.get(path).map(|owner| Found {
            directory: true,
            owner: *owner,
        }))
    }

    fn make_dir(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        self.refuses("make_dir")?;
        assert!(
            self.there.contains_key(path.parent().unwrap()),
            "{}",
            path.display()
        );
        let owner = Owner {
            uid: 5,
            gid: 5,
            mode,
        };
        assert_eq!(self.there.insert(path.to_owned(), owner), None);
        Ok(())
    }

    fn own(&mut self, path: &Path, owner: Owner) -> io::Result<Ran> {
        self.refuses("own")?;
        self.there.insert(path.to_owned(), owner).unwrap();
        Ok(Ran::Yes)
    }

    fn mount(&mut self, mount: &Mount) -> io::Result<Ran> {
        self.refuses("mount")?;
        let path = self.dir.path().join("proc/self/mountinfo");
        let mut table = std::fs::OpenOptions::new().append(true).open(path)?;
        let (point, bytes) = (mount.point.display(), mount.size.get());
        io::Write::write_all(
            &mut table,
            format!("90 1 0:90 / {point} rw - hugetlbfs none rw,pagesize={bytes}\n").as_bytes(),
        )?;
        self.there.insert(mount.point.clone(), mount.owner).unwrap();
        Ok(Ran::Yes)
    }
}

pub(crate) fn outcomes(tasks: &[TaskReport]) -> Vec<&Outcome> {
    tasks
        .iter()
        .flat_map(|task| &task.steps)
        .map(|step| &step.outcome)
        .collect()
}

pub(crate) fn lines(tasks: &[TaskReport]) -> Vec<String> {
    let wanted = messages(tasks)
        .into_iter()
        .filter(|message| message.level < Level::Info);
    wanted.map(|message| message.text).collect()
}
