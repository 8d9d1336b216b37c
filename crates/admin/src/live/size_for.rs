//! `--size-for`: reads smaps or an ELF file, or asks PostgreSQL or Java.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hugetools_elf::Elf;
use hugetools_model::process::{self, Pid};
use hugetools_model::root::error::describe;
use hugetools_model::smaps::{Record, records};
use hugetools_model::{PageSize, Root};

use crate::listing::size_for::{Part, SizeFor};

/// Returns the pages that `what` needs: a PID, a program, `postgres:DATADIR` or
/// `java:ARGS`. Programs are searched in `path`.
pub fn size_for(
    root: &Root,
    what: &str,
    size: PageSize,
    path: Option<&OsStr>,
) -> Result<SizeFor, String> {
    let kinds = what.split_once(':');
    let (size, parts, note) = match (what.parse().ok().and_then(Pid::new), kinds) {
        (Some(pid), _) => (size, of_process(root, pid, size)?, None),
        (None, Some(("postgres", dir))) => of_postgres(Path::new(dir), size, path)?,
        (None, Some(("java", args))) => (size, of_java(args, size, path)?, None),
        (None, _) => (size, of_program(what, size, path)?, Some(HEAP_UNKNOWN)),
    };
    let note = note.map(str::to_owned);
    Ok(SizeFor::new(what, size, parts, note))
}

const HEAP_UNKNOWN: &str =
    "The heap is not included: start the program, then run hugeadm --size-for PID.";

/// Counts resident private memory, but shared and reserved mappings whole, as the kernel reserves
/// them. Private mappings below a huge page are added up, as if they shared huge pages.
fn of_process(root: &Root, pid: Pid, size: PageSize) -> Result<Vec<Part>, String> {
    let smaps = process::read_smaps(root, pid).map_err(|error| match error.errno() {
        Some(libc::ENOENT | libc::ESRCH) => {
            format!("there is no process {pid} that this user can see")
        }
        Some(libc::EACCES | libc::EPERM) => {
            format!("{error}\n  run as the owner of process {pid}, or with CAP_SYS_PTRACE")
        }
        _ => error.to_string(),
    })?;
    if smaps.is_empty() {
        return Err("it has no memory: a kernel thread, or it has ended".to_owned());
    }
    let [mut private, mut shared] = [(0, 0, 0); 2];
    let mut small = 0;
    let is_reserved = |record: &Record<'_>| record.has_flag(b"ht") && !record.has_flag(b"nr");
    let used = records(&smaps).filter(|record| record.resident() > 0 || is_reserved(record));
    for record in used.filter(|record| may_be_huge(record) || is_reserved(record)) {
        if !record.shared && record.mapped() < size.get() {
            small += record.resident();
            continue;
        }
        let (sum, more) = match (record.shared, is_reserved(&record)) {
            (true, _) => (&mut shared, record.mapped()),
            (false, true) => (&mut private, record.mapped()),
            (false, false) => (&mut private, record.resident()),
        };
        let (count, bytes, pages) = *sum;
        *sum = (count + 1, bytes + more, pages + more.div_ceil(size.get()));
    }
    let parts = [("private", private), ("shared", shared)];
    let part = |(name, (count, bytes, pages)): (&str, (u64, u64, u64))| Part {
        part: format!(
            "{name} memory in {count} {}",
            if count == 1 { "mapping" } else { "mappings" }
        ),
        bytes,
        pages,
    };
    let mut parts = parts.map(part).to_vec();
    let name = format!("private memory in mappings below {size}");
    parts.insert(1, Part::new(&name, small, size));
    parts.retain(|part| part.bytes > 0);
    Ok(parts)
}

/// Whether huge pages can hold the mapping. They can't hold files, stacks or kernel mappings.
fn may_be_huge(record: &Record<'_>) -> bool {
    let begins = |names: &[&str]| {
        names
            .iter()
            .any(|it| record.name.starts_with(it.as_bytes()))
    };
    let is_shm = begins(&[
        "/dev/zero",
        "/SYSV",
        "/dev/shm/",
        "/memfd:",
        "/anon_hugepage",
    ]);
    let is_anon = record.name.is_empty() || begins(&["[heap]", "[anon"]);
    is_shm || is_anon || record.hugetlb > 0
}

/// Returns a name with a slash as it is, else the first file of that name in `path`.
fn find(name: &str, path: Option<&OsStr>) -> Result<PathBuf, String> {
    if name.contains('/') {
        return Ok(PathBuf::from(name));
    }
    let dirs = path.map(std::env::split_paths).into_iter().flatten();
    let mut files = dirs.map(|dir| dir.join(name));
    let found = files.find(|file| fs::metadata(file).is_ok_and(|it| it.is_file()));
    found.ok_or_else(|| format!("there is no program {name} in PATH"))
}

/// Sizes text, data and bss, rounded down; alignment may take one page more.
fn of_program(name: &str, size: PageSize, path: Option<&OsStr>) -> Result<Vec<Part>, String> {
    let file = find(name, path)?;
    let shown = file.display();
    let mut options = OpenOptions::new();
    let opened = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(&file);
    let opened = opened.map_err(|error| format!("cannot read {shown}: {}", describe(&error)))?;
    let elf =
        Elf::read(opened).map_err(|why| format!("{shown}: {why}\n  start it, and give its PID"))?;
    let [mut text, mut data, mut bss] = [0; 3];
    for load in elf.loads() {
        match (load.writable, load.executable) {
            (true, _) => {
                data += load.file_size;
                bss += load.memory_size.saturating_sub(load.file_size);
            }
            (false, true) => text += load.memory_size,
            (false, false) => {}
        }
    }
    let part = |(name, bytes): (&str, u64)| Part {
        part: name.to_owned(),
        bytes,
        pages: bytes / size.get(),
    };
    Ok([("text", text), ("data", data), ("bss", bss)]
        .map(part)
        .to_vec())
}

