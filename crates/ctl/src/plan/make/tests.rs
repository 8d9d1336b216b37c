use super::*;
use crate::args;
use crate::probe;
use crate::probe::allocator::Own;
use crate::probe::command_line::names;
use crate::probe::coverage::alignment::Parts;
use crate::probe::coverage::page_cache::{Prepared, State, Why};
use crate::probe::heap_engine::Look;
use crate::probe::kernel::{Kernel, Wants};
use crate::probe::target::elf_layout::Layout;
use crate::probe::target::{Libc, Target};
use crate::request::Preload;
use crate::request::{Library, Request, verbosity};
use crate::say::messages;
use crate::wait::To;
use hugetools_contract::env::Settings;
use hugetools_elf::Load;
use hugetools_model::PageSize;
use std::time::Duration;

mod only_thp;
mod segment_notes;
mod whom;

fn caller(env: &[(&str, &str)]) -> Caller {
    let env = env.iter().map(|(name, value)| (name.into(), value.into()));
    let mut caller = Caller::this(env);
    caller.pid = 42;
    caller
}

fn run(line: &str) -> Run {
    let words = std::iter::once("hugectl").chain(line.split(' '));
    match Request::from_args(args::parse(words.map(OsString::from)).unwrap()).unwrap() {
        Request::Run(run) => run,
        _ => panic!("{line} starts a program"),
    }
}

fn target(image: Image) -> Look {
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
    target(Image::Dynamic(Libc::Glibc))
}

/// A machine with all that can be asked for.
fn kernel() -> Kernel {
    use crate::probe::kernel::Source;
    use hugetools_model::PageCount;
    use hugetools_model::hugetlb::pool::Pool;
    use hugetools_model::thp::Thp;
    let size = PageSize::new(2 << 20).unwrap();
    let pages = PageCount::new(512);
    let pool = Pool {
        size,
        default: true,
        total: pages,
        free: pages,
        reserved: PageCount::ZERO,
        surplus: PageCount::ZERO,
        overcommit: None,
        demote_size: None,
    };
    Kernel {
        default: Some(size),
        sources: vec![Source {
            pool,
            limit: None,
            share: None,
            is_hidden: false,
        }],
        thp: Some(Thp {
            enabled: Some("madvise".to_owned()),
            defrag: None,
            shmem_enabled: Some("advise".to_owned()),
            pmd_size: None,
            sizes: Vec::new(),
        }),
        ..Kernel::default()
    }
}

/// The measures of the target, on a machine with pages of 2 MB.
fn measured(look: &Look, asked: Wants) -> Parts {
    let target = look.target.as_ref();
    let parts = target.map(|target| Parts::measure(target, asked, PageSize::new(2 << 20)));
    parts.unwrap_or_default()
}

/// Everything that a look would find, without looking.
fn findings(run: &Run, look: Look) -> Findings {
    let asked = Wants {
        heap: run.heap,
        shm: run.shm,
        anon: run.anon,
        stack: run.stack,
        text: run.segments.over(&Settings::default()).text,
        data: run.segments.over(&Settings::default()).data,
        fallback: run.fallback.unwrap_or_default(),
        require: run.require,
        hints: true,
        past_malloc: false,
        thorough: run.explain,
    };
    let decision = heap_engine::decide(asked, heap_engine::Means::of(run), &look);
    let library = decision
        .library
        .map(|name| Found::At(Path::new("/l").join(name)));
    Findings {
        starter: None,
        unknown_names: Vec::new(),
        verbosity: verbosity(2, &run.steps),
        elfmap: run.segments.over(&Settings::default()),
        parts: measured(&look, asked),
        asked,
        served: probe::served(
            asked,
            &decision,
            decision.library.is_some(),
            run.preload,
            &look,
        ),
        look,
        decision,
        library,
        only: run.only.clone(),
        limit: run.limit,
        library_dir: matches!(run.library, Library::At(_)).then(|| "/l".into()),
        kernel: kernel(),
        report: run.report.is_some().then(|| "/d/report".into()),
        policy_short: None,
        messages: run.messages.as_ref().map(messages::To::value),
    }
}

