//! How the request can be met for this target: which library goes with it,
//! and what serves its heap.

use std::path::PathBuf;

use hugetools_contract::env::{HEAP_LIBRARY, LIBRARY};

use crate::probe::allocator::Own;
use crate::probe::command_line::known_programs::Beyond;
use crate::probe::command_line::known_programs::entry::Entry;
use crate::probe::kernel::Wants;
use crate::probe::target::{Image, Libc, Target};
use crate::request::{HeapEngine, Preload, Run};
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

use self::unreachable::unreachable;

mod unreachable;

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
    /// The program that it leads to, where it only changes how that one runs.
    pub behind: Option<Target>,
    /// Its own allocator, where a heap is asked for.
    pub own: Option<Own>,
    /// Whether its glibc knows the tunable, where that matters; `None` where the file
    /// that says so cannot be read, as of a program that may only be executed.
    pub tunable: Option<bool>,
    /// What is to be said of memory that is not malloc's, where a heap is asked
    /// for.
    pub beyond: Option<Beyond>,
    /// A script, and the word by which it names the program that it becomes, where that
    /// cannot be read from its text.
    pub unread: Option<(PathBuf, String)>,
    /// What is known of the program, where a heap is asked for or all is explained.
    pub(crate) known: Option<Entry>,
    /// What of the tables of known programs cannot be used.
    pub(crate) faults: Vec<String>,
}

const STATIC: &str = "the program is static, so no library can be added to it";

const BY_PID: &str = "hugectl --pid reaches it once it runs";

const HEAP_STAYS: &str = "the heap stays on base pages";

const KEPT: &str = "the heap stays with the program's own glibc, which GLIBC_TUNABLES tells";

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

/// What the command line says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// Whether the library is preloaded.
    pub preload: Preload,
    /// Who is to serve the heap, where that is said.
    pub engine: Option<HeapEngine>,
    /// What nobody has asked for but `--auto`.
    pub(crate) chosen: Subject,
}

impl Means {
    /// Those of a command line.
    pub fn of(run: &Run) -> Means {
        Means {
            preload: run.preload,
            engine: run.engine,
            chosen: match &run.chosen {
                Some(chosen) => chosen.subject,
                None => Subject::NONE,
            },
        }
    }

    fn wants_libc(self) -> bool {
        self.engine == Some(HeapEngine::Libc)
    }
}

/// Decides. `asked` is what is asked for, by option or variable.
pub fn decide(asked: Wants, means: Means, look: &Look) -> Decision {
    let preload = means.preload;
    let mut decision = Decision {
        engine: Engine::None,
        library: None,
        notes: Vec::new(),
    };
    decision.notes.extend(look.faults.iter().map(Note::warning));
    let forced = preload == Preload::Always;
    let heap = asked.heap.is_some();
    let image = look.target.as_ref().map(|target| &target.image);
    let mut programs = look.target.iter().chain(&look.behind);
    if let Some(why) = programs.find_map(unreachable).filter(|_| !forced) {
        decision.fall_short(why.outcome("nothing can be put on huge pages"));
        return decision;
    }
    let is_static = image == Some(&Image::Static);
    decision.engine = match (heap, &look.own) {
        (false, _) => Engine::None,
        (true, _) if is_static && look.tunable == Some(true) => Engine::Libc,
        (true, _) if is_static => Engine::None,
        (true, Some(_)) if !forced || means.wants_libc() => Engine::None,
        (true, _) if means.wants_libc() => decision.ask_libc(image, look.tunable),
        (true, _) if preload == Preload::Never => Engine::Linked,
        (true, _) => Engine::Arena,
    };
    decision.say_means(means, heap);
    if is_static {
        decision.say_static(asked, means, look.tunable);
    } else if let Some(behind) = &look.behind {
        decision.say_static_behind(asked, behind);
    }
    if let (Some(own), true) = (&look.own, heap && (!forced || means.wants_libc())) {
        let short = Shortfall::new(Subject::HEAP, own.fact()).outcome("the heap stays as it is");
        // Where more is known of its memory, that is said by itself.
        let by_anon = own.is_reached_by_anon() && asked.anon.is_none() && look.beyond.is_none();
        decision.fall_short(match by_anon {
            true => short.advise("--anon reaches it"),
            false => short,
        });
    }
    // Of a static program it is said that it is one.
    let short = |beyond: &Beyond| beyond.shortfall(heap, asked.anon.is_some() && !is_static);
    if let Some(short) = look.beyond.as_ref().and_then(short) {
        // What --auto chose does what it can.
        match short.subject | means.chosen == means.chosen {
            true => decision.notes.push(Note::info(short.to_string())),
            false => decision.fall_short(short),
        }
    }
    if let (Some((script, word)), true) = (&look.unread, heap) {
        decision.notes.push(Note::info(format!(
            "what {} becomes cannot be read from its text ({word}): whether that takes its memory \
             from malloc is not known",
            script.display()
        )));
    }
    if preload != Preload::Never {
        // Children of a static program may still be served.
        let children = is_static && !means.wants_libc();
        let with_heap = heap && (decision.engine == Engine::Arena || children);
        decision.library = Some(if with_heap { HEAP_LIBRARY } else { LIBRARY });
    } else if asked.are_any() {
        decision.notes.push(Note::info(
            "--no-preload: only programs linked with libhugetlbfs follow the variables",
        ));
    }
    decision
}

