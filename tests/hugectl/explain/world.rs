//! Programs of every kind in a directory for all users; runs hugectl on them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::table::{self, Situation};
use crate::support::live::{Group, Live};
use crate::support::needs::programs;
use crate::support::program::{Libc, build, build_as};
use crate::support::tool::{Ran, Run, copy, install, write};

const EARLY: &str = "
#include <pthread.h>
#include <unistd.h>
static void *idle(void *at) { pause(); return at; }
__attribute__((constructor)) static void begin(void)
{ pthread_t thread; pthread_create(&thread, 0, idle, 0); }";

/// The library's warning if threads ran before it.
const THREADS: &str = "threads ran before it could be moved";

pub(super) struct World<'l> {
    live: &'l Live,
    dir: tempfile::TempDir,
}

/// The world in one situation.
pub(super) struct Place<'w> {
    world: &'w World<'w>,
    situation: &'w Situation,
    group: Option<Group>,
}

/// The output of `--explain`.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: i32,
    document: Value,
}

/// A predicted shortfall.
#[derive(Debug)]
pub(super) struct Short {
    file: Option<String>,
    value: Option<String>,
    pub(super) command: Option<String>,
}

/// A run and its reports.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) status: i32,
    err: String,
    reports: Vec<Value>,
}

impl Answer {
    /// Returns the rungs of a segment.
    pub(super) fn rungs(&self, segment: &str) -> Vec<String> {
        let rows = self.rows(segment);
        rows.map(|row| row["rung"].as_str().unwrap_or("unknown").to_owned())
            .collect()
    }

    fn rows<'a>(&'a self, segment: &'a str) -> impl Iterator<Item = &'a Value> {
        let rows = self.document["segments"].as_array().unwrap().iter();
        rows.filter(move |row| row["segment"] == segment)
    }

    /// Returns the shortfall with this text.
    pub(super) fn shortfall(&self, fact: &str) -> Option<Short> {
        let rows = self.document["segments"].as_array().unwrap().iter();
        let mut all = rows.flat_map(|row| row["shortfalls"].as_array().unwrap());
        let has_fact =
            |short: &&Value| !fact.is_empty() && short["fact"].as_str().unwrap().contains(fact);
        let short = all.find(has_fact)?;
        let text = |key: &str| short[key].as_str().map(str::to_owned);
        Some(Short {
            file: text("file"),
            value: text("value"),
            command: text("command"),
        })
    }

    /// Whether an error, a warning or a note contains a text.
    pub(super) fn has_message(&self, text: &str) -> bool {
        let texts = ["errors", "warnings", "notes"].map(|key| self.document[key].to_string());
        texts.concat().contains(text)
    }

    /// Whether the predicted pages hold a mapping of this size; otherwise it gets none.
    fn fits(&self, bytes: u64) -> bool {
        let mut rows = self.rows("shm").filter(|row| row["rung"] == "pool");
        let row = rows.next().unwrap();
        assert_eq!(row["whole"], true, "{row}");
        let pages = row["pages"].as_object().unwrap().iter();
        let bytes_of = |(size, count): (&String, &Value)| -> u64 {
            size.parse::<u64>().unwrap() * count.as_u64().unwrap()
        };
        pages.map(bytes_of).sum::<u64>() >= bytes
    }

    /// Returns the file of a segment.
    fn object<'a>(&'a self, segment: &'a str) -> Option<&'a str> {
        self.rows(segment).find_map(|row| row["object"].as_str())
    }

    /// Returns the predicted huge bytes of a segment.
    fn huge(&self, segment: &str) -> u64 {
        let huge = self.rows(segment).filter(|row| row["rung"] != "base");
        huge.map(|row| row["bytes"].as_u64().unwrap_or(0)).sum()
    }
}

impl Done {
    /// Returns resident bytes, huge bytes and mechanism of a segment.
    fn measured(&self, segment: &str, object: Option<&str>) -> (u64, u64, String) {
        let rows = self
            .reports
            .iter()
            .flat_map(|report| report["segments"].as_array().unwrap());
        let rows: Vec<&Value> = rows
            .filter(|row| row["segment"] == segment && is_of(row, object))
            .collect();
        let huge = |row: &Value| -> u64 {
            let sizes = row["huge"].as_object().unwrap().values();
            sizes.map(|bytes| bytes.as_u64().unwrap()).sum()
        };
        let resident = |row: &Value| row["resident"].as_u64().unwrap();
        let how = rows
            .iter()
            .filter_map(|row| row["mechanism"].as_str())
            .collect();
        (
            rows.iter().map(|row| resident(row)).sum(),
            rows.iter().map(|row| huge(row)).sum(),
            how,
        )
    }
}

