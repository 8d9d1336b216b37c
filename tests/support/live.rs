//! The running machine, used by one test at a time and restored even if the test fails.
#![expect(
    clippy::disallowed_methods,
    reason = "control groups are files like others"
)]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hugetools_model::thp::{self, Thp};
use hugetools_model::{Machine, PageSize, Root};
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::{AccessFlags, access};

use super::restore::{Saved, log_failure};
use super::tool::{Ran, Run, tool};

/// Locked by all live tests: the same directory in each container of a machine.
const LOCK: &str = "/sys/kernel/mm";

/// Locked by tests of memory control groups; not all of them take the machine.
const GROUP_LOCK: &str = "/sys/fs/cgroup";

/// The machine during one test.
pub(crate) struct Live {
    root: Root,
    saved: Saved,
    _lock: Flock<fs::File>,
}

/// Returns the machine, or reports a skipped test. With `HUGETOOLS_CI=1` a skip fails the test.
pub(crate) fn machine(test: &str) -> Option<Live> {
    if !can_be_set(test) {
        return None;
    }
    let root = live_root();
    let lock = lock(FlockArg::LockExclusive);
    let found = Machine::read(&root).unwrap();
    if found.default_pool().is_none() {
        return skip(test, "this machine has no huge pages");
    }
    let live = Live {
        root,
        saved: Saved::new(found),
        _lock: lock,
    };
    // The default of distributions; an earlier user may have changed it.
    live.set_shmem_enabled("never");
    Some(live)
}

/// Waits for the machine, exclusively or shared with tests that don't change it.
pub(super) fn lock(how: FlockArg) -> Flock<fs::File> {
    lock_dir(LOCK, how)
}

fn lock_dir(path: &str, how: FlockArg) -> Flock<fs::File> {
    let lock = Flock::lock(fs::File::open(path).unwrap(), how);
    lock.map_err(|(_, errno)| errno).unwrap()
}

/// Whether the machine can be changed; otherwise reports a skipped test. Doesn't take the machine,
/// so that a test can prepare something while others use it.
pub(crate) fn can_be_set(test: &str) -> bool {
    if !nix::unistd::geteuid().is_root() {
        return skip::<()>(test, "it needs root").is_some();
    }
    match access("/sys/kernel/mm", AccessFlags::W_OK) {
        Ok(()) => true,
        Err(errno) => {
            let why = format!("/sys/kernel/mm cannot be written: {errno}");
            skip::<()>(test, &why).is_some()
        }
    }
}

/// Reports a skipped test; in CI that is a failure.
pub(crate) fn skip<T>(test: &str, why: &str) -> Option<T> {
    let ci = std::env::vars_os().any(|(name, value)| name == "HUGETOOLS_CI" && value == "1");
    assert!(!ci, "{test} skipped: {why}");
    skip_aloud(why);
    None
}