impl Decision {
    fn warn(&mut self, text: String) {
        self.notes.push(Note::warning(text));
    }

    fn fall_short(&mut self, short: Shortfall) {
        self.notes.push(Note::short(Level::Warning, short));
    }

    /// Leaves the heap to the program's libc, if that can be told.
    fn ask_libc(&mut self, image: Option<&Image>, tunable: Option<bool>) -> Engine {
        let why = match image {
            // Without a program nothing is known against it.
            None | Some(Image::Unknown(_)) => None,
            Some(Image::Dynamic(Libc::Glibc)) => match tunable {
                Some(true) => None,
                Some(false) => Some("the program's glibc is older than 2.35".to_owned()),
                None => Some("which one the program has cannot be read".to_owned()),
            },
            Some(Image::Dynamic(Libc::Musl)) => Some("the program's C library is musl".to_owned()),
            Some(_) => Some("the program's C library is not known".to_owned()),
        };
        let Some(why) = why else {
            self.notes
                .push(Note::info(format!("{KEPT} (--heap-engine=libc)")));
            return Engine::Libc;
        };
        let fact = format!("--heap-engine=libc needs glibc 2.35 or later, and {why}");
        self.fall_short(Shortfall::new(Subject::HEAP, fact).outcome(HEAP_STAYS));
        Engine::None
    }

    fn say_means(&mut self, means: Means, heap: bool) {
        if means.engine.is_some() && !heap {
            self.warn("--heap-engine does nothing without --heap".to_owned());
        }
    }

    fn say_static(&mut self, asked: Wants, means: Means, tunable: Option<bool>) {
        match (asked.heap.is_some(), tunable) {
            (true, Some(true)) if means.engine == Some(HeapEngine::Arena) => self.warn(format!(
                "--heap-engine=arena cannot be had: {STATIC}; {KEPT}"
            )),
            (true, Some(true)) => self.notes.push(Note::info(format!("{KEPT}: {STATIC}"))),
            (true, tunable) => {
                let glibc = match tunable {
                    None => "whether its glibc could be told cannot be read",
                    _ => "it has no glibc of 2.35 or later, which could be told",
                };
                let fact = format!("{STATIC}, and {glibc}");
                let short = Shortfall::new(Subject::HEAP, fact).outcome(HEAP_STAYS);
                self.fall_short(short.advise(BY_PID));
            }
            (false, _) => {}
        }
        let rows = [
            (asked.shm, Subject::SHM, "shared memory stays as it is"),
            (
                asked.anon,
                Subject::ANON,
                "private mappings stay as they are",
            ),
            (asked.stack, Subject::STACK, "stacks stay as they are"),
            (asked.data, Subject::DATA, "data and bss stay on base pages"),
        ];
        for (_, subject, stay) in rows.into_iter().filter(|(asked, ..)| asked.is_some()) {
            let short = Shortfall::new(subject, STATIC).outcome(stay);
            let by_pid = subject == Subject::ANON;
            self.fall_short(if by_pid { short.advise(BY_PID) } else { short });
        }
    }
}

