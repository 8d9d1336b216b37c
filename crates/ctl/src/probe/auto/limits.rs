//! What no option reaches in this program is not chosen for it: the heap of a program with
//! its own allocator, and most memory of a static one.

use crate::caller::Caller;
use crate::probe::allocator::{self, Own};
use crate::probe::command_line::known_programs::entry::{Entry, Text};
use crate::probe::dynamic_loader::glibc_tunables;
use crate::probe::target::{Image, Opened};

const HEAP: [&str; 2] = ["--heap", "--thp"];

/// Options that need a library in the program.
const OF_LIBRARY: [&str; 5] = ["--anon", "--bss", "--data", "--shm", "--stack"];

/// Removes the options that would do nothing for the program; `why` becomes the reason.
pub(super) fn apply(entry: &mut Entry, opened: &Opened, caller: &Caller) {
    match &opened.target.image {
        Image::Static => {
            let has_tunable = matches!(
                glibc_tunables::is_known_to(&opened.target.program),
                Ok(true)
            );
            let heap = HEAP.iter().filter(|_| !has_tunable);
            let options: Vec<&str> = OF_LIBRARY.iter().chain(heap).copied().collect();
            let why = "the program is static, so no library can be added to it";
            remove(entry, &options, why.to_owned());
        }
        Image::Dynamic(_) if has_any(entry, &HEAP) => {
            if let Some(own) = own(opened, caller) {
                keep_allocator(entry, &own);
            }
        }
        _ => {}
    }
}

fn own(opened: &Opened, caller: &Caller) -> Option<Own> {
    let (Image::Dynamic(libc), Some(elf)) = (&opened.target.image, &opened.elf) else {
        return None;
    };
    let found = allocator::find(&allocator::Subject {
        program: &opened.target.program,
        elf,
        libc: *libc,
        library_path: caller.var("LD_LIBRARY_PATH"),
    });
    found.own
}

/// Replaces the heap by private mappings, where the allocator is known to use them.
fn keep_allocator(entry: &mut Entry, own: &Own) {
    let is_reached = own.is_reached_by_anon();
    let why = match is_reached {
        true => format!("{}, which --anon reaches", own.fact()),
        false => own.fact(),
    };
    remove(entry, &HEAP, why);
    if is_reached && !has_any(entry, &["--anon"]) {
        entry.auto.to_mut().push(Text::Borrowed("--anon"));
    }
}

fn has_any(entry: &Entry, options: &[&str]) -> bool {
    entry.auto.iter().any(|option| is_among(option, options))
}

fn is_among(option: &str, options: &[&str]) -> bool {
    let name = option.split('=').next().unwrap_or_default();
    options.contains(&name)
}

fn remove(entry: &mut Entry, options: &[&str], why: String) {
    if has_any(entry, options) {
        entry
            .auto
            .to_mut()
            .retain(|option| !is_among(option, options));
        entry.why = Some(why.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            name: Text::Borrowed("x"),
            exe: Vec::new().into(),
            needed: Vec::new().into(),
            symbols: Vec::new().into(),
            inside: None,
            memory: None,
            anon: None,
            takes: None,
            bans: false,
            own: None,
            done: Default::default(),
            auto: vec![Text::Borrowed("--text"), Text::Borrowed("--heap=thp")].into(),
            why: Some(Text::Borrowed("x")),
            beware: None,
        }
    }

    #[test]
    fn a_program_with_its_own_allocator_keeps_it() {
        let mut firefox = entry();
        keep_allocator(&mut firefox, &Own::Defined);
        assert_eq!(firefox.auto.as_ref(), ["--text"]);
        assert!(firefox.why.unwrap().contains("defines malloc"));
        let mut redis = entry();
        let by = "/bin/redis".into();
        let own = Own::Called {
            symbol: "mallocx",
            by,
            is_jemalloc: true,
        };
        keep_allocator(&mut redis, &own);
        assert_eq!(redis.auto.as_ref(), ["--text", "--anon"]);
    }
}
