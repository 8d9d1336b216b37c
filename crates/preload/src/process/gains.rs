//! A program that gains rights by its file, as one that is set-user-id: its loader takes
//! no library from its user. hugectl sees it in a command line. Where a shell becomes
//! such a program it is said here, and it does not begin where something is required.

use core::ffi::CStr;
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

use hugetools_contract::ledger::Kind;
use hugetools_pages::config::environment::Variables;
use hugetools_pages::config::{self, Config};
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::rt::path::Path;
use hugetools_pages::sys::{self, Filter, Gains};

/// The process in which this library began: no child that was forked.
static BEGAN: AtomicU32 = AtomicU32::new(0);

/// Remembers the process.
pub(crate) fn begin() {
    BEGAN.store(sys::getpid(), Ordering::Relaxed);
}

/// Looks at the program that this process becomes, by its file; whether it may begin.
pub(crate) fn look_at(path: &CStr) -> bool {
    let config = config::get();
    let of_whom = |whom| Some((whom, sys::gains(path)?));
    let Some((whom, gains)) = whom(config).and_then(of_whom) else {
        return true;
    };
    let is_required = config.require.is_any() && whom == Whom::Own;
    let text = Text(path, gains);
    match is_required {
        true => say(
            Level::Error,
            format_args!("--require is not met, and the program is not started: {text}"),
        ),
        false => say(
            config::level_once(Kind::Gains),
            format_args!("nothing of it can be put on huge pages: {text}"),
        ),
    }
    !is_required
}

/// The same of a program that is looked for in `PATH`.
pub(crate) fn look_for(name: &CStr) -> bool {
    let bytes = name.to_bytes();
    if bytes.contains(&b'/') {
        return look_at(name);
    }
    if bytes.is_empty() || whom(config::get()).is_none() {
        return true;
    }
    let variables = Variables::find();
    let dirs = variables.and_then(|variables| variables.get("PATH"));
    let dirs = dirs.unwrap_or(b"/bin:/usr/bin");
    let mut paths = dirs.split(|byte| *byte == b':').filter_map(|dir| {
        let parts = (core::str::from_utf8(dir), core::str::from_utf8(bytes));
        let (Ok(dir), Ok(name)) = parts else {
            return None;
        };
        Path::of(format_args!("{dir}/{name}"))
    });
    let found = paths.find(|path| !sys::is_gone(path.c_str()));
    found.is_none_or(|path| look_at(path.c_str()))
}

/// Who becomes another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whom {
    /// The process that hugectl started.
    Own,
    /// A child of it, as a shell starts programs. Of it nothing is required.
    Child,
}

/// Who this is; `None` for all others, and where nothing is asked for.
fn whom(config: &Config) -> Option<Whom> {
    let began = BEGAN.load(Ordering::Relaxed);
    let is_named =
        config.starter.map(|starter| starter.pid) == Some(began) || config.speaker == Some(began);
    if sys::filter() == Filter::Own || began == 0 || !(is_named || config.require.is_any()) {
        return None;
    }
    if sys::getpid() == began {
        return Some(Whom::Own);
    }
    (sys::getppid() == began).then_some(Whom::Child)
}

/// Why nothing of ours is in it.
struct Text<'a>(&'a CStr, Gains);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Text(path, gains) = self;
        let gains = match gains {
            Gains::User => "set-user-id",
            Gains::Group => "set-group-id",
            Gains::Capabilities => "given capabilities by its file",
        };
        let path = path.to_str().unwrap_or("the program");
        write!(
            f,
            "{path} is {gains}, and the loader of such a program takes no library from its user"
        )
    }
}
