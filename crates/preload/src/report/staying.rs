//! What a program leaves running when it ends: of one that starts a server and
//! goes, the server is what the report was asked for.
//!
//! Those stay that this process has started, or whose environment names it as
//! the one that reports, and that began after it: its number may have been
//! another's before. Of a family the eldest stands for all.

use core::fmt::{self, Write};

use hugetools_contract::env;
use hugetools_contract::report::{self, Lossy, Origin, Proof};
use hugetools_contract::segment::{self, Row};
use hugetools_kernfs::smaps::records;
use hugetools_kernfs::{auxv, environ, number};
use hugetools_pages::kernel::facts;
use hugetools_pages::kernel::kin::{self, Kin};
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::rt::path::Path;
use hugetools_pages::sys::{self, Dir};

use crate::report::{mapped_files, report_file};
use crate::rt::scratch::{self, Text};

/// So many are looked for.
const MOST: usize = 256;

/// Of so many there is a table.
const REPORTED: usize = 4;

const NOBODY: Kin = Kin {
    pid: 0,
    parent: 0,
    is_over: true,
    start: 0,
};

/// Reports on them.
pub(crate) fn report() -> Option<()> {
    let family = family()?;
    let is_eldest = |kin: &&Kin| !family.iter().any(|other| other.pid == kin.parent);
    // People are shown some; whoever reads JSON has all.
    let most = if report_file::is_json() {
        MOST
    } else {
        REPORTED
    };
    for kin in family.iter().filter(is_eldest).take(most) {
        let _ = report_on(*kin);
    }
    let more = family.iter().filter(is_eldest).count().saturating_sub(most);
    // Its children have what it has, unless they lost it on their way.
    let others = family.iter().filter(|kin| !is_eldest(kin));
    for kin in others.filter(|kin| has_nothing(kin.pid)).take(most) {
        let _ = report_on(*kin);
    }
    if more > 0 {
        say(
            Level::Warning,
            format_args!("{more} more processes still run: hugectl --status says what they have"),
        );
    }
    Some(())
}

/// All that stay.
fn family() -> Option<&'static [Kin]> {
    let own = Kin::own()?;
    let found = scratch::values(MOST, NOBODY)?;
    let mut count = 0;
    Dir::open(c"/proc").ok()?.each(|name| {
        let pid = number::leading(name.to_bytes()).and_then(|pid| u32::try_from(pid).ok());
        let kin = pid.filter(|pid| *pid != own.pid).and_then(Kin::of);
        let kin = kin.filter(|kin| !kin.is_over && kin.start >= own.start);
        if let Some(kin) = kin.filter(|kin| kin.parent == own.pid || names(kin.pid, own.pid)) {
            if let Some(place) = found.get_mut(count) {
                *place = kin;
                count += 1;
            }
        }
    });
    Some(leave_shells_out(found.get_mut(..count)?))
}

/// Leaves out scripts that keep a server running: it is what was asked about.
fn leave_shells_out(family: &mut [Kin]) -> &[Kin] {
    let mut left = 0;
    for at in 0..family.len() {
        let Some(kin) = family.get(at).copied() else {
            break;
        };
        let has_child = family.iter().any(|other| other.parent == kin.pid);
        if !(has_child && report::is_shell(exe(kin.pid))) {
            family[left] = kin;
            left += 1;
        }
    }
    &family[..left]
}

/// Whether the environment of a process has this one report.
fn names(pid: u32, own: u32) -> bool {
    let value = |environment: &[u8]| {
        let value = environ::variable(environment, env::REPORT_PID);
        value.and_then(number::leading) == Some(u64::from(own))
    };
    let path = Path::of(format_args!("/proc/{pid}/environ"));
    path.and_then(|path| scratch::look(path.c_str(), value)) == Some(true)
}

/// Whether none of our libraries is in a process, for certain.
fn has_nothing(pid: u32) -> bool {
    let path = Path::of(format_args!("/proc/{pid}/maps"));
    let look = |maps: &[u8]| is_whole(maps) && !is_reached(maps);
    path.and_then(|path| scratch::look(path.c_str(), look)) == Some(true)
}

/// Whether a process began with rights that are not its user's.
fn is_secure(pid: u32) -> bool {
    let path = Path::of(format_args!("/proc/{pid}/auxv"));
    let told = path.and_then(|path| scratch::look(path.c_str(), auxv::is_secure));
    told.flatten() == Some(true)
}

