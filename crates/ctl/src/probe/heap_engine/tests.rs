use super::*;
use crate::probe::target::Secure;
use crate::probe::target::elf_layout::Layout;
use hugetools_contract::env::Pages;

fn look(image: Image) -> Look {
    Look {
        target: Some(Target {
            path: "/bin/x".into(),
            is_text: false,
            through: Vec::new(),
            program: "/bin/x".into(),
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

fn own() -> Look {
    Look {
        own: Some(Own::Defined),
        ..dynamic()
    }
}

fn with_tunable(look: Look) -> Look {
    Look {
        tunable: true,
        ..look
    }
}

#[test]
fn which_library_and_why() {
    use HeapEngine as Asked;
    use Preload::{Always, Auto, Never};
    let mut secure = dynamic();
    secure.target.as_mut().unwrap().secure = Some(Secure::SetUserId);
    let mut foreign = Ident::native();
    foreign.machine.0 ^= 1;
    let foreign = || look(Image::Foreign(foreign));
    let unknown = look(Image::Unknown("unreadable".to_owned()));
    let musl = look(Image::Dynamic(Libc::Musl));
    let is_static = || look(Image::Static);
    let (heap, other) = (Some(HEAP_LIBRARY), Some(LIBRARY));
    let arena = Some(Asked::Arena);
    let libc = Some(Asked::Libc);
    for (look, preload, asked, engine, library, said) in [
        (dynamic(), Auto, None, Engine::Arena, heap, ""),
        (dynamic(), Never, None, Engine::Linked, None, "--no-preload"),
        (unknown, Auto, None, Engine::Arena, heap, ""),
        (own(), Auto, None, Engine::None, other, "defines malloc"),
        (own(), Always, None, Engine::Arena, heap, ""),
        (own(), Always, libc, Engine::None, other, "defines malloc"),
        (secure, Auto, None, Engine::None, None, "is set-user-id"),
        (
            foreign(),
            Auto,
            None,
            Engine::None,
            None,
            "ends with status 126",
        ),
        (foreign(), Always, None, Engine::Arena, heap, ""),
        (
            is_static(),
            Auto,
            None,
            Engine::None,
            heap,
            "no glibc of 2.35",
        ),
        (
            with_tunable(is_static()),
            Auto,
            None,
            Engine::Libc,
            heap,
            STATIC,
        ),
        (
            with_tunable(is_static()),
            Never,
            None,
            Engine::Libc,
            None,
            STATIC,
        ),
        (
            with_tunable(is_static()),
            Auto,
            arena,
            Engine::Libc,
            heap,
            "cannot be had",
        ),
        (
            with_tunable(is_static()),
            Auto,
            libc,
            Engine::Libc,
            other,
            STATIC,
        ),
        (
            with_tunable(dynamic()),
            Auto,
            libc,
            Engine::Libc,
            other,
            KEPT,
        ),
        (
            dynamic(),
            Auto,
            libc,
            Engine::None,
            other,
            "older than 2.35",
        ),
        (musl, Auto, libc, Engine::None, other, "is musl"),
    ] {
        let wants = Wants {
            heap: Some(Pages::Default),
            ..Wants::default()
        };
        let means = Means {
            preload,
            engine: asked,
            chosen: Subject::NONE,
        };
        let decision = decide(wants, means, &look);
        let notes: Vec<&str> = decision.notes.iter().map(|note| &*note.text).collect();
        let notes = notes.join("\n");
        let context = format!("{look:?} {preload:?} {asked:?}: {notes}");
        assert_eq!(decision.engine, engine, "{context}");
        assert_eq!(decision.library, library, "{context}");
        assert!(notes.contains(said), "{context}");
        assert_eq!(notes.is_empty(), said.is_empty(), "{context}");
    }
}

#[test]
fn without_a_heap_the_small_library_is_enough() {
    let shm = Wants {
        shm: Some(Pages::Default),
        ..Wants::default()
    };
    let means = Means {
        preload: Preload::Auto,
        engine: None,
        chosen: Subject::NONE,
    };
    for wants in [shm, Wants::default()] {
        let decision = decide(wants, means, &own());
        assert_eq!(
            (decision.engine, decision.library),
            (Engine::None, Some(LIBRARY))
        );
        assert!(decision.notes.is_empty());
    }
}
