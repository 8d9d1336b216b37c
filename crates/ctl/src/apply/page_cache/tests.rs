use super::*;
use crate::files::places::Place;
use crate::probe::coverage::page_cache::attempt_log::Identity;
use std::collections::VecDeque;
use std::fs::{File, FileTimes, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const MB: u64 = 1 << 20;
const WHOLE: u64 = 4 * MB;

/// A page cache that answers looks as it is told, and a clock that only
/// waiting moves.
#[derive(Default)]
struct Simulated {
    /// Huge and shared bytes, look by look; the last answer stays.
    answers: VecDeque<(u64, u64)>,
    refuses_to_let_go: bool,
    looked: u32,
    let_go: u32,
    clock: Duration,
}

impl Simulated {
    fn new(answers: &[(u64, u64)]) -> Simulated {
        Simulated {
            answers: answers.iter().copied().collect(),
            ..Simulated::default()
        }
    }
}

impl Effects for Simulated {
    fn look(&mut self, _: Piece<'_>, _: Duration) -> io::Result<Cached> {
        self.looked += 1;
        let answer = match self.answers.len() {
            0 => return Err(io::Error::from_raw_os_error(libc::ENOMEM)),
            1 => self.answers[0],
            _ => self.answers.pop_front().unwrap(),
        };
        Ok(Cached {
            huge: Bytes::new(answer.0),
            shared: Bytes::new(answer.1),
        })
    }

    fn fill(&mut self, piece: Piece<'_>, limit: Duration) -> io::Result<Cached> {
        self.look(piece, limit)
    }

    fn let_go(&mut self, _: Piece<'_>, _: Duration) -> io::Result<()> {
        self.let_go += 1;
        match self.refuses_to_let_go {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }

    fn now(&self) -> Duration {
        self.clock
    }

    fn pause(&mut self, time: Duration) {
        self.clock += time;
    }
}

/// A program of so many bytes, and a directory of ours.
struct Place4 {
    dir: tempfile::TempDir,
    memory: Memory,
    job: Job,
}

impl Place4 {
    fn new() -> Place4 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        File::create(&path).unwrap().set_len(WHOLE + 5).unwrap();
        let place = Place {
            base: dir.path().to_owned(),
            make: false,
            name: "ours".to_owned(),
        };
        Place4 {
            memory: Memory {
                places: vec![place],
                user: nix::unistd::geteuid().as_raw(),
            },
            job: Job {
                path,
                parts: vec![0..2 * MB, 2 * MB..WHOLE],
                size: PageSize::new(2 * MB).unwrap(),
            },
            dir,
        }
    }

    fn run(&self, effects: &mut Simulated) -> State {
        let prepared = with_memory(&self.job, &self.memory, effects);
        assert_eq!(prepared.wanted, Bytes::new(WHOLE));
        prepared.state
    }

    fn ours(&self) -> PathBuf {
        self.dir.path().join("ours/page-cache")
    }

    /// The files that remember.
    fn remembered(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.ours()).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| !path.ends_with("lock")).collect()
    }
}

fn is_short(state: &State, why: &Why) -> bool {
    matches!(state, State::Short { why: other, .. } if other == why)
}

fn set_age(path: &Path, age: Duration) {
    let times = FileTimes::new().set_modified(SystemTime::now() - age);
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.set_times(times).unwrap();
}

#[test]
fn what_is_huge_already_costs_one_look() {
    let place = Place4::new();
    let mut cache = Simulated::new(&[(WHOLE, 0)]);
    assert_eq!(place.run(&mut cache), State::Ready);
    assert_eq!((cache.looked, cache.let_go), (1, 0));
    assert!(!place.ours().exists(), "and leaves nothing on disk");
}

#[test]
fn what_is_not_is_let_go_and_read_again() {
    let place = Place4::new();
    let mut cache = Simulated::new(&[(0, 0), (2 * MB, 0), (WHOLE, 0)]);
    assert!(matches!(place.run(&mut cache), State::Made));
    assert_eq!((cache.looked, cache.let_go), (3, 1));
    assert!(place.remembered().is_empty());
}

#[test]
fn what_another_made_while_this_one_waited_is_left() {
    let place = Place4::new();
    let mut cache = Simulated::new(&[(0, 0), (WHOLE, 0)]);
    assert!(matches!(place.run(&mut cache), State::Made));
    assert_eq!(cache.let_go, 0);
}

#[test]
fn what_is_of_no_use_is_not_tried_again() {
    let place = Place4::new();
    let state = place.run(&mut Simulated::new(&[(0, 0)]));
    assert!(is_short(&state, &Why::FileSystem), "{state:?}");
    assert_eq!(place.remembered().len(), 1);
    let mut again = Simulated::new(&[(WHOLE, 0)]);
    assert!(is_short(&place.run(&mut again), &Why::FileSystem));
    assert_eq!((again.looked, again.let_go), (0, 0));
}

#[test]
fn another_file_of_the_name_is_another_matter() {
    let place = Place4::new();
    place.run(&mut Simulated::new(&[(0, 0)]));
    set_age(&place.job.path, Duration::from_secs(1000));
    let mut cache = Simulated::new(&[(0, 0), (0, 0), (WHOLE, 0)]);
    assert!(matches!(place.run(&mut cache), State::Made));
}

#[test]
fn what_is_remembered_grows_old() {
    let hour = Duration::from_secs(3600);
    for (answer, short, long) in [
        // Just now it may not be on disk yet.
        ((0, 0), hour / 100, hour / 50),
        ((2 * MB, 4096), Duration::ZERO, hour),
    ] {
        let place = Place4::new();
        place.run(&mut Simulated::new(&[answer]));
        let path = place.remembered().pop().unwrap();
        set_age(&path, short);
        let mut again = Simulated::new(&[answer]);
        place.run(&mut again);
        assert_eq!(again.let_go, 0, "{answer:?}");
        set_age(&path, long);
        place.run(&mut again);
        assert_eq!(again.let_go, 1, "{answer:?}");
        assert_eq!(place.remembered().len(), 1);
    }
}