/// The page size, the parts, and memory that they don't include.
type Found = (PageSize, Vec<Part>, Option<&'static str>);

fn not_a_data_directory(version: &Path, error: &io::Error) -> String {
    let next = match error.kind() {
        io::ErrorKind::NotFound => {
            "\n  give the server's data directory; on Debian, pg_lsclusters shows it"
        }
        _ => "",
    };
    format!("{}: {}{next}", version.display(), describe(error))
}

/// Asks the server's program. It loads the libraries that the settings in DATADIR name, so root does
/// not run it.
fn of_postgres(dir: &Path, size: PageSize, path: Option<&OsStr>) -> Result<Found, String> {
    if nix::unistd::geteuid().is_root() {
        return Err(format!(
            "PostgreSQL does not run as root\n  as the server's user: \
             runuser -u postgres -- hugeadm --size-for postgres:{}",
            dir.display()
        ));
    }
    let number = version_of(&dir.join("PG_VERSION"))?;
    let server = server(&number, path)?;
    // `run` changes to the root directory.
    let dir = std::path::absolute(dir).unwrap_or_default();
    // Debian's place for the configuration of a cluster.
    let name = dir.file_name().unwrap_or_default();
    let debian = Path::new("/etc/postgresql").join(&number).join(name);
    let debian = debian.join("postgresql.conf");
    let ask = |setting: &str| {
        let mut command = Command::new(&server);
        // The user may be unable to read the key of SSL.
        command
            .args(["-C", setting, "-c", "ssl=off", "-D"])
            .arg(&dir);
        if !dir.join("postgresql.conf").exists() {
            command
                .arg("-c")
                .arg(format!("config_file={}", debian.display()));
        }
        let text = run(command)?;
        text.trim()
            .parse::<u64>()
            .map_err(|_| format!("{setting} is {}", text.trim()))
    };
    // PostgreSQL 14 added this setting, in kB. 0 is the default size.
    let own_size = ask("huge_page_size").ok().and_then(PageSize::from_kib);
    let size = own_size.unwrap_or(size);
    let name = "shared memory as the server computes it";
    match ask("shared_memory_size_in_huge_pages") {
        Ok(pages) => {
            let (part, bytes) = (name.to_owned(), pages.saturating_mul(size.get()));
            Ok((size, vec![Part { part, bytes, pages }], None))
        }
        Err(why) if why.contains("unrecognized configuration parameter") => {
            let bytes = ask("shared_buffers")?.saturating_mul(8 << 10);
            let note = "Add a few percent; PostgreSQL 15 and later report the exact number.";
            let part = Part::new("shared_buffers", bytes, size);
            Ok((size, vec![part], Some(note)))
        }
        Err(why) if why.contains("postmaster.pid") => Err(
            "the server is running\n  psql -c 'SHOW shared_memory_size_in_huge_pages' shows the number"
                .to_owned(),
        ),
        Err(why) => Err(why),
    }
}

fn version_of(file: &Path) -> Result<String, String> {
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(libc::O_NONBLOCK).open(file);
    let text = opened
        .and_then(std::io::read_to_string)
        .map_err(|error| not_a_data_directory(file, &error))?;
    Ok(text.trim().to_owned())
}

/// Returns the server's program. Debian keeps servers outside PATH, by version.
fn server(version: &str, path: Option<&OsStr>) -> Result<PathBuf, String> {
    let debian = PathBuf::from(format!("/usr/lib/postgresql/{version}/bin/postgres"));
    match debian.exists() {
        true => Ok(debian),
        false => find("postgres", path),
    }
}

/// Asks the JVM for the memory that it puts on huge pages.
fn of_java(args: &str, size: PageSize, path: Option<&OsStr>) -> Result<Vec<Part>, String> {
    let mut command = Command::new(find("java", path)?);
    command
        .args(args.split_whitespace())
        .args(["-XX:+PrintFlagsFinal", "-version"]);
    let flags = run(command)?;
    let flag = |name: &str| {
        let mut lines = flags.lines().map(|line| line.split_whitespace().skip(1));
        lines.find_map(|mut words| (words.next() == Some(name)).then(|| words.nth(1))?)
    };
    let bytes = |name: &str| {
        let value = flag(name).and_then(|value| value.parse::<u64>().ok());
        value.ok_or_else(|| format!("this Java has no {name}"))
    };
    let heap = bytes("MaxHeapSize")?;
    let mut parts = vec![
        Part::new("MaxHeapSize", heap, size),
        Part::new(
            "ReservedCodeCacheSize",
            bytes("ReservedCodeCacheSize")?,
            size,
        ),
    ];
    if flag("UseG1GC") == Some("true") {
        // JDK 17: two bitmaps, a bit per 8 bytes; three tables, a byte per 512.
        let tables = heap / 64 * 2 + heap / 512 * 3;
        parts.push(Part::new("tables of G1", tables, size));
    }
    Ok(parts)
}

/// Runs a program and returns its output, or the first line of its errors.
fn run(mut command: Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ran = command.stdin(Stdio::null()).current_dir("/").output();
    let ran = ran.map_err(|error| format!("cannot start {name}: {}", describe(&error)))?;
    if !ran.status.success() {
        let stderr = String::from_utf8_lossy(&ran.stderr);
        let line = stderr.lines().next().unwrap_or("no output").to_owned();
        return Err(format!("{name}: {line}"));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}
