use super::*;
use hugetools_model::Root;
use hugetools_model::process::Pid;
use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};

const SIZE: u64 = 2 << 20;
const STAT: &str = "7 (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 150 0 0 0 0 0 4096 \
    0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 8192 0 0 0 0 0 0 0\n";
const MEMINFO: &str = "MemTotal: 16000000 kB\nMemFree: 9000000 kB\nMemAvailable: 9000000 kB\n";

/// A kernel that answers as it is told, and clocks that only it moves.
struct Simulated {
    /// The errors of the calls, 0 for none; afterwards none fails.
    answers: VecDeque<i32>,
    /// What each huge page takes, on a processor and in all.
    takes: Duration,
    /// The first huge page of each call.
    asked: Vec<u64>,
    /// How many the calls were for.
    pages: Vec<u64>,
    cpu: Duration,
    wall: Duration,
    rested: Duration,
    /// By what each pause is too long.
    late: Duration,
    /// What happens at the call of this number.
    at: Option<(usize, Box<dyn FnMut()>)>,
}

impl Simulated {
    fn new(answers: &[i32]) -> Simulated {
        Simulated {
            answers: answers.iter().copied().collect(),
            takes: Duration::from_millis(4),
            asked: Vec::new(),
            pages: Vec::new(),
            cpu: Duration::ZERO,
            wall: Duration::ZERO,
            rested: Duration::ZERO,
            late: Duration::ZERO,
            at: None,
        }
    }
}

impl Adopts for Simulated {
    fn process(&mut self, _: Pid) -> io::Result<OwnedFd> {
        Err(io::Error::from_raw_os_error(libc::ENOSYS))
    }

