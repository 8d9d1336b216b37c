//! How the request can be met for this target: which library goes with it,
//! and what serves its heap.

use hugetools_contract::env::{HEAP_LIBRARY, LIBRARY};
use hugetools_elf::Ident;

use crate::allocator::Own;
use crate::kernel::Wants;
use crate::note::Note;
use crate::request::Preload;
use crate::target::{Image, Libc, Target};

/// What serves the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Our library's own `malloc`.
    Arena,
    /// The C library's `malloc`, told by a tunable.
    Libc,
    /// What the program is linked with; only variables are set.
    Linked,
    /// Nothing of ours.
    None,
}

/// What was found out about the target, as far as it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// The target; `None` in a dry run without a program.
    pub target: Option<Target>,
    /// Its own allocator, where a heap is asked for.
    pub own: Option<Own>,
    /// Whether its static glibc knows the tunable, where a heap is asked for.
    pub tunable: bool,
}

/// How the request can be met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What serves the heap.
    pub engine: Engine,
    /// The library to preload.
    pub library: Option<&'static str>,
    /// What there is to say about it.
    pub notes: Vec<Note>,
}

/// Decides. `asked` is what is asked for, by option or variable.
pub fn decide(asked: Wants, preload: Preload, look: &Look) -> Decision {
    let mut decision = Decision {
        engine: Engine::None,
        library: None,
        notes: Vec::new(),
    };
    let forced = preload == Preload::Always;
    let heap = asked.heap.is_some();
    let image = look.target.as_ref().map(|target| &target.image);
    if let Some(why) = look
        .target
        .as_ref()
        .and_then(unreachable)
        .filter(|_| !forced)
    {
        decision.warn(format!("nothing can be put on huge pages: {why}"));
        return decision;
    }
    let is_static = image == Some(&Image::Static);
    decision.engine = match (heap, &look.own) {
        (false, _) => Engine::None,
        (true, _) if is_static && look.tunable => Engine::Libc,
        (true, _) if is_static => Engine::None,
        (true, Some(_)) if !forced => Engine::None,
        (true, _) if preload == Preload::Never => Engine::Linked,
        (true, _) => Engine::Arena,
    };
    if is_static {
        decision.say_static(asked, look.tunable);
    }
    if let (Some(own), true, false) = (&look.own, heap, forced) {
        let text = format!("the heap stays as it is: the program has its own allocator ({own})");
        decision.warn(text);
    }
    if preload != Preload::Never {
        // Children of a static program may still be served.
        let with_heap = heap && (decision.engine == Engine::Arena || is_static);
        decision.library = Some(if with_heap { HEAP_LIBRARY } else { LIBRARY });
    } else if asked.are_any() {
        decision.notes.push(Note::info(
            "--no-preload: only programs linked with libhugetlbfs follow the variables",
        ));
    }
    decision
}

/// Why nothing of ours can get into the program.
fn unreachable(target: &Target) -> Option<String> {
    let name = target.program.display();
    if let Some(secure) = target.secure {
        return Some(format!(
            "{name} is {secure}, and the loader of such a program takes no library from its user"
        ));
    }
    match &target.image {
        Image::Foreign(ident) => Some(format!(
            "{name} is for {ident}, our libraries are for {}",
            Ident::native()
        )),
        _ => None,
    }
}

impl Decision {
    fn warn(&mut self, text: String) {
        self.notes.push(Note::warning(text));
    }

    fn say_static(&mut self, asked: Wants, tunable: bool) {
        const STATIC: &str = "the program is static, so no library can be added to it";
        match (asked.heap.is_some(), tunable) {
            (true, true) => self.notes.push(Note::info(
                "the heap stays with the program's own glibc, which GLIBC_TUNABLES tells",
            )),
            (true, false) => self.warn(format!(
                "the heap stays on base pages: {STATIC}, and it has no glibc of 2.35 or later, which could be told"
            )),
            (false, _) => {}
        }
        if asked.shm.is_some() {
            self.warn(format!("shared memory stays as it is: {STATIC}"));
        }
        if asked.data.is_some() {
            self.warn(format!("data and bss stay on base pages: {STATIC}"));
        }
    }
}

