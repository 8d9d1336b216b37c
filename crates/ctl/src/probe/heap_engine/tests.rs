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

fn decided_by(asked: Wants, means: Means, look: &Look) -> (Engine, Option<&'static str>, String) {
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
    assert!(said.contains("Warning: the heap stays as it is") && said.contains("defines malloc"));
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