    fn collapse(&mut self, _: BorrowedFd<'_>, range: &Range<u64>) -> io::Result<()> {
        self.asked.push(range.start / SIZE);
        let pages = (range.end - range.start) / SIZE;
        self.pages.push(pages);
        let takes = self.takes * u32::try_from(pages).unwrap();
        self.cpu += takes;
        self.wall += takes;
        if let Some((at, happens)) = &mut self.at {
            if *at == self.asked.len() {
                happens();
            }
        }
        match self.answers.pop_front() {
            None | Some(0) => Ok(()),
            Some(errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    fn cpu(&self) -> Duration {
        self.cpu
    }

    fn wall(&self) -> Duration {
        self.wall
    }

    fn rest(&mut self, time: Duration) {
        self.wall += time + self.late;
        self.rested += time;
    }
}

/// A process of a recorded tree; the descriptor is one that never says anything.
struct World {
    dir: tempfile::TempDir,
    quiet: OwnedFd,
    _other: OwnedFd,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/7")).unwrap();
        let (quiet, other) = nix::unistd::pipe().unwrap();
        let world = World {
            dir,
            quiet,
            _other: other,
        };
        world.write("proc/7/stat", STAT);
        world.write("proc/meminfo", MEMINFO);
        world.write(
            "proc/vmstat",
            "compact_stall 5\nthp_collapse_alloc_failed 2\n",
        );
        world
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.dir.path().join(file);
        write(&path, text);
    }

    fn run(&self, kernel: &mut Simulated, count: u64, percent: u8) -> Outcome {
        let root = Root::at(self.dir.path()).unwrap();
        let mut guard = Guard::new(&root, Pid::new(7).unwrap(), &self.quiet);
        let mut pace = Pace::new(percent, kernel);
        let mut last = 0;
        let mut progress = |progress: Progress| {
            assert!(progress.done > last && progress.done <= progress.all);
            last = progress.done;
        };
        apply(kernel, &mut guard, &steps(count), &mut pace, &mut progress)
    }
}

fn write(path: &std::path::Path, text: &str) {
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn steps(count: u64) -> Plan {
    let step = |at: u64| Step {
        range: at * SIZE..(at + 1) * SIZE,
        bytes: SIZE,
    };
    Plan {
        steps: (0..count).map(step).collect(),
        ..Plan::default()
    }
}

fn left(outcome: &Outcome) -> Vec<(u64, Reason)> {
    let left = outcome.left.iter();
    left.map(|(start, why)| (start / SIZE, why.clone()))
        .collect()
}

#[test]
fn the_budget_is_kept() {
    for percent in [5, 25, 100] {
        let mut kernel = Simulated::new(&[]);
        let outcome = World::new().run(&mut kernel, 400, percent);
        assert_eq!((outcome.done, left(&outcome)), (400 * SIZE, vec![]));
        let share = kernel.cpu.as_secs_f64() * 100.0 / kernel.wall.as_secs_f64();
        assert!(
            (share - f64::from(percent)).abs() < 1.0,
            "{share} {percent}"
        );
    }
}

#[test]
fn pauses_that_are_too_long_are_made_up_for() {
    let mut kernel = Simulated::new(&[]);
    // Much, where other programs keep all processors busy.
    for late in [2, 60] {
        kernel.late = Duration::from_millis(late);
        let (cpu, wall) = (kernel.cpu, kernel.wall);
        World::new().run(&mut kernel, 400, 25);
        let share = (kernel.cpu - cpu).as_secs_f64() / (kernel.wall - wall).as_secs_f64();
        assert!((0.24..=0.26).contains(&share), "{late}: {share}");
    }
    // One that is far too long is no leave to go on without pauses.
    kernel.late = Duration::from_secs(10);
    let (cpu, wall) = (kernel.cpu, kernel.wall);
    World::new().run(&mut kernel, 40, 25);
    let share = (kernel.cpu - cpu).as_secs_f64() / (kernel.wall - wall).as_secs_f64();
    assert!(share < 0.02, "{share}");
}

#[test]
fn what_fails_is_left_and_the_rest_goes_on() {
    let mut kernel = Simulated::new(&[0, libc::EINVAL, libc::EAGAIN, libc::ENOMEM, libc::EBUSY]);
    // When it is tried again, one is still busy.
    kernel.answers.extend([0, 0, libc::EAGAIN]);
    let outcome = World::new().run(&mut kernel, 6, 50);
    assert_eq!(kernel.asked, [0, 1, 2, 3, 4, 5, 2, 4]);
    let wanted = [
        (1, Reason::Refused(libc::EINVAL)),
        (3, Reason::Later),
        (4, Reason::Busy),
    ];
    assert_eq!(left(&outcome), wanted);
    assert_eq!((outcome.done, outcome.gone), (3 * SIZE, None));
}

/// Where calls are short; those that fail together are told apart.
#[test]
fn neighbours_are_asked_for_together() {
    let mut kernel = Simulated::new(&[0, 0, libc::EAGAIN, 0, libc::EINVAL]);
    kernel.takes = Duration::from_millis(1);
    let outcome = World::new().run(&mut kernel, 20, 25);
    assert_eq!(kernel.asked, [0, 1, 3, 3, 4, 5, 6, 7, 11, 15, 19]);
    assert_eq!(kernel.pages, [1, 2, 4, 1, 1, 1, 1, 4, 4, 4, 1]);
    assert_eq!(left(&outcome), [(4, Reason::Refused(libc::EINVAL))]);
    assert_eq!(outcome.done, 19 * SIZE);
    let share = kernel.cpu.as_secs_f64() / kernel.wall.as_secs_f64();
    assert!((0.24..=0.26).contains(&share), "{share}");
}

#[test]
fn a_process_that_ends_or_changes_is_left_alone() {
    let mut kernel = Simulated::new(&[0, libc::ESRCH]);
    let outcome = World::new().run(&mut kernel, 9, 50);
    assert_eq!(outcome.gone, Some(Gone::Ended));
    assert_eq!(kernel.asked, [0, 1]);
    // Another program has its stack elsewhere.
    let world = World::new();
    let mut kernel = Simulated::new(&[]);
    let path = world.dir.path().join("proc/7/stat");
    let other = STAT.replace(" 4096 ", " 16384 ");
    kernel.at = Some((3, Box::new(move || write(&path, &other))));
    let outcome = world.run(&mut kernel, 1000, 1);
    assert_eq!(outcome.gone, Some(Gone::Executes));
    assert!(kernel.asked.len() < 10, "{}", kernel.asked.len());
}

#[test]
fn it_ends_where_there_is_no_huge_page_to_be_had() {
    let world = World::new();
    let mut kernel = Simulated::new(&[0, libc::ENOMEM, libc::ENOMEM, libc::ENOMEM]);
    let path = world.dir.path().join("proc/vmstat");
    let lacks = "compact_stall 5\nthp_collapse_alloc_failed 3\n";
    kernel.at = Some((2, Box::new(move || write(&path, lacks))));
    let outcome = world.run(&mut kernel, 6, 100);
    assert_eq!(kernel.asked.len(), 4);
    let all = left(&outcome);
    assert_eq!(all.len(), 5);
    assert!(all.iter().all(|(_, why)| *why == Reason::NoHugePage));
}

/// The kernel has to move memory at each look: slower, and then not at all.
#[test]
fn it_slows_down_and_ends_where_the_kernel_stalls() {
    let world = World::new();
    let path = world.dir.path().join("proc/vmstat");
    let mut kernel = Simulated::new(&[]);
    let mut count = 5;
    let mut happens = move || {
        count += 1;
        write(&path, &format!("compact_stall {count}\n"));
    };
    happens();
    let outcome = Stalling {
        kernel: &mut kernel,
        happens,
    }
    .run(&world);
    assert!(
        left(&outcome)
            .iter()
            .all(|(_, why)| *why == Reason::Stalled)
    );
    assert!(!outcome.left.is_empty());
    assert!(outcome.done > 0);
}

/// A kernel that stalls at every call.
struct Stalling<'k, F> {
    kernel: &'k mut Simulated,
    happens: F,
}

impl<F: FnMut()> Stalling<'_, F> {
    fn run(mut self, world: &World) -> Outcome {
        let root = Root::at(world.dir.path()).unwrap();
        let mut guard = Guard::new(&root, Pid::new(7).unwrap(), &world.quiet);
        let mut pace = Pace::new(25, &self);
        apply(&mut self, &mut guard, &steps(4000), &mut pace, &mut |_| {})
    }
}

impl<F: FnMut()> Adopts for Stalling<'_, F> {
    fn process(&mut self, pid: Pid) -> io::Result<OwnedFd> {
        self.kernel.process(pid)
    }

    fn collapse(&mut self, process: BorrowedFd<'_>, range: &Range<u64>) -> io::Result<()> {
        (self.happens)();
        self.kernel.collapse(process, range)
    }

    fn cpu(&self) -> Duration {
        self.kernel.cpu()
    }

    fn wall(&self) -> Duration {
        self.kernel.wall()
    }

    fn rest(&mut self, time: Duration) {
        self.kernel.rest(time);
    }
}