/// What `-v` says about the target.
pub fn describe(target: &Target) -> Note {
    let kind = match &target.image {
        Image::Dynamic(Libc::Other) => "dynamic, with an unknown C library".to_owned(),
        Image::Dynamic(libc) => format!("dynamic, with {libc}"),
        Image::Static => "static".to_owned(),
        Image::Foreign(ident) => format!("for {ident}"),
        Image::Unknown(why) => format!("of an unknown kind ({why})"),
    };
    let (path, program) = (target.path.display(), target.program.display());
    Note::info(match target.path == target.program {
        true => format!("{path} is {kind}"),
        false => format!("{path} is run by {program}, which is {kind}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::target::Secure;
    use hugetools_contract::env::Pages;
    use std::path::PathBuf;

    fn look(image: Image) -> Look {
        Look {
            target: Some(Target {
                path: PathBuf::from("/bin/x"),
                is_text: false,
                program: PathBuf::from("/bin/x"),
                image,
                layout: Layout::default(),
                secure: None,
            }),
            ..Look::default()
        }
    }

    fn dynamic() -> Look {
        look(Image::Dynamic(Libc::Glibc))
    }

    fn decided(
        heap: bool,
        shm: bool,
        preload: Preload,
        look: &Look,
    ) -> (Engine, Option<&'static str>, String) {
        let pages = |asked: bool| asked.then_some(Pages::Default);
        let asked = Wants {
            heap: pages(heap),
            shm: pages(shm),
            ..Wants::default()
        };
        let decision = decide(asked, preload, look);
        let line = |note: &Note| format!("{:?}: {}", note.level, note.text);
        let notes: Vec<String> = decision.notes.iter().map(line).collect();
        (decision.engine, decision.library, notes.join("\n"))
    }

    #[test]
    fn one_library_or_the_other() {
        let heap = decided(true, true, Preload::Auto, &dynamic());
        assert_eq!(heap, (Engine::Arena, Some(HEAP_LIBRARY), String::new()));
        let shm = decided(false, true, Preload::Auto, &dynamic());
        assert_eq!(shm, (Engine::None, Some(LIBRARY), String::new()));
        let nothing = decided(false, false, Preload::Auto, &dynamic());
        assert_eq!(nothing, (Engine::None, Some(LIBRARY), String::new()));
        let linked = decided(true, false, Preload::Never, &dynamic());
        assert_eq!((linked.0, linked.1), (Engine::Linked, None));
    }

    #[test]
    fn a_program_with_its_own_allocator_keeps_it() {
        let look = Look {
            own: Some(Own::Defined),
            ..dynamic()
        };
        let (engine, library, said) = decided(true, false, Preload::Auto, &look);
        assert_eq!((engine, library), (Engine::None, Some(LIBRARY)));
        assert!(
            said.contains("Warning: the heap stays as it is") && said.contains("defines malloc")
        );
        let forced = decided(true, false, Preload::Always, &look);
        assert_eq!(forced, (Engine::Arena, Some(HEAP_LIBRARY), String::new()));
    }

    #[test]
    fn static_programs_are_told_by_a_tunable_or_not_at_all() {
        let mut look = look(Image::Static);
        let (engine, library, said) = decided(true, true, Preload::Auto, &look);
        assert_eq!((engine, library), (Engine::None, Some(HEAP_LIBRARY)));
        assert_eq!(said.matches("Warning").count(), 2, "{said}");
        look.tunable = true;
        let (engine, _, said) = decided(true, false, Preload::Never, &look);
        assert_eq!(engine, Engine::Libc);
        assert!(!said.contains("Warning"), "{said}");
    }

    #[test]
    fn what_cannot_be_reached_gets_no_library() {
        let mut secure = dynamic();
        secure.target.as_mut().unwrap().secure = Some(Secure::SetUserId);
        let mut ident = Ident::native();
        ident.machine.0 ^= 1;
        for look in [secure, look(Image::Foreign(ident))] {
            let (engine, library, said) = decided(true, true, Preload::Auto, &look);
            assert_eq!((engine, library), (Engine::None, None));
            assert!(said.contains("nothing can be put on huge pages"), "{said}");
            assert_eq!(
                decided(true, true, Preload::Always, &look).1,
                Some(HEAP_LIBRARY)
            );
        }
        let unknown = look(Image::Unknown("cannot be read".to_owned()));
        assert_eq!(
            decided(true, false, Preload::Auto, &unknown).1,
            Some(HEAP_LIBRARY)
        );
    }

    #[test]
    fn the_target_in_one_line() {
        let mut target = dynamic().target.unwrap();
        assert_eq!(describe(&target).text, "/bin/x is dynamic, with glibc");
        target.program = PathBuf::from("/bin/sh");
        assert_eq!(
            describe(&target).text,
            "/bin/x is run by /bin/sh, which is dynamic, with glibc"
        );
    }
}