fn planned(line: &str, look: Look, env: &[(&str, &str)]) -> Plan {
    let run = run(line);
    let mut findings = findings(&run, look);
    let caller = caller(env);
    findings.only = names::in_force(&run, &caller);
    make(&run, &caller, &findings)
}

fn lines(plan: &Plan) -> Vec<String> {
    let shell = plan.to_string();
    let lines = shell.lines().take(plan.variables.len());
    lines.map(str::to_owned).collect()
}

fn warnings(plan: &Plan) -> Vec<&str> {
    let warnings = plan.notes.iter().filter(|note| note.level.is_shown(2));
    warnings.map(|note| note.text.as_str()).collect()
}

#[test]
fn variables_in_the_classic_order() {
    let plan = planned(
        "--heap=2MB --shm --fallback=base --report --json --verbose 99 x a",
        dynamic(),
        &[],
    );
    assert_eq!(
        plan.to_string(),
        "HUGETLB_DEBUG='yes'\nHUGETLB_VERBOSE='99'\nHUGETLB_MORECORE='2MB'\nHUGETLB_SHM='yes'\n\
         HUGETLB_STARTER=$$\nHUGETLB_FALLBACK='base'\nLD_PRELOAD='/l/libhugetlbfs_heap.so'\nHUGETLB_REPORT='-'\n\
         HUGETLB_REPORT_PID=$$\nHUGETLB_REPORT_JSON='yes'\nHUGETLB_PID=$$\nexport HUGETLB_DEBUG HUGETLB_VERBOSE \
         HUGETLB_MORECORE HUGETLB_SHM HUGETLB_STARTER HUGETLB_FALLBACK LD_PRELOAD HUGETLB_REPORT \
         HUGETLB_REPORT_PID HUGETLB_REPORT_JSON HUGETLB_PID\nexec 'x' 'a'\n"
    );
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
    assert_eq!(
        plan.report,
        Some(To::Terminal {
            json: true,
            warns: true
        })
    );
}

#[test]
fn only_what_is_asked_for_is_set() {
    let plan = planned("--shm x", dynamic(), &[]);
    let set = [
        "HUGETLB_VERBOSE='2'",
        "HUGETLB_SHM='yes'",
        "HUGETLB_STARTER=$$",
        "LD_PRELOAD='/l/libhugetlbfs.so'",
    ];
    assert_eq!(lines(&plan), set);
    let plan = planned("--no-preload --heap x", dynamic(), &[]);
    assert_eq!(
        lines(&plan),
        ["HUGETLB_VERBOSE='2'", "HUGETLB_MORECORE='yes'"]
    );
}

#[test]
fn nothing_asked_for_is_said() {
    let plan = planned("x", dynamic(), &[]);
    assert_eq!(
        lines(&plan),
        ["HUGETLB_VERBOSE='2'", "LD_PRELOAD='/l/libhugetlbfs.so'"]
    );
    assert!(warnings(&plan)[0].starts_with("nothing was asked for"));
}

#[test]
fn a_default_fallback_is_set_only_over_another() {
    let set = |env: &[(&str, &str)]| lines(&planned("--shm --fallback=thp x", dynamic(), env));
    assert!(
        !set(&[])
            .iter()
            .any(|line| line.starts_with("HUGETLB_FALLBACK"))
    );
    assert!(set(&[("HUGETLB_FALLBACK", "none")]).contains(&"HUGETLB_FALLBACK='thp'".to_owned()));
}

#[test]
fn what_is_preloaded_already_stays_behind_ours() {
    let run = run("--heap x");
    let findings = findings(&run, dynamic());
    let env = [("LD_PRELOAD", "/a.so /old/libhugetlbfs.so:/b.so")];
    let plan = make(&run, &caller(&env), &findings);
    let merged = "LD_PRELOAD='/l/libhugetlbfs_heap.so:/a.so:/b.so'";
    assert!(lines(&plan).iter().any(|line| line == merged), "{plan}");
}

