use super::*;
use crate::args;
use hugetools_contract::segment::Segment;

fn request(line: &str) -> Result<Request, Failure> {
    let words = std::iter::once("hugectl").chain(line.split(' ').filter(|w| !w.is_empty()));
    Request::from_args(args::parse(words.map(OsString::from)).unwrap())
}

pub(crate) fn run(line: &str) -> Run {
    match request(line).unwrap() {
        Request::Run(run) => run,
        _ => panic!("{line} starts a program"),
    }
}

#[test]
fn sizes_and_words() {
    let two = Pages::Size(2 << 20);
    for (line, heap) in [
        ("x", None),
        ("--heap x", Some(Pages::Default)),
        ("--heap=2MiB x", Some(two)),
        ("--heap=THP x", Some(Pages::Thp)),
        ("--thp x", Some(Pages::Thp)),
        ("--thp --heap x", Some(Pages::Thp)),
        ("--heap --thp x", Some(Pages::Thp)),
        ("--heap=2M --thp x", Some(Pages::Thp)),
        ("--thp --heap=2M x", Some(Pages::Thp)),
        ("--require=heap x", Some(Pages::Default)),
        ("--heap=thp --require=heap x", Some(Pages::Thp)),
    ] {
        assert_eq!(run(line).heap, heap, "{line}");
    }
    assert_eq!(run("--shm=0x40000000 x").shm, Some(Pages::Size(1 << 30)));
    assert_eq!(run("--fallback=base x").fallback, Some(Fallback::Base));
    let library = |line| run(line).library;
    assert_eq!(library("x"), Library::Auto);
    let last = "--library-use-path --library-path /p x";
    assert_eq!(library(last), Library::At("/p".into()));
    let last = "--library-path /p --library-use-path x";
    assert_eq!(library(last), Library::ByName);
}

#[test]
fn segments_that_are_required_are_asked_for() {
    let segments = |line| run(line).segments;
    let both = segments("--bss=thp --require=data,bss x");
    assert_eq!((both.data, both.bss), (None, Some(Pages::Thp)));
    let bss = segments("--require=text:90,bss x");
    assert_eq!((bss.data, bss.bss), (None, Some(Pages::Default)));
    assert_eq!(bss.text, Some(Pages::Default));
    let none = run("--no-preload --force-preload --require=heap x");
    assert!(!none.require.has(Segment::Data));
}

#[test]
fn errors_name_the_option() {
    for (line, said) in [
        ("--shm=0 x", "--shm=0: must not be zero"),
        ("--heap=0 --thp x", "--heap=0: must not be zero"),
        ("--heap=2mfoo x", "--heap=2mfoo: unknown unit"),
        ("--stack-depth prog", "--stack-depth=prog: not a size"),
        (
            "--emit=docker a b",
            "--emit=docker: one unit or image, and not b",
        ),
        (
            "--emit=docker --json a",
            "--emit starts no program, so --json has no",
        ),
        ("--tree prog", "--tree needs --status"),
        ("--status a/b", "--status a/b: neither the number"),
        ("--status -5", "--status -5: not the number of a process"),
    ] {
        let failure = request(line).unwrap_err();
        assert_eq!(failure.status(), 125, "{line}");
        assert!(failure.to_string().starts_with(said), "{line}: {failure}");
    }
}

#[test]
fn a_unit_is_not_a_program() {
    let Ok(Request::Emit(emit)) = request("--emit=systemd --shm no-such-unit") else {
        panic!("a unit")
    };
    assert_eq!((emit.kind, emit.run.command.len()), (EmitKind::Systemd, 0));
    assert_eq!(emit.name, Some("no-such-unit".into()));
    assert!(emit.run.dry_run);
}