fn report_on(kin: Kin) -> Option<()> {
    let pid = kin.pid;
    let exe = exe(pid);
    let mut buffer = [0; kin::NAME];
    let name = kin::name(pid, &mut buffer).unwrap_or(report::base(exe));
    let path = Path::of(format_args!("/proc/{pid}/smaps"))?;
    let smaps = scratch::read(path.c_str()).unwrap_or_default();
    let shown = Lossy(name);
    if smaps.is_empty() {
        return tell(
            (kin, exe, name),
            format_args!(
                "process {pid} ({shown}) still runs and may not be looked at: hugectl --status \
                 {pid} as its user, or as root, says what it has"
            ),
        );
    }
    if !is_reached(smaps) {
        // It is ending.
        is_whole(smaps).then_some(())?;
        let why = match is_secure(pid) {
            true => {
                "it was started with rights that are not its user's (AT_SECURE), and the loader of \
                 such a program takes no library from its environment; hugectl --pid, as root, \
                 reaches it"
            }
            false => {
                "what started it dropped LD_PRELOAD, or it takes no library; start hugectl behind \
                 what drops it"
            }
        };
        return tell(
            (kin, exe, name),
            format_args!("process {pid} ({shown}) still runs and has nothing of hugectl's: {why}"),
        );
    }
    let extents = mapped_files::find(smaps);
    let rows = scratch::values(1024, Row::EMPTY)?;
    let filled = segment::sort(records(smaps), facts::thp_size() as u64, extents, rows);
    let mut host = [0; 65];
    let proof = Proof {
        pid,
        exe,
        name,
        origin: origin(kin, &mut host),
        rows: rows.get(..filled)?,
        required: &[],
        warning: None,
        life: None,
    };
    let mut text = Text::with_room(1 << 20)?;
    if !report_file::is_json() {
        let line = "still running, as it is now (later: hugectl --status";
        writeln!(text, "{line} {pid}):").ok()?;
    }
    report_file::write(&proof, &mut text).ok()?;
    report_file::send(text.bytes())
}

/// Says what is amiss with a process, in the form that reports have.
fn tell((kin, exe, name): (Kin, &[u8], &[u8]), text: fmt::Arguments<'_>) -> Option<()> {
    if !report_file::is_json() {
        say(Level::Warning, text);
        return Some(());
    }
    let mut warning = Text::with_room(8192)?;
    warning.write_fmt(text).ok()?;
    let mut host = [0; 65];
    let proof = Proof {
        pid: kin.pid,
        exe,
        name,
        origin: origin(kin, &mut host),
        rows: &[],
        required: &[],
        warning: core::str::from_utf8(warning.bytes()).ok(),
        life: None,
    };
    let mut line = Text::with_room(32 << 10)?;
    report_file::write(&proof, &mut line).ok()?;
    report_file::send(line.bytes())
}

/// Where one runs.
fn origin(kin: Kin, host: &mut [u8; 65]) -> Origin<'_> {
    let path = Path::of(format_args!("/proc/{}/environ", kin.pid));
    let rank = path.and_then(|path| scratch::look(path.c_str(), report::rank));
    Origin {
        host: sys::host(host).map(str::as_bytes),
        rank: rank.flatten(),
        parent: Some(kin.parent),
    }
}

/// Whether that is all of a process: of one that ends meanwhile it is the first part,
/// without the stack, which lies behind all libraries.
fn is_whole(maps: &[u8]) -> bool {
    records(maps).any(|record| record.name == b"[stack]")
}

/// Whether one of our libraries is in a process.
fn is_reached(smaps: &[u8]) -> bool {
    records(smaps).any(|record| {
        let file = record.name.rsplit(|byte| *byte == b'/').next();
        file.is_some_and(|file| file.starts_with(b"libhugetlbfs"))
    })
}

/// Its executable; `?` where that may not be seen.
fn exe(pid: u32) -> &'static [u8] {
    let name = || {
        let path = Path::of(format_args!("/proc/{pid}/exe"))?;
        let buffer = scratch::bytes(4096)?;
        let len = sys::read_link(path.c_str(), buffer).ok()?;
        buffer.get(..len)
    };
    name().unwrap_or(b"?")
}
