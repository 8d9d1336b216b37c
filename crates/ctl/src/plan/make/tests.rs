use super::*;
use crate::args;
use crate::probe;
use crate::probe::allocator::Own;
use crate::probe::command_line::names;
use crate::probe::coverage::alignment::Parts;
use crate::probe::coverage::page_cache::{Prepared, Why};
use crate::probe::heap_engine::Look;
use crate::probe::kernel::{Kernel, Wants};
use crate::probe::surroundings::Surroundings;
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
        limit: run.limit,
        thorough: run.explain,
    };
    let decision = heap_engine::decide(asked, heap_engine::Means::of(run), &look);
    let library = decision
        .library
        .map(|name| Found::At(Path::new("/l").join(name)));
    Findings {
        surroundings: Surroundings::default(),
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
        library_inside: None,
        library_is_there: true,
        only: run.only.clone(),
        library_dir: matches!(run.library, Library::At(_)).then(|| "/l".into()),
        ours: Vec::new(),
        other_mallocs: Vec::new(),
        kernel: kernel(),
        core_dump: None,
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
    let mut findings = findings(&run, dynamic());
    findings.ours = vec![b"/old/libhugetlbfs.so".to_vec()];
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
            tunable: Some(true),
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

#[test]
fn the_library_inside_hugectl_is_a_step_of_the_plan() {
    let run = run("--shm x");
    let mut findings = findings(&run, dynamic());
    let caller = caller(&[("LD_PRELOAD", "/a.so /b.so")]);
    assert_eq!(make(&run, &caller, &findings).library, None);
    findings.library_inside = Some("libhugetlbfs.so");
    findings.library_is_there = false;
    let plan = make(&run, &caller, &findings);
    let library = plan.library.as_ref().unwrap();
    assert_eq!(library.path, Path::new("/l/libhugetlbfs.so"));
    assert_eq!(library.rest, ":/a.so /b.so");
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
        tunable: Some(true),
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
            .any(|said| said.contains("does not hold for the heap"))
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

/// A program of 5 MB of text and 9 MB of data and bss, at fixed addresses.
fn large(image: Image) -> Look {
    let mut look = target(image);
    let load = |address: u64, size: u64, writable| Load {
        offset: address,
        address,
        file_size: size,
        memory_size: size,
        align: 0x1000,
        writable,
        executable: !writable,
        marked: false,
    };
    let loads = vec![
        load(0x40_0000, 5 << 20, false),
        load(0x100_0000, 9 << 20, true),
    ];
    look.target.as_mut().unwrap().layout = Layout::fixed(loads);
    look
}

/// The variable that names the program that may copy its text.
const COPY: &str = "HUGETLB_TEXT_COPY=$$:'/bin/x'";

#[test]
fn segments_in_the_classic_order() {
    let line = "--text=2MB --data --bss --heap --shm --no-reserve --share-text --text-libs \
                --perf-map --fallback=base x";
    let plan = planned(line, large(Image::Dynamic(Libc::Glibc)), &[]);
    let set = [
        "HUGETLB_VERBOSE='2'",
        "HUGETLB_ELFMAP='R=2MB:W'",
        "HUGETLB_MORECORE='yes'",
        "HUGETLB_SHM='yes'",
        "HUGETLB_STARTER=$$",
        "HUGETLB_FALLBACK='base'",
        "HUGETLB_TEXT_LIBS='yes'",
        "HUGETLB_PERF_MAP='yes'",
        COPY,
        "LD_PRELOAD='/l/libhugetlbfs_heap.so'",
        "HUGETLB_NO_RESERVE='yes'",
        "HUGETLB_SHARE='1'",
        "HUGETLB_PID=$$",
    ];
    assert_eq!(lines(&plan), set);
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
}

#[test]
fn segments_of_a_linked_program_are_named_by_variables_alone() {
    let look = large(Image::Dynamic(Libc::Glibc));
    let plan = planned("--text --data --no-preload x", look, &[]);
    let set = [
        "HUGETLB_VERBOSE='2'",
        "HUGETLB_ELFMAP='R:W'",
        COPY,
        "HUGETLB_PID=$$",
    ];
    assert_eq!(lines(&plan), set);
}

#[test]
fn one_option_masks_another() {
    let planned = |line: &str| {
        let plan = planned(line, large(Image::Dynamic(Libc::Glibc)), &[]);
        (lines(&plan)[1].clone(), warnings(&plan).len())
    };
    let off = "HUGETLB_ELFMAP='no'".to_owned();
    assert_eq!(planned("--text --disable x"), (off.clone(), 1));
    assert_eq!(planned("--disable x"), (off, 0));
    let thp = "HUGETLB_ELFMAP='W=thp'".to_owned();
    assert_eq!(planned("--data=thp --bss=2MB x"), (thp, 1));
    assert_eq!(planned("--data=2MB --bss=2MB x").1, 0);
}

fn prepared(state: State) -> Prepared {
    Prepared {
        job: Job {
            path: "/bin/x".into(),
            parts: vec![0..2 << 20, 2 << 20..4 << 20],
            size: PageSize::new(2 << 20).unwrap(),
        },
        wanted: hugetools_model::Bytes::new(4 << 20),
        state,
        cost: Duration::ZERO,
    }
}

#[test]
fn text_on_huge_pages_of_its_file_needs_no_pool() {
    let run = run("--text x");
    let mut findings = findings(&run, large(Image::Dynamic(Libc::Glibc)));
    findings.kernel.sources.clear();
    findings.parts.prepared = vec![prepared(State::Left)];
    let plan = make(&run, &caller(&[]), &findings);
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
    assert_eq!(plan.text, [prepared(State::Left).job]);
    let why = Why::FileSystem;
    findings.parts.prepared = vec![prepared(State::Short { huge: None, why })];
    let plan = make(&run, &caller(&[]), &findings);
    assert!(plan.text.is_empty());
    assert_eq!(
        warnings(&plan),
        ["this machine has no huge page pools: text goes to transparent huge pages"]
    );
}

#[test]
fn a_static_program_has_its_file_s_own_pages_or_none() {
    let run = run("--text --data x");
    let mut findings = findings(&run, large(Image::Static));
    findings.parts.prepared = vec![prepared(State::Ready)];
    assert_eq!(warnings(&make(&run, &caller(&[]), &findings)).len(), 1);
    findings.parts.prepared.clear();
    let plan = make(&run, &caller(&[]), &findings);
    assert!(warnings(&plan)[1].starts_with("text stays on base pages: the program is static"));
}

/// hugectl warns about the heap, so the library warns only about what hugectl cannot know.
#[test]
fn the_library_does_not_repeat_a_warning() {
    let speaker = |line: &str, has_pools: bool| {
        let run = run(line);
        let mut findings = findings(&run, large(Image::Dynamic(Libc::Glibc)));
        findings.only = run.only.clone();
        if !has_pools {
            findings.kernel.sources.clear();
        }
        let lines = lines(&make(&run, &caller(&[]), &findings)).into_iter();
        let of_speaker =
            |line: &String| line.starts_with("HUGETLB_PID") || line.starts_with("HUGETLB_STARTER");
        lines.filter(of_speaker).collect::<Vec<_>>().join(" ")
    };
    for options in [
        "--heap x",
        "--heap --stack x",
        "--heap --anon --fallback=none x",
    ] {
        let told = "HUGETLB_PID='0' HUGETLB_STARTER=$$";
        assert_eq!(speaker(options, false), told, "{options}");
        assert_eq!(speaker(options, true), "HUGETLB_PID=$$", "{options}");
    }
    assert_eq!(
        speaker("--heap --fallback=base x", false),
        "HUGETLB_PID='0'"
    );
    assert_eq!(speaker("--anon x", true), "HUGETLB_PID=$$");
    assert_eq!(speaker("--heap --only=x,y /bin/x", true), "HUGETLB_PID=$$");
    assert_eq!(speaker("--heap --only=y x", true), "");
}

#[test]
fn private_mappings_and_stacks_get_no_pool_pages() {
    for (option, length) in [("anon", "anon-min"), ("stack", "stack-depth")] {
        let variable = |option: &str, value: &str| {
            let name = option.replace('-', "_").to_uppercase();
            format!("HUGETLB_{name}='{value}'")
        };
        let plan = planned(&format!("--{option} --{length}=1M x"), dynamic(), &[]);
        for line in [variable(option, "yes"), variable(length, "1048576")] {
            assert!(lines(&plan).contains(&line), "{plan}");
        }
        assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
        let plan = planned(&format!("--{option}=2MB x"), dynamic(), &[]);
        let begin = format!("--{option}=2MB gets transparent huge pages: ");
        assert!(warnings(&plan)[0].starts_with(&begin), "{:?}", plan.notes);
        let plan = planned(&format!("--{option}=2MB --fallback=base x"), dynamic(), &[]);
        assert_eq!(warnings(&plan).len(), 1, "{:?}", plan.notes);
        let plan = planned(&format!("--shm --{length}=1M x"), dynamic(), &[]);
        assert_eq!(warnings(&plan).len(), 1, "{:?}", plan.notes);
    }
}

#[test]
fn a_limit_is_passed_on() {
    let plan = planned("--heap --limit=1/64 x", dynamic(), &[]);
    assert!(lines(&plan).contains(&"HUGETLB_LIMIT='1/64'".to_owned()));
    let said = "each process takes at most 8 pages of 2MB (--limit=1/64)";
    assert!(plan.notes.iter().any(|note| note.text == said));
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
    let plan = planned("--heap --limit=1M x", dynamic(), &[]);
    let said = "--limit=1MB is less than a page of 2MB: the heap goes to transparent huge pages";
    assert_eq!(warnings(&plan), [said]);
}

#[test]
fn names_replace_an_inherited_list() {
    let set = |only: &str, inherited: &str| {
        let env = [("HUGETLB_RESTRICT_EXE", inherited)];
        let env = if inherited.is_empty() { &[] } else { &env[..] };
        let plan = planned(&format!("--heap --only={only} x"), dynamic(), env);
        let said = warnings(&plan).len();
        let mut lines = lines(&plan).into_iter();
        let set = lines.find_map(|line| Some(line.strip_prefix("HUGETLB_RESTRICT_EXE=")?.into()));
        (set.unwrap_or_default(), said)
    };
    assert_eq!(set("a,b", ""), ("'a:b'".to_owned(), 0));
    assert_eq!(set("a,b,c", "c:d:b"), ("'b:c'".to_owned(), 0));
    assert_eq!(set("a", "c:d"), ("'a'".to_owned(), 1));
}

#[test]
fn an_inherited_list_leaves_the_program_out_without_a_warning() {
    let plan = planned("--heap x", dynamic(), &[("HUGETLB_RESTRICT_EXE", "y:z")]);
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
    let whole = "it gets no huge pages: HUGETLB_RESTRICT_EXE=y:z does not name x";
    assert!(plan.notes.iter().any(|note| note.text == whole));
}

#[test]
fn no_inherit_stays_in_force() {
    let set = |line: &str, env: &[(&str, &str)]| {
        let set = "HUGETLB_NO_INHERIT=$$".to_owned();
        lines(&planned(line, dynamic(), env)).contains(&set)
    };
    assert!(set("--heap --no-inherit x", &[]));
    assert!(!set("--heap x", &[]));
    assert!(set("--heap x", &[("HUGETLB_NO_INHERIT", "7")]));
    assert!(!set("--heap x", &[("HUGETLB_NO_INHERIT", "0")]));
}

/// A static program's glibc would follow its tunables, whatever its name.
#[test]
fn a_static_program_that_is_left_out_gets_no_tunables() {
    let look = || Look {
        tunable: Some(true),
        ..target(Image::Static)
    };
    let named = planned("--thp --only=x x", look(), &[]).to_string();
    assert!(named.contains("GLIBC_TUNABLES="), "{named}");
    let other = planned("--thp --only=y x", look(), &[]).to_string();
    assert!(!other.contains("GLIBC_TUNABLES="), "{other}");
}