#[test]
fn a_file_system_that_cannot_is_remembered_for_a_day() {
    let place = Place4::new();
    place.run(&mut Simulated::new(&[(0, 0)]));
    let path = place.remembered().pop().unwrap();
    let mut file = File::create(&path).unwrap();
    file.write_all(b"file system").unwrap();
    let mut again = Simulated::new(&[(0, 0)]);
    for (hours, tries) in [(1, 0), (23, 0), (25, 1)] {
        set_age(&path, Duration::from_secs(hours * 3600));
        place.run(&mut again);
        assert_eq!(again.let_go, tries, "{hours}");
    }
    let mut old = Identity::of(&std::fs::metadata(&place.job.path).unwrap());
    assert_eq!(old.word(&Why::FileSystem), Some("young"));
    old.is_young = false;
    assert_eq!(old.word(&Why::FileSystem), Some("file system"));
    assert_eq!(old.word(&Why::InUse), Some("in use"));
    assert_eq!(old.word(&Why::Waited), None);
}

#[test]
fn files_that_are_gone_are_forgotten() {
    let place = Place4::new();
    place.run(&mut Simulated::new(&[(0, 0)]));
    let old = place.ours().join("of-another-file");
    File::create(&old).unwrap();
    set_age(&old, Duration::from_secs(90_000));
    set_age(&place.job.path, Duration::from_secs(1000));
    place.run(&mut Simulated::new(&[(0, 0)]));
    assert!(!old.exists());
    assert_eq!(place.remembered().len(), 2);
}

#[test]
fn others_that_only_look_are_waited_for() {
    let place = Place4::new();
    let looks = [(0, 4096), (0, 4096), (0, 0), (WHOLE, 0)];
    let mut cache = Simulated::new(&looks);
    assert!(matches!(place.run(&mut cache), State::Made));
    assert_eq!((cache.looked, cache.let_go), (4, 1));
}

#[test]
fn others_that_use_the_file_are_not() {
    let place = Place4::new();
    let mut cache = Simulated::new(&[(0, 8192)]);
    assert!(is_short(&place.run(&mut cache), &Why::InUse));
    assert_eq!(cache.let_go, 1, "what nobody uses is read again, once");
    assert!(cache.clock < Duration::from_millis(100));
    let partly = place.run(&mut Simulated::new(&[(2 * MB, 0)]));
    assert!(is_short(&partly, &Why::InUse), "{partly:?}");
}

#[test]
fn another_that_holds_the_lock_is_waited_for_a_second() {
    let place = Place4::new();
    let dir = attempt_log::open(&place.memory).unwrap();
    let mut other = Simulated::default();
    let held = attempt_log::lock(&dir, PATIENCE, INTERVAL, &mut other)
        .unwrap()
        .unwrap();
    let mut cache = Simulated::new(&[(0, 0)]);
    assert!(is_short(&place.run(&mut cache), &Why::Waited));
    assert_eq!((cache.clock, cache.let_go), (PATIENCE, 0));
    assert!(place.remembered().is_empty());
    drop(held);
    assert!(is_short(&place.run(&mut cache), &Why::FileSystem));
}

#[test]
fn without_a_directory_nothing_is_let_go() {
    let mut place = Place4::new();
    place.memory.places.clear();
    let mut cache = Simulated::new(&[(0, 0)]);
    assert!(is_short(
        &place.run(&mut cache),
        &Why::NoMemory(String::new())
    ));
    assert_eq!((cache.looked, cache.let_go), (1, 0));
    let place = Place4::new();
    std::fs::create_dir(place.dir.path().join("ours")).unwrap();
    let open = Permissions::from_mode(0o777);
    std::fs::set_permissions(place.dir.path().join("ours"), open).unwrap();
    let state = place.run(&mut cache);
    let said = format!("{state:?}");
    assert!(said.contains("others can change what is there"), "{said}");
}

#[test]
fn what_fails_is_said_and_not_remembered() {
    let place = Place4::new();
    let no_memory = Why::Failed("cannot allocate memory (ENOMEM)".to_owned());
    assert!(is_short(&place.run(&mut Simulated::default()), &no_memory));
    let mut slow = Simulated::new(&[(0, 0)]);
    slow.refuses_to_let_go = true;
    assert!(is_short(
        &place.run(&mut slow),
        &Why::Failed("it takes too long".to_owned())
    ));
    assert!(place.remembered().is_empty());
    let mut place = Place4::new();
    place.job.parts.push(WHOLE..WHOLE + 2 * MB);
    let prepared = with_memory(&place.job, &place.memory, &mut slow);
    let shorter = Why::Failed("the file is shorter than its headers say".to_owned());
    assert!(is_short(&prepared.state, &shorter), "{prepared:?}");
}

#[test]
fn a_file_of_another_user_or_kind_remembers_nothing() {
    let mut place = Place4::new();
    place.run(&mut Simulated::new(&[(0, 0)]));
    let path = place.remembered().pop().unwrap();
    let recalled = |place: &Place4| {
        let metadata = std::fs::metadata(&place.job.path).unwrap();
        place.memory.recall(&Identity::of(&metadata))
    };
    assert_eq!(recalled(&place), Some(Why::FileSystem));
    place.memory.user += 1;
    assert_eq!(recalled(&place), None);
    place.memory.user -= 1;
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    assert_eq!(recalled(&place), None);
}
