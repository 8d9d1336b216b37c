use super::*;
use crate::probe::target::SecureExec;
use crate::probe::target::elf_layout::Layout;
use crate::request::tests::run_request;
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

/// Asserts the decision for `--heap` with these options: malloc, library, part of the notes.
fn check(look: &Look, options: &str, (engine, library, text): (Engine, Option<&str>, &str)) {
    let wants = Wants {
        heap: Some(Pages::Default),
        ..Wants::default()
    };
    let run = run_request(&format!("{options} x"));
    let decision = decide(wants, &run, look);
    let notes: Vec<&str> = decision.notes.iter().map(|note| &*note.text).collect();
    let notes = notes.join("\n");
    let context = format!("{look:?} {options}: {notes}");
    assert_eq!(decision.engine, engine, "{context}");
    assert_eq!(decision.library, library, "{context}");
    assert!(notes.contains(text), "{context}");
    assert_eq!(notes.is_empty(), text.is_empty(), "{context}");
}

#[test]
fn malloc_and_library_of_each_program() {
    let (heap, other) = (Some(HEAP_LIBRARY), Some(LIBRARY));
    let libc = "--heap-engine=libc";
    let mut dynamic = look(Image::Dynamic(Libc::Glibc));
    check(&dynamic, "", (Engine::Arena, heap, ""));
    let linked = (Engine::Linked, None, "--no-preload");
    check(&dynamic, "--no-preload", linked);
    check(&dynamic, libc, (Engine::None, other, "older than 2.35"));
    dynamic.tunable = true;
    check(&dynamic, libc, (Engine::Libc, other, KEPT));
    dynamic.own = Some(Own::Defined);
    let kept = (Engine::None, other, "defines malloc");
    check(&dynamic, "", kept);
    check(&dynamic, "--force-preload", (Engine::Arena, heap, ""));
    check(&dynamic, "--force-preload --heap-engine=libc", kept);
    let musl = look(Image::Dynamic(Libc::Musl));
    check(&musl, libc, (Engine::None, other, "is musl"));
    let unknown = look(Image::Unknown("unreadable".to_owned()));
    check(&unknown, "", (Engine::Arena, heap, ""));
    let mut fixed = look(Image::Static);
    check(&fixed, "", (Engine::None, heap, "no glibc of 2.35"));
    fixed.tunable = true;
    check(&fixed, "", (Engine::Libc, heap, STATIC));
    check(&fixed, "--no-preload", (Engine::Libc, None, STATIC));
    let arena = (Engine::Libc, heap, "has no effect");
    check(&fixed, "--heap-engine=arena", arena);
    check(&fixed, libc, (Engine::Libc, other, STATIC));
    let mut ident = Ident::native();
    ident.machine.0 ^= 1;
    let foreign = look(Image::Foreign(ident));
    check(&foreign, "", (Engine::None, None, "with status 126"));
    check(&foreign, "--force-preload", (Engine::Arena, heap, ""));
    let mut secure = look(Image::Dynamic(Libc::Glibc));
    secure.target.as_mut().unwrap().secure_exec = Some(SecureExec::SetUserId);
    check(&secure, "", (Engine::None, None, "is set-user-id"));
}
