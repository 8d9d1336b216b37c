//! A simulated machine: a recorded tree, a simulated kernel, and simulated mounts and swap.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hugetools_admin::apply::apply;
use hugetools_admin::args::Args;
use hugetools_admin::effects::{Account, Effects, Found};
use hugetools_admin::plan::{Plan, plan};
use hugetools_admin::report::{Level, NotRun, Outcome, TaskReport, messages};
use hugetools_admin::request::Request;
use hugetools_admin::step::{Install, Installed, Mount, Owner, Swap};
use hugetools_model::sim::Sim;
use hugetools_model::{KPath, Machine, PageSize, Root};
use tempfile::TempDir;

use crate::support::tree;

pub(crate) const EARLIER_FAILED: Outcome = Outcome::NotRun {
    why: NotRun::EarlierFailed,
};

pub(crate) const NODES: &str = "x86_64-8node";

pub(crate) fn size(text: &str) -> PageSize {
    text.parse().unwrap()
}

/// A machine with a kernel, directories, mounts and swap.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) root: Root,
    /// Directories and swap files, with their owners.
    pub(crate) paths: BTreeMap<PathBuf, Owner>,
    /// Files of `--install-boot`.
    pub(crate) installed: BTreeMap<PathBuf, Installed>,
    /// The call that fails, and its errno.
    pub(crate) refused: Option<(&'static str, i32)>,
    /// The calls so far, in order.
    pub(crate) calls: Vec<String>,
    /// The number of calls after which a signal arrives.
    pub(crate) signal_at: Option<usize>,
    /// Whether root runs hugeadm.
    pub(crate) is_root: bool,
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
            paths: BTreeMap::from([(PathBuf::from("/"), ROOT_DIR)]),
            installed: BTreeMap::new(),
            refused: None,
            calls: Vec::new(),
            signal_at: None,
            is_root: false,
        }
    }

    pub(crate) fn now(&self) -> Machine {
        Machine::read(&self.root).unwrap()
    }

    /// Returns a pool's minimum and maximum in pages.
    pub(crate) fn pool(&self, size: PageSize) -> (u64, u64) {
        let machine = self.now();
        let pool = machine.pool(size).unwrap();
        (pool.minimum().get(), pool.maximum().get())
    }

    pub(crate) fn plan(&mut self, args: &[&str]) -> Plan {
        let argv = [&["hugeadm"], args].concat();
        let args = Args::read(argv.iter().map(Into::into).collect()).unwrap();
        let machine = self.now();
        let request = Request::new(&args, &machine, self).unwrap();
        plan(&machine, &request)
    }

    pub(crate) fn run(&mut self, args: &[&str]) -> Vec<TaskReport> {
        let plan = self.plan(args);
        self.apply(&plan)
    }

    pub(crate) fn apply(&mut self, plan: &Plan) -> Vec<TaskReport> {
        let root = self.root.clone();
        apply(plan, &root, self)
    }

    fn call(&mut self, call: &str, what: impl std::fmt::Display) -> io::Result<()> {
        self.calls.push(format!("{call} {what}"));
        match self.refused {
            Some((refused, errno)) if refused == call => Err(io::Error::from_raw_os_error(errno)),
            _ => Ok(()),
        }
    }

    fn append(&self, file: &str, line: &str) -> io::Result<()> {
        let path = self.dir.path().join(file);
        let mut table = std::fs::OpenOptions::new().append(true).open(path)?;
        io::Write::write_all(&mut table, line.as_bytes())
    }

    /// Removes the last line with this text from a table.
    fn remove_line(&self, file: &'static str, text: &str) {
        let path = KPath::from(file);
        let table = String::from_utf8(self.root.read(&path).unwrap()).unwrap();
        let mut lines: Vec<&str> = table.lines().collect();
        let last = lines.iter().rposition(|line| line.contains(text)).unwrap();
        lines.remove(last);
        self.root.write(&path, &lines.join("\n")).unwrap();
    }

    fn account(name: &str) -> Result<Option<Account>, String> {
        Ok(Some(Account {
            id: 7,
            name: name.to_owned(),
        }))
    }
}

