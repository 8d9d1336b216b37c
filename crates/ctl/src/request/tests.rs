use super::*;
use crate::args;
use hugetools_contract::segment::Segment;

fn request(line: &str) -> Result<Request, Failure> {
    let words = std::iter::once("hugectl").chain(line.split(' ').filter(|w| !w.is_empty()));
    Request::from_args(args::parse(words.map(OsString::from)).unwrap())
}

pub(crate) fn run_request(line: &str) -> Run {
    match request(line).unwrap() {
        Request::Run(run) => run,
        _ => panic!("{line}: not a request to start a program"),
    }
}

#[test]
fn page_sizes_and_library_paths() {
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
        assert_eq!(run_request(line).heap, heap, "{line}");
    }
    assert_eq!(
        run_request("--shm=0x40000000 x").shm,
        Some(Pages::Size(1 << 30))
    );
    assert_eq!(
        run_request("--fallback=base x").fallback,
        Some(Fallback::Base)
    );
    let library = |line| run_request(line).library;
    assert_eq!(library("x"), Library::Auto);
    let line = "--library-use-path --library-path /p x";
    assert_eq!(library(line), Library::At("/p".into()));
    let line = "--library-path /p --library-use-path x";
    assert_eq!(library(line), Library::ByName);
}

#[test]
fn required_segments_are_requested() {
    let segments = |line| run_request(line).segments;
    let both = segments("--bss=thp --require=data,bss x");
    assert_eq!((both.data, both.bss), (None, Some(Pages::Thp)));
    let bss = segments("--require=text:90,bss x");
    assert_eq!((bss.data, bss.bss), (None, Some(Pages::Default)));
    assert_eq!(bss.text, Some(Pages::Default));
    let none = run_request("--no-preload --force-preload --require=heap x");
    assert!(!none.require.has(Segment::Data));
}

#[test]
fn errors_name_the_option() {
    for (line, message) in [
        ("--shm=0 x", "--shm=0: must not be zero"),
        ("--heap=0 --thp x", "--heap=0: must not be zero"),
        ("--heap=2mfoo x", "--heap=2mfoo: unknown unit"),
        ("--stack-depth prog", "--stack-depth=prog: not a size"),
        (
            "--emit=docker a b",
            "--emit=docker takes one unit or image, not b",
        ),
        (
            "--emit=docker --json a",
            "--emit starts no program, so --json has no",
        ),
        ("--tree prog", "--tree needs --status"),
        (
            "--status a/b",
            "--status a/b: expected a process ID or a name",
        ),
        ("--status -5", "--status -5: not a process ID"),
    ] {
        let failure = request(line).unwrap_err();
        assert_eq!(failure.status(), 125, "{line}");
        assert!(
            failure.to_string().starts_with(message),
            "{line}: {failure}"
        );
    }
}

#[test]
fn emit_names_a_unit_and_runs_no_program() {
    let Ok(Request::Emit(emit)) = request("--emit=systemd --shm no-such-unit") else {
        panic!("not a request to emit")
    };
    assert_eq!((emit.kind, emit.run.command.len()), (EmitKind::Systemd, 0));
    assert_eq!(emit.name, Some("no-such-unit".into()));
    assert!(emit.run.dry_run);
}