fn is_of(row: &Value, object: Option<&str>) -> bool {
    object.is_none_or(|object| row["object"] == object)
}

impl<'l> World<'l> {
    pub(super) fn new(live: &'l Live) -> World<'l> {
        let dir = tempfile::tempdir().unwrap();
        let world = World { live, dir };
        world.open_to_all("");
        install(&world.path(""));
        world.open_to_all("bin");
        world.open_to_all("lib");
        copy(env!("CARGO_BIN_EXE_hugeadm"), world.path("bin/hugeadm"));
        world.programs();
        world
    }

    fn programs(&self) {
        let fixed = ["-fno-pie", "-no-pie"];
        self.put("segments", build("segments", Libc::Glibc, &fixed));
        self.put("static", build("segments", Libc::Glibc, &["-static"]));
        self.put("explained", build("explained", Libc::Glibc, &[]));
        self.put("no_thp", build("no_thp", Libc::Glibc, &[]));
        self.put("no_mremap", build("no_mremap", Libc::Glibc, &[]));
        self.put("set-user-id", build("segments", Libc::Glibc, &fixed));
        self.put("unreadable", build("segments", Libc::Glibc, &fixed));
        self.mode("set-user-id", 0o4755);
        self.mode("unreadable", 0o711);
        self.text("one.sh", &format!("#!{}\n", self.path("two.sh").display()));
        self.text(
            "two.sh",
            &format!("#!{}\n", self.path("segments").display()),
        );
        self.early(&fixed);
        let flags = ["-fno-builtin", "-DOWN"];
        self.put("own", build("own_memory", Libc::Glibc, &flags));
    }

    /// Creates a program whose library starts a thread before ours is initialised.
    fn early(&self, fixed: &[&str]) {
        let dir = self.dir.path().display().to_string();
        self.text("early.c", EARLY);
        self.shell(&format!(
            "cc -shared -fPIC -pthread {dir}/early.c -o {dir}/libearly.so"
        ));
        let (at, found) = (format!("-L{dir}"), format!("-Wl,-rpath,{dir}"));
        let library = ["-Wl,--no-as-needed", &at, &found, "-learly"];
        self.put(
            "early",
            build_as(
                "segments-early",
                "segments",
                Libc::Glibc,
                &[fixed, &library].concat(),
            ),
        );
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn open_to_all(&self, name: &str) {
        self.mode(name, 0o755);
    }

    fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn put(&self, name: &str, program: Option<PathBuf>) {
        if let Some(program) = program {
            copy(program, self.path(name));
            self.mode(name, 0o755);
        }
    }

    fn text(&self, name: &str, text: &str) {
        write(&self.path(name), text.as_bytes());
        self.mode(name, 0o755);
    }

    /// Sets up a situation, or reports a skipped test.
    pub(super) fn enter<'w>(&'w self, situation: &'w Situation) -> Option<Place<'w>> {
        let can_start = match situation.before.split(' ').next() {
            None | Some("") => true,
            Some(starter) => starter.contains('/') || programs(situation.name, &[starter]),
        };
        can_start.then_some(())?;
        let taken = self.taken_pages();
        self.live.set_pool(situation.pool + taken);
        self.shell("hugeadm --thp-madvise --thp-shmem never --set-shm-group root");
        let group = match situation.group {
            table::Group::No => None,
            table::Group::Hugetlb(file, limit) => {
                let group = self.live.hugetlb_group(situation.name)?;
                group.limit(self.live.default_size(), file, limit);
                Some(group)
            }
        };
        self.shell(situation.set);
        let program = situation
            .line
            .split(' ')
            .find_map(|word| word.strip_prefix("DIR/"));
        let is_there = program.is_none_or(|program| self.path(program).exists());
        is_there.then_some(Place {
            world: self,
            situation,
            group,
        })
    }

    /// Returns the pages in use or reserved, such as shared copies of text.
    fn taken_pages(&self) -> u64 {
        let now = self.live.now();
        let pool = now.default_pool().unwrap();
        pool.total.get() - pool.free.get() + pool.reserved.get()
    }

    fn shell(&self, line: &str) -> Ran {
        let ran = self.try_shell(line);
        assert_eq!(ran.status, 0, "{line}: {ran:?}");
        ran
    }

    fn try_shell(&self, line: &str) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdin(Stdio::null()).env_clear();
        let path = self.path("bin");
        command.env(
            "PATH",
            format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", path.display()),
        );
        command.env("LC_ALL", "C");
        command.ran()
    }
}

impl Place<'_> {
    /// Replaces `DIR` and `GROUP`.
    fn line(&self, text: &str) -> String {
        let group = self
            .group
            .as_ref()
            .map(|group| group.path.display().to_string());
        let dir = self.world.dir.path().display().to_string();
        text.replace("GROUP", &group.unwrap_or_default())
            .replace("DIR", &dir)
    }