impl Effects for World {
    fn user(&mut self, name: &str) -> Result<Option<Account>, String> {
        World::account(name)
    }

    fn group(&mut self, name: &str) -> Result<Option<Account>, String> {
        World::account(name)
    }

    fn stat(&mut self, path: &Path) -> io::Result<Option<Found>> {
        Ok(self.paths.get(path).map(|owner| Found {
            directory: !path.ends_with("swapfile"),
            owner: *owner,
        }))
    }

    fn make_dir(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        self.call("make_dir", path.display())?;
        assert!(
            self.paths.contains_key(path.parent().unwrap()),
            "{}",
            path.display()
        );
        let owner = Owner {
            uid: 5,
            gid: 5,
            mode,
        };
        assert_eq!(self.paths.insert(path.to_owned(), owner), None);
        Ok(())
    }

    fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        self.call("remove_dir", path.display())?;
        let full = self.paths.keys().any(|name| name.parent() == Some(path));
        match full {
            true => Err(io::Error::from_raw_os_error(libc::ENOTEMPTY)),
            false => {
                self.paths.remove(path).unwrap();
                Ok(())
            }
        }
    }

    fn own(&mut self, path: &Path, owner: Owner) -> io::Result<()> {
        self.call("own", path.display())?;
        self.paths.insert(path.to_owned(), owner).unwrap();
        Ok(())
    }

    fn mount(&mut self, mount: &Mount) -> io::Result<()> {
        self.call("mount", mount.options())?;
        let (point, bytes) = (mount.point.display(), mount.size.get());
        self.append(
            "proc/self/mountinfo",
            &format!("90 1 0:90 / {point} rw - hugetlbfs none rw,pagesize={bytes}\n"),
        )?;
        self.paths.insert(mount.point.clone(), mount.owner).unwrap();
        Ok(())
    }

    fn unmount(&mut self, point: &Path) -> io::Result<()> {
        self.call("unmount", point.display())?;
        self.remove_line("/proc/self/mountinfo", &format!(" {} ", point.display()));
        Ok(())
    }

    fn swap_on(&mut self, swap: &Swap) -> io::Result<()> {
        self.call("swap_on", swap.path.display())?;
        self.paths.insert(swap.path.clone(), ROOT_DIR);
        // The simulated kernel must see the write: its memory may depend on it (`room_after`).
        let line = format!("{}\tfile\t\t1\t0\t-2", swap.path.display());
        let path = KPath::from("/proc/swaps");
        let table = String::from_utf8(self.root.read(&path).unwrap()).unwrap();
        self.root.write(&path, &(table + &line)).unwrap();
        Ok(())
    }

    fn swap_off(&mut self, swap: &Swap) -> io::Result<()> {
        self.call("swap_off", swap.path.display())?;
        let path = swap.path.display().to_string();
        if self.now().swaps.iter().any(|used| used.path == swap.path) {
            self.remove_line("/proc/swaps", &path);
        }
        if swap.size.is_some() {
            self.paths.remove(&swap.path);
        }
        Ok(())
    }

    fn read_installed(&mut self, path: &Path) -> io::Result<Option<Installed>> {
        Ok(self.installed.get(path).cloned())
    }

    fn install(&mut self, install: &Install) -> io::Result<()> {
        self.call("install", install.path.display())?;
        let contents = install.contents.clone();
        self.installed.insert(install.path.clone(), contents);
        Ok(())
    }

    fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        self.call("remove_file", path.display())?;
        let removed = self.installed.remove(path);
        removed.map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn run(&mut self, words: &[&str]) -> io::Result<()> {
        self.call("run", words.join(" "))
    }

    fn sync(&mut self) {
        self.calls.push("sync".to_owned());
    }

    fn pause(&mut self, time: Duration) {
        self.calls.push(format!("pause {}", time.as_secs()));
    }

    fn is_root(&mut self) -> bool {
        self.is_root
    }

    fn interrupted(&mut self) -> bool {
        self.signal_at.is_some_and(|at| self.calls.len() >= at)
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