#[test]
fn a_library_path_is_put_in_front_and_never_ends_in_a_colon() {
    let path = |env: &[(&str, &str)]| {
        let plan = planned("--library-path /p --shm x", dynamic(), env);
        lines(&plan)[1].clone()
    };
    assert_eq!(path(&[]), "LD_LIBRARY_PATH='/l'");
    assert_eq!(path(&[("LD_LIBRARY_PATH", "")]), "LD_LIBRARY_PATH='/l'");
    assert_eq!(
        path(&[("LD_LIBRARY_PATH", "/a::/l:/b:")]),
        "LD_LIBRARY_PATH='/l:/a:/b'"
    );
}

#[test]
fn a_program_with_its_own_allocator_is_not_told_of_a_heap() {
    let look = Look {
        own: Some(Own::Defined),
        ..dynamic()
    };
    let plan = planned("--heap --shm x", look, &[]);
    let set = [
        "HUGETLB_VERBOSE='2'",
        "HUGETLB_SHM='yes'",
        "HUGETLB_STARTER=$$",
        "LD_PRELOAD='/l/libhugetlbfs.so'",
    ];
    assert_eq!(lines(&plan), set);
    assert!(warnings(&plan)[0].contains("its own allocator"));
}

#[test]
fn a_static_glibc_is_told_by_its_tunables() {
    let tunables = |line: &str, env: &[(&str, &str)]| {
        let look = Look {
            tunable: true,
            ..target(Image::Static)
        };
        let plan = planned(line, look, env);
        let set = plan.variables.iter().find(|v| v.name == "GLIBC_TUNABLES");
        let value = set.map(|set| match &set.value {
            Value::Text(text) => text.to_str().unwrap().to_owned(),
            other => panic!("{other:?}"),
        });
        (value, warnings(&plan).join("\n"))
    };
    let own = format!(
        "glibc.malloc.mmap_threshold={}",
        (4 * size_of::<usize>()) << 20
    );
    let value = |text: &str| Some(format!("{text}:{own}"));
    assert_eq!(
        tunables("--heap x", &[]),
        (value("glibc.malloc.hugetlb=1"), String::new())
    );
    let (set, said) = tunables("--heap=2MB x", &[]);
    let padded = |text: String| format!("{text}:glibc.malloc.top_pad=4194304");
    assert_eq!(set, value("glibc.malloc.hugetlb=2").map(padded));
    let pad = [("GLIBC_TUNABLES", "glibc.malloc.top_pad=1")];
    let (set, _) = tunables("--heap=2MB x", &pad);
    assert!(!set.unwrap().contains("4194304"));
    assert!(said.contains("a forked child may be killed"), "{said}");
    let (set, _) = tunables("--heap=1GB x", &[]);
    assert_eq!(set, value("glibc.malloc.hugetlb=1073741824"));
    let old = [("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=7")];
    let merged = "glibc.malloc.mmap_threshold=7:glibc.malloc.hugetlb=1";
    assert_eq!(tunables("--thp x", &old).0.as_deref(), Some(merged));
    let kept = [("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2")];
    assert_eq!(tunables("--heap x", &kept).0, None);
}

#[test]
fn reports() {
    let plan = planned("--report=r x", dynamic(), &[]);
    assert_eq!(lines(&plan)[2], "HUGETLB_REPORT='/d/report'");
    assert_eq!(plan.report, Some(To::File("/d/report".into())));
    let plan = planned("--report x", dynamic(), &[("HUGETLB_REPORT_JSON", "yes")]);
    assert_eq!(lines(&plan).last().unwrap(), "HUGETLB_REPORT_JSON='no'");
    assert!(warnings(&plan).is_empty());
    let plan = planned("--dry-run --report x", dynamic(), &[]);
    assert!(warnings(&plan)[0].contains("no report comes of an end by a signal"));
    let plan = planned("--report x", target(Image::Static), &[]);
    assert!(warnings(&plan)[0].contains("its report is what it had when it was last seen"));
    let plan = planned("--no-preload --report x", dynamic(), &[]);
    assert!(warnings(&plan)[0].contains("--no-preload"));
}

fn inside() -> Found {
    Found::Inside(Inside {
        name: "libhugetlbfs.so",
        path: "/l/libhugetlbfs.so".into(),
        is_there: false,
    })
}

