use super::*;
use crate::probe::target::SecureExec;
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
            secure_exec: None,
        }),
        ..Look::default()
    }
}

/// Asserts the decision for `--heap`: the malloc, the library, and a part of its reason.
fn check(
    look: &Look,
    preload: Preload,
    asked: Option<HeapEngine>,
    (engine, library, said): (Engine, Option<&str>, &str),
) {
    let wants = Wants {
        heap: Some(Pages::Default),
        ..Wants::default()
    };
    let means = Means {
        preload,
        engine: asked,
        chosen: Subject::NONE,
    };
    let decision = decide(wants, means, look);
    let notes: Vec<&str> = decision.notes.iter().map(|note| &*note.text).collect();
    let notes = notes.join("\n");
    let context = format!("{look:?} {preload:?} {asked:?}: {notes}");
    assert_eq!(decision.engine, engine, "{context}");
    assert_eq!(decision.library, library, "{context}");
    assert!(notes.contains(said), "{context}");
    assert_eq!(notes.is_empty(), said.is_empty(), "{context}");
}

#[test]
fn which_library_and_why() {
    use Preload::{Always, Auto, Never};
    let (heap, other) = (Some(HEAP_LIBRARY), Some(LIBRARY));
    let (arena, libc) = (Some(HeapEngine::Arena), Some(HeapEngine::Libc));
    let mut dynamic = look(Image::Dynamic(Libc::Glibc));
    check(&dynamic, Auto, None, (Engine::Arena, heap, ""));
    check(
        &dynamic,
        Never,
        None,
        (Engine::Linked, None, "--no-preload"),
    );
    check(
        &dynamic,
        Auto,
        libc,
        (Engine::None, other, "older than 2.35"),
    );
    dynamic.tunable = true;
    check(&dynamic, Auto, libc, (Engine::Libc, other, KEPT));
    dynamic.own = Some(Own::Defined);
    check(
        &dynamic,
        Auto,
        None,
        (Engine::None, other, "defines malloc"),
    );
    check(&dynamic, Always, None, (Engine::Arena, heap, ""));
    check(
        &dynamic,
        Always,
        libc,
        (Engine::None, other, "defines malloc"),
    );
    let musl = look(Image::Dynamic(Libc::Musl));
    check(&musl, Auto, libc, (Engine::None, other, "is musl"));
    let unknown = look(Image::Unknown("unreadable".to_owned()));
    check(&unknown, Auto, None, (Engine::Arena, heap, ""));
    let mut fixed = look(Image::Static);
    check(&fixed, Auto, None, (Engine::None, heap, "no glibc of 2.35"));
    fixed.tunable = true;
    check(&fixed, Auto, None, (Engine::Libc, heap, STATIC));
    check(&fixed, Never, None, (Engine::Libc, None, STATIC));
    check(&fixed, Auto, arena, (Engine::Libc, heap, "cannot be had"));
    check(&fixed, Auto, libc, (Engine::Libc, other, STATIC));
    let mut ident = Ident::native();
    ident.machine.0 ^= 1;
    let foreign = look(Image::Foreign(ident));
    check(
        &foreign,
        Auto,
        None,
        (Engine::None, None, "with status 126"),
    );
    check(&foreign, Always, None, (Engine::Arena, heap, ""));
    let mut secure = look(Image::Dynamic(Libc::Glibc));
    secure.target.as_mut().unwrap().secure_exec = Some(SecureExec::SetUserId);
    check(&secure, Auto, None, (Engine::None, None, "is set-user-id"));
}