impl Decision {
    /// What a wrapper leads to takes no library that the wrapper takes.
    fn say_static_behind(&mut self, asked: Wants, behind: &Target) {
        let of = |is_asked: bool, subject| if is_asked { subject } else { Subject::NONE };
        let subject = of(asked.heap.is_some(), Subject::HEAP)
            | of(asked.shm.is_some(), Subject::SHM)
            | of(asked.anon.is_some(), Subject::ANON)
            | of(asked.stack.is_some(), Subject::STACK)
            | of(asked.data.is_some(), Subject::DATA);
        if behind.image != Image::Static || subject.is_none() {
            return;
        }
        let program = behind.program.display();
        let fact = format!("{program} is static, so no library can be added to it");
        let (names, stay) = (subject.names(), subject.verb("stays", "stay"));
        let short = Shortfall::new(subject, fact).outcome(format!("{names} {stay} as before"));
        self.fall_short(short.advise(format!("start hugectl right before {program}")));
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
    use hugetools_elf::Ident;

    use super::*;
    use crate::probe::target::Secure;
    use crate::probe::target::elf_layout::Layout;
    use hugetools_contract::env::Pages;
    use std::path::PathBuf;

    fn look(image: Image) -> Look {
        Look {
            target: Some(Target {
                path: PathBuf::from("/bin/x"),
                is_text: false,
                through: Vec::new(),
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
        let means = Means {
            preload,
            engine: None,
            chosen: Subject::NONE,
        };
        decided_by(asked, means, look)
    }

    fn decided_by(
        asked: Wants,
        means: Means,
        look: &Look,
    ) -> (Engine, Option<&'static str>, String) {
        let decision = decide(asked, means, look);
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

    /// Memory that no option reaches is a shortfall of what was typed, not of a choice.
    #[test]
    fn a_choice_by_auto_does_not_fall_short() {
        let look = Look {
            beyond: Some(Beyond {
                memory: "its own heap".to_owned(),
                fact: "its own heap is not malloc's".to_owned(),
                instead: "hugectl --pid reaches it".to_owned(),
                by_anon: Some(false),
                in_part: false,
            }),
            ..dynamic()
        };
        let asked = Wants {
            heap: Some(Pages::Thp),
            ..Wants::default()
        };
        for (chosen, level) in [(Subject::HEAP, "Info"), (Subject::NONE, "Warning")] {
            let means = Means {
                preload: Preload::Auto,
                engine: None,
                chosen,
            };
            let (.., said) = decided_by(asked, means, &look);
            assert!(said.starts_with(level), "{said}");
        }
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
        assert!(said.contains("could be told cannot be read"), "{said}");
        look.tunable = Some(false);
        let (.., said) = decided(true, true, Preload::Auto, &look);
        assert!(said.contains("no glibc of 2.35 or later"), "{said}");
        look.tunable = Some(true);
        let (engine, _, said) = decided(true, false, Preload::Never, &look);
        assert_eq!(engine, Engine::Libc);
        assert!(!said.contains("Warning"), "{said}");
    }

    #[test]
    fn libc_serves_where_it_is_asked_to_and_can() {
        let heap = Wants {
            heap: Some(Pages::Default),
            ..Wants::default()
        };
        let by = |engine, look: &Look| {
            let means = Means {
                preload: Preload::Auto,
                engine: Some(engine),
                chosen: Subject::NONE,
            };
            decided_by(heap, means, look)
        };
        let told = Look {
            tunable: Some(true),
            ..dynamic()
        };
        let (engine, library, said) = by(HeapEngine::Libc, &told);
        assert_eq!((engine, library), (Engine::Libc, Some(LIBRARY)));
        assert!(said.starts_with("Info: the heap stays with"), "{said}");
        assert_eq!(by(HeapEngine::Arena, &told).0, Engine::Arena);
        let old = Look {
            tunable: Some(false),
            ..dynamic()
        };
        for (look, why) in [
            (old, "older than 2.35"),
            (dynamic(), "cannot be read"),
            (look(Image::Dynamic(Libc::Musl)), "is musl"),
            (look(Image::Dynamic(Libc::Other)), "is not known"),
        ] {
            let (engine, _, said) = by(HeapEngine::Libc, &look);
            assert_eq!(engine, Engine::None);
            assert!(said.contains(why), "{said}");
        }
        let own = Look {
            own: Some(Own::Defined),
            ..told
        };
        let (engine, _, said) = by(HeapEngine::Libc, &own);
        assert_eq!(engine, Engine::None);
        assert_eq!(said.matches("Warning").count(), 1, "{said}");
    }

    #[test]
    fn a_static_program_cannot_have_our_malloc() {
        let look = Look {
            tunable: Some(true),
            ..look(Image::Static)
        };
        let heap = Wants {
            heap: Some(Pages::Default),
            ..Wants::default()
        };
        for (engine, level, library) in [
            (None, "Info", HEAP_LIBRARY),
            (Some(HeapEngine::Arena), "Warning", HEAP_LIBRARY),
            (Some(HeapEngine::Libc), "Info", LIBRARY),
        ] {
            let means = Means {
                preload: Preload::Auto,
                engine,
                chosen: Subject::NONE,
            };
            let (served, found, said) = decided_by(heap, means, &look);
            assert_eq!((served, found), (Engine::Libc, Some(library)));
            assert!(said.starts_with(level) && said.contains(STATIC), "{said}");
        }
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