#[test]
fn a_dry_run_says_what_is_still_inside_hugectl() {
    let run = run("--dry-run --shm x");
    let mut findings = findings(&run, dynamic());
    findings.library = Some(inside());
    let plan = make(&run, &caller(&[]), &findings);
    assert!(warnings(&plan)[0].starts_with("/l/libhugetlbfs.so is not there yet"));
}

#[test]
fn the_library_inside_hugectl_is_a_step_of_the_plan() {
    let run = run("--shm x");
    let mut findings = findings(&run, dynamic());
    let caller = caller(&[("LD_PRELOAD", "/a.so /b.so")]);
    assert_eq!(make(&run, &caller, &findings).library, None);
    findings.library = Some(inside());
    let plan = make(&run, &caller, &findings);
    let library = plan.library.as_ref().unwrap();
    assert_eq!(library.path, Path::new("/l/libhugetlbfs.so"));
    assert_eq!(library.rest, ":/a.so:/b.so");
    assert_eq!(warnings(&plan), [""; 0]);
}

#[test]
fn without_a_library_the_shortfall_is_the_library() {
    let run = run("--heap x");
    let mut findings = findings(&run, dynamic());
    findings.library = Some(Found::Nowhere("there is none".to_owned()));
    findings.served = probe::served(
        findings.asked,
        &findings.decision,
        false,
        Preload::Auto,
        &findings.look,
    );
    findings.kernel = Kernel::default();
    let plan = make(&run, &caller(&[]), &findings);
    let said = ["there is none: the program runs without it, on the pages it has"];
    assert_eq!(warnings(&plan), said);
    assert!(!plan.to_string().contains("LD_PRELOAD"));
}

#[test]
fn a_dynamic_glibc_is_told_when_that_is_asked_for() {
    let glibc = || Look {
        tunable: true,
        ..dynamic()
    };
    let told = "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=33554432";
    let plan = planned("--heap --heap-engine=libc x", glibc(), &[]);
    let set = [
        "HUGETLB_VERBOSE='2'".to_owned(),
        "LD_PRELOAD='/l/libhugetlbfs.so'".to_owned(),
        format!("GLIBC_TUNABLES='{told}'"),
    ];
    assert_eq!(lines(&plan), set);
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
    let env = [("HUGETLB_MORECORE", "yes"), ("GLIBC_TUNABLES", "a.b=1")];
    let plan = planned("--heap --heap-engine=libc x", glibc(), &env);
    assert!(lines(&plan).contains(&"HUGETLB_MORECORE='no'".to_owned()));
    assert!(lines(&plan).contains(&format!("GLIBC_TUNABLES='a.b=1:{told}'")));
    let line = "--heap=2MB --heap-engine=libc --limit=1/2 --only=x x";
    let plan = planned(line, glibc(), &[]);
    let said = warnings(&plan);
    assert!(said.iter().any(|said| said.contains("may be killed")));
    assert!(
        said.iter()
            .any(|said| said.starts_with("--limit does not hold"))
    );
    assert!(
        said.iter()
            .any(|said| said.starts_with("--only and --no-inherit"))
    );
    let arena = planned("--heap --heap-engine=arena x", glibc(), &[]);
    assert_eq!(arena.engine, Engine::Arena);
    let alone = planned("--shm --heap-engine=libc x", glibc(), &[]);
    assert_eq!(
        warnings(&alone),
        ["--heap-engine does nothing without --heap"]
    );
}

#[test]
fn what_is_asked_for_and_ruled_out_at_once_is_said() {
    for (line, said) in [
        ("--heap=thp --fallback=base x", 1),
        ("--thp --shm=thp --fallback=base x", 2),
        ("--thp --shm=thp x", 0),
        ("--heap --shm --fallback=base x", 0),
    ] {
        let plan = planned(line, dynamic(), &[]);
        let told = "gets no huge page: --fallback=base";
        let found = warnings(&plan);
        let found = found.iter().filter(|text| text.contains(told));
        assert_eq!(found.count(), said, "{line}");
    }
}