    /// Runs a suggested command.
    pub(super) fn shell(&self, command: &str) {
        self.world.shell(command);
    }

    pub(super) fn explain(&self, before: &str) -> Answer {
        let line = format!("{before} hugectl --explain --json {}", self.situation.line);
        let ran = self.world.try_shell(&self.line(&line));
        let document = serde_json::from_str(&ran.out);
        let document = document.unwrap_or_else(|error| panic!("{line}: {error}: {ran:?}"));
        Answer {
            status: ran.status,
            document,
        }
    }

    /// Checks that the shortfall's figure is in the kernel file that it names.
    pub(super) fn check_cause(&self, answer: &Answer, situation: &Situation) {
        let Some(short) = answer.shortfall(situation.fact) else {
            return;
        };
        let (Some(file), Some(value)) = (short.file, short.value) else {
            return;
        };
        let is_kernels = file.starts_with("/sys/") || file.starts_with("/proc/sys/");
        if is_kernels && Path::new(&file).is_file() {
            let text = fs::read_to_string(&file).unwrap();
            let figure = value.split(' ').next().unwrap_or_default();
            let name = situation.name;
            assert!(text.contains(figure), "{name}: {file}: {text}, not {value}");
        }
    }

    /// Runs the program with a report.
    pub(super) fn run(&self, before: &str) -> Done {
        let report = self.world.path("report");
        write(&report, b"");
        self.world.mode("report", 0o666);
        let line = format!(
            "{before} hugectl --report=DIR/report {}",
            self.situation.line
        );
        let ran = self.world.try_shell(&self.line(&line));
        let text = fs::read_to_string(&report).unwrap();
        Done {
            status: ran.status,
            err: ran.err,
            reports: text
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
        }
    }

    /// Compares a run with its prediction, if the library has reported.
    pub(super) fn compare(&self, answer: &Answer, done: &Done, name: &str) {
        for segment in ["text", "data", "bss", "heap", "shm"] {
            let rungs = answer.rungs(segment);
            let (Some(first), false) = (rungs.first(), done.reports.is_empty()) else {
                continue;
            };
            let (resident, huge, how) = done.measured(segment, answer.object(segment));
            let is_as_predicted = match (segment, first.as_str()) {
                (_, "unknown") => true,
                // Whether a thread runs already is unpredictable; the library warns.
                ("data" | "bss", _) if done.err.contains(THREADS) => answer.has_message("threads"),
                // shmget may fail where mmap does not.
                ("shm", "pool") if answer.shortfall("use shmget").is_some() => huge == 0,
                ("heap" | "shm", _) if resident < 1 << 20 => true,
                // A mapping gets all of its pages or none.
                ("shm", "pool") => huge == if answer.fits(resident) { resident } else { 0 },
                ("heap", "pool") => how.contains("hugetlb"),
                // Base pages are allowed: the head of a heap stays on them.
                ("heap" | "shm", "thp") => how == "thp",
                ("heap" | "shm", _) => huge * 2 < resident,
                // The kernel may lack a free huge page.
                _ if rungs.iter().any(|rung| rung == "thp") => {
                    let predicted = answer.huge(segment);
                    huge <= predicted && predicted <= huge * 2
                }
                _ => answer.huge(segment) == huge,
            };
            assert!(is_as_predicted, "{name}: {segment}: {answer:?}\n{done:?}");
        }
        assert!(done.err.len() < 4096, "{name}: {done:?}");
    }
}