thread_local! {
    /// Why parts of this thread's test were skipped.
    static SKIPPED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Reports a skipped test without failing, even in CI: no package of `.ci/run` would help.
pub(crate) fn skip_aloud(why: &str) {
    let line = why.trim_end().replace('\n', " ");
    SKIPPED.with_borrow_mut(|all| all.insert(line));
}

/// Takes the reasons why this thread's test was skipped or cut short.
pub(crate) fn take_skipped() -> Option<String> {
    let all = SKIPPED.take();
    let all: Vec<String> = all.into_iter().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

pub(super) fn live_root() -> Root {
    Root::live()
}

impl Live {
    pub(crate) fn hugeadm(&self, args: &[&str]) -> Ran {
        tool("hugeadm").args(args).ran()
    }

    /// Returns the current state of the machine.
    pub(crate) fn now(&self) -> Machine {
        Machine::read(&self.root).unwrap()
    }

    /// Returns persistent pages and overcommit of a size.
    pub(crate) fn pool(&self, size: PageSize) -> (u64, u64) {
        let machine = self.now();
        let pool = machine.pool(size).unwrap();
        (
            pool.minimum().get(),
            pool.overcommit.map_or(0, |pages| pages.get()),
        )
    }

    /// Returns the default huge page size.
    pub(crate) fn default_size(&self) -> PageSize {
        self.saved.found.default_pool().unwrap().size
    }

    /// Sets the pool of the default size and disables its overcommit. Pages in use may stay.
    pub(crate) fn set_pool(&self, pages: u64) {
        let spec = format!("DEFAULT:{pages}");
        let ran = self.hugeadm(&["--pool-pages-min", &spec, "--pool-pages-max", &spec]);
        let in_use = ran.status == 3 && ran.err.contains("more pages are in use or reserved");
        assert!(ran.status == 0 || in_use, "{ran:?}");
    }

    /// Fills the pool of 1 GiB pages. Returns false if memory is too fragmented.
    pub(crate) fn set_gigantic(&self, pages: u64) -> bool {
        let spec = format!("1GB:{pages}");
        let ran = self.hugeadm(&["--force", "--pool-pages-min", &spec]);
        match ran.status {
            0 => true,
            3 => {
                skip_aloud("memory is too fragmented for pages of 1 GiB");
                false
            }
            _ => panic!("{ran:?}"),
        }
    }

    /// Mounts a hugetlbfs of the default size for everybody. Returns the mount point.
    pub(crate) fn global_mount(&self) -> String {
        let ran = self.hugeadm(&["--create-global-mounts"]);
        assert_eq!(ran.status, 0, "{ran:?}");
        let size = self.default_size();
        format!("/var/lib/hugetlbfs/global/pagesize-{size}")
    }

    /// Returns the free pages of the default size.
    pub(crate) fn free_pages(&self) -> u64 {
        self.now().default_pool().unwrap().free.get()
    }

    /// Waits until `wanted` pages are free, at most five seconds, and returns how many
    /// are. A reader of `/proc/PID/smaps` delays the release of an ended process's memory.
    pub(crate) fn wait_for_free_pages(&self, wanted: u64) -> u64 {
        let end = Instant::now() + Duration::from_secs(5);
        loop {
            let free = self.free_pages();
            if free == wanted || Instant::now() > end {
                return free;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether private memory can use transparent huge pages.
    pub(crate) fn can_use_thp(&self) -> bool {
        self.saved
            .found
            .thp
            .as_ref()
            .is_some_and(Thp::serves_madvise)
    }

    /// Sets `shmem_enabled` until the end of the test. Returns false if this kernel lacks it.
    pub(crate) fn set_shmem_enabled(&self, word: &str) -> bool {
        let path = thp::dir().join("shmem_enabled");
        self.root.write(&path, word).is_ok()
    }

    /// Returns a version 2 control group with the hugetlb controller.
    pub(crate) fn hugetlb_group(&self, test: &str) -> Option<Group> {
        let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
        let has = |root: &&&str| {
            let controllers = fs::read_to_string(Path::new(root).join("cgroup.controllers"));
            controllers.is_ok_and(|names| names.split_whitespace().any(|name| name == "hugetlb"))
        };
        let Some(root) = roots.iter().find(has).map(PathBuf::from) else {
            return skip(test, "there is no hugetlb controller of version 2");
        };
        let control = root.join("cgroup.subtree_control");
        let was_on = fs::read_to_string(&control).unwrap().contains("hugetlb");
        if fs::write(&control, "+hugetlb").is_err() {
            return skip(test, "the hugetlb controller cannot be turned on");
        }
        let path = root.join(format!("hugetools-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Some(Group {
            path,
            control,
            controller: "hugetlb",
            was_on,
            _lock: None,
        })
    }
}

/// Removes a control group as soon as its last process has ended; waits at most 2 s.
pub(crate) fn remove_group(path: &Path) -> std::io::Result<()> {
    for _ in 0..200 {
        if fs::remove_dir(path).is_ok() {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    fs::remove_dir(path)
}

/// A control group, removed at the end of the test.
pub(crate) struct Group {
    pub(crate) path: PathBuf,
    /// The file that enables its controller.
    control: PathBuf,
    controller: &'static str,
    was_on: bool,
    /// Held until the controller is disabled again.
    _lock: Option<Flock<fs::File>>,
}

impl Group {
    /// Returns a group with a memory limit, version 1 or 2.
    pub(crate) fn of_memory(test: &str, limit: &str) -> Option<Group> {
        if !can_be_set(test) {
            return None;
        }
        let lock = lock_dir(GROUP_LOCK, FlockArg::LockExclusive);
        let name = format!("hugetools-memory-{}", std::process::id());
        let one = Path::new("/sys/fs/cgroup/memory");
        let (root, file) = match one.exists() {
            true => (one, "memory.limit_in_bytes"),
            false => (Path::new("/sys/fs/cgroup"), "memory.max"),
        };
        let control = root.join("cgroup.subtree_control");
        let controls = fs::read_to_string(&control);
        let was_on = controls.is_ok_and(|names| names.contains("memory")) || one.exists();
        if !was_on && fs::write(&control, "+memory").is_err() {
            return skip(test, "the memory controller cannot be turned on");
        }
        let path = root.join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join(file), limit).unwrap();
        // Without these, the group could use swap space that another test has added.
        for (file, limit) in [
            ("memory.swap.max", "0"),
            ("memory.memsw.limit_in_bytes", limit),
        ] {
            let file = path.join(file);
            if file.exists() {
                fs::write(file, limit).unwrap();
            }
        }
        Some(Group {
            path,
            control,
            controller: "memory",
            was_on,
            _lock: Some(lock),
        })
    }

    /// Returns a command that enters the group and becomes `command`.
    pub(crate) fn enter(&self, command: &Command) -> Command {
        let enter = format!(
            "echo $$ >{}/cgroup.procs && exec \"$@\"",
            self.path.display()
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &enter, "sh"]);
        shell.arg(command.get_program()).args(command.get_args());
        let set = command.get_envs();
        shell.envs(set.filter_map(|(name, value)| Some((name, value?))));
        shell
    }

    /// Moves a process into the group.
    pub(crate) fn add(&self, pid: u32) {
        fs::write(self.path.join("cgroup.procs"), pid.to_string()).unwrap();
    }

    /// Sets a limit such as `hugetlb.2MB.max`.
    pub(crate) fn limit(&self, size: PageSize, file: &str, limit: &str) {
        fs::write(self.path.join(format!("hugetlb.{size}.{file}")), limit).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        log_failure(remove_group(&self.path), &self.path);
        if !self.was_on {
            let off = format!("-{}", self.controller);
            log_failure(fs::write(&self.control, off), &self.control);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.saved.restore(&self.root);
    }
}
