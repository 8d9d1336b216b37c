use super::*;
use crate::probe::kernel::{Hidden, MayLock, SETTINGS, Share};
use crate::say::note::Level;
use hugetools_contract::env::Require;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::process::cgroup::Limit;
use hugetools_model::thp::Thp;
use hugetools_model::{KPath, PageCount, PageSize};

fn two() -> PageSize {
    PageSize::new(2 << 20).unwrap()
}

fn kernel(free: u64, reserved: u64) -> Kernel {
    let pool = Pool {
        size: two(),
        default: true,
        total: PageCount::new(free),
        free: PageCount::new(free),
        reserved: PageCount::new(reserved),
        surplus: PageCount::ZERO,
        overcommit: Some(PageCount::ZERO),
        demote_size: None,
    };
    let word = |word: &str| Some(word.to_owned());
    Kernel {
        default: Some(two()),
        sources: vec![Source {
            pool,
            limit: None,
            share: None,
            is_hidden: false,
        }],
        thp: Some(Thp {
            enabled: word("madvise"),
            defrag: None,
            shmem_enabled: word("advise"),
            pmd_size: Some(two()),
            sizes: Vec::new(),
        }),
        ..Kernel::default()
    }
}

const BOTH: Wants = Wants {
    heap: Some(Pages::Default),
    shm: Some(Pages::Default),
    anon: None,
    stack: None,
    text: None,
    data: None,
    fallback: Fallback::Thp,
    require: Require::NOTHING,
    hints: true,
    past_malloc: false,
    thorough: false,
};

const HEAP: Wants = Wants { shm: None, ..BOTH };

fn said(wants: Wants, kernel: &Kernel) -> Vec<String> {
    let notes = check(wants, Needs::default(), kernel).notes;
    let line = |note: &Note| format!("{:?}: {}", note.level, note.text);
    notes.iter().map(line).collect()
}

#[test]
fn a_good_pool_needs_no_word() {
    assert!(said(BOTH, &kernel(512, 100)).is_empty());
    assert!(said(HEAP, &kernel(512, 100)).is_empty());
}

#[test]
fn an_empty_pool_names_the_next_rung_and_the_remedy() {
    assert_eq!(
        said(HEAP, &kernel(0, 0)),
        [
            "Warning: the pool of 2MB pages is empty: the heap goes to transparent huge \
          pages; to fill it: hugeadm --pool-pages-min 2MB:+8, or as many as the program takes"
        ]
    );
    let text = said(BOTH, &kernel(5, 5)).concat();
    assert!(
        text.contains("has no page left (5 in all, 5 free, 5 of them reserved): the heap goes to"),
        "{text}"
    );
    let text = said(HEAP, &kernel(5, 2)).concat();
    assert!(
        text.contains("has 3 pages (6MB) left: beyond them, the heap goes"),
        "{text}"
    );
}

#[test]
fn pages_made_on_demand_count() {
    let mut kernel = kernel(0, 0);
    kernel.sources[0].pool.overcommit = Some(PageCount::new(512));
    assert!(said(HEAP, &kernel).is_empty());
}

#[test]
fn what_follows_is_what_was_asked_for() {
    let empty = kernel(0, 0);
    let said = |fallback| {
        check(Wants { fallback, ..HEAP }, Needs::default(), &empty).notes[0]
            .text
            .clone()
    };
    assert!(said(Fallback::Base).contains("the heap goes to base pages"));
    assert!(said(Fallback::None).contains("requests beyond it fail (--fallback=none)"));
}

#[test]
fn where_malloc_is_not_all_nothing_is_said_of_the_rest() {
    let past_malloc = Wants {
        past_malloc: true,
        ..HEAP
    };
    let text = said(past_malloc, &kernel(0, 0));
    assert!(
        text[0].contains(": what it takes from malloc goes to transparent huge pages"),
        "{text:?}"
    );
}

#[test]
fn transparent_pages_are_looked_at_where_they_matter() {
    let mut off = kernel(512, 0);
    let thp = off.thp.as_mut().unwrap();
    thp.enabled = Some("never".to_owned());
    thp.shmem_enabled = Some("never".to_owned());
    assert!(said(BOTH, &off).is_empty(), "the pool will do");
    off.sources[0].pool.free = PageCount::ZERO;
    let text = said(BOTH, &off);
    assert_eq!(text.len(), 3, "{text:?}");
    assert_eq!(
        text[0],
        "Warning: the pool of 2MB pages has no page left (512 in all, 0 free, 0 of them reserved), and transparent huge pages are set to never: \
         the heap goes to base pages; to fill it: hugeadm --pool-pages-min 2MB:+8, or \
         as many as the program takes; to have them: hugeadm --thp-madvise"
    );
    // That may be no matter to the program.
    let notes = check(BOTH, Needs::default(), &off).notes;
    let shared = notes
        .iter()
        .find(|note| note.text.contains("for shared memory are set"));
    let shared = shared.expect("a note");
    assert_eq!(shared.level, Level::Info);
    assert!(shared.text.contains("hugeadm --thp-shmem advise"));
    let thp = Wants {
        heap: Some(Pages::Thp),
        ..HEAP
    };
    off.thp = None;
    assert!(
        said(thp, &off)
            .concat()
            .contains("has no transparent huge pages")
    );
    off.thp_hidden = Some(Hidden::Absent(SETTINGS));
    let shared = Wants {
        shm: Some(Pages::Thp),
        ..thp
    };
    let text = said(shared, &off);
    assert_eq!(text.len(), 1, "{text:?}");
    assert!(text[0].contains("/sys/kernel/mm is not there: transparent huge pages are asked for"));
    assert!(off.serves_private() && off.serves_shared());
    let mut disabled = kernel(0, 0);
    disabled.thp_disabled = true;
    assert!(said(thp, &disabled).concat().contains("PR_SET_THP_DISABLE"));
}

/// What the library says where there is some, with the program's own figures.
#[test]
fn of_shared_memory_alone_nothing_is_said_before() {
    let shm = Wants { heap: None, ..BOTH };
    for (pages, fallback) in [(0, Fallback::Thp), (3, Fallback::Base), (0, Fallback::None)] {
        let said = said(Wants { fallback, ..shm }, &kernel(pages, 0));
        assert!(
            said[0].starts_with("Info: the pool of 2MB pages"),
            "{said:?}"
        );
        assert_eq!(said.len(), 1, "{said:?}");
    }
    let none = Kernel {
        sources: Vec::new(),
        ..kernel(0, 0)
    };
    // Where there is no pool, it is not asked.
    let said = said(shm, &none);
    assert!(
        said[0].starts_with("Warning: this machine has no"),
        "{said:?}"
    );
}

#[test]
fn one_line_where_neither_pool_nor_transparent_pages_are_there() {
    let mut off = kernel(0, 0);
    off.thp_disabled = true;
    let (said, heap, segments) = told(SEGMENTS, needs(3, 4), &off);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(!heap && segments);
    let end = "PR_SET_THP_DISABLE): text, data and bss go to base pages; to fill it: hugeadm \
               --pool-pages-min 2MB:+7; hugectl --thp-policy=always lifts that";
    assert!(said[0].ends_with(end), "{said:?}");
    // Each fact is one of its own where it is asked what falls short.
    let checked = check(SEGMENTS, needs(3, 4), &off);
    let short = checked.notes[0].shortfall.as_ref().unwrap();
    assert_eq!(short.each().count(), 2);
}

#[test]
fn a_control_group_counts_where_it_is_tighter() {
    let mut kernel = kernel(512, 0);
    let limit = |limit| Limit {
        file: KPath::from("/sys/fs/cgroup/a/hugetlb.2MB.max"),
        limit: Bytes::new(limit),
        used: Some(Bytes::new(1 << 20)),
    };
    kernel.sources[0].limit = Some(limit(41 << 20));
    assert_eq!(
        said(HEAP, &kernel),
        [
            "Warning: the control group allows 40MB more of 2MB pages: beyond them, the \
          heap goes to transparent huge pages; to lift it: echo max > \
          /sys/fs/cgroup/a/hugetlb.2MB.max"
        ]
    );
    kernel.sources[0].limit = Some(limit(8 << 30));
    assert!(said(HEAP, &kernel)[0].starts_with("Info"));
    let unread = Limit {
        used: None,
        ..limit(8 << 30)
    };
    kernel.sources[0].limit = Some(unread);
    let said = said(HEAP, &kernel);
    let fact = "Warning: what is used of /sys/fs/cgroup/a/hugetlb.2MB.max cannot be read";
    assert!(said[0].starts_with(fact), "{said:?}");
}

#[test]
fn a_limit_holds_for_what_the_program_requests_by_itself() {
    let mut kernel = kernel(64, 0);
    kernel.own_requests = Some(Limit {
        file: KPath::from("/g/hugetlb.2MB.max"),
        limit: Bytes::new(8 << 20),
        used: Some(Bytes::new(2 << 20)),
    });
    let text = "a request of the program's own for huge pages (MAP_HUGETLB, SHM_HUGETLB) beyond \
                the 6MB that the control group leaves fails with ENOMEM (/g/hugetlb.2MB.max)";
    assert_eq!(said(BOTH, &kernel), [format!("Info: {text}")]);
}

#[test]
fn other_limits() {
    let mut kernel = kernel(512, 0);
    kernel.address_space = Some(Bytes::new(1 << 30));
    kernel.overcommit = Some(2);
    let text = said(HEAP, &kernel).concat();
    assert!(text.contains("limited to 1GB (ulimit -v)") && text.contains("vm.overcommit_memory=0"));
    let shm = Wants { heap: None, ..BOTH };
    let mut said_of = |may_lock| {
        kernel.may_lock = may_lock;
        let text = said(shm, &kernel);
        assert_eq!(text.len(), 1);
        text.concat()
    };
    let group = |now| {
        let group = "postgres".to_owned();
        MayLock::Group { group, now }
    };
    let text = said_of(group(Some(0)));
    assert!(
        text.ends_with("hugeadm --set-shm-group postgres"),
        "{text:?}"
    );
    // Nothing can be set there.
    let text = said_of(group(None));
    assert!(
        text.contains("refuses") && !text.contains("hugeadm"),
        "{text}"
    );
    let text = said_of(MayLock::Unknown);
    assert!(
        text.contains("cannot be told") && text.ends_with("mount -t proc proc /proc"),
        "{text}"
    );
}

#[test]
fn a_process_that_is_bound_to_a_node_is_told_of_its_share() {
    let mut kernel = kernel(512, 0);
    kernel.sources[0].share = Some(Share {
        nodes: [1].into(),
        free: PageCount::ZERO,
    });
    assert_eq!(
        said(HEAP, &kernel),
        [
            "Warning: the pool of 2MB pages has no page left on node 1, which this process \
          is bound to (512 in all): the heap goes to transparent huge pages; to fill it: hugeadm \
          --pool-pages-min 2MB@1:+8, or as many as the program takes"
        ]
    );
}

const SEGMENTS: Wants = Wants {
    heap: None,
    shm: None,
    text: Some(Pages::Default),
    data: Some(Pages::Default),
    ..BOTH
};

fn needs(text: u64, data: u64) -> Needs {
    let pages = |pages: u64| Bytes::new(pages << 21);
    Needs {
        text: pages(text),
        data: pages(data),
        ..Needs::default()
    }
}

fn told(wants: Wants, needs: Needs, kernel: &Kernel) -> (Vec<String>, bool, bool) {
    let checked = check(wants, needs, kernel);
    let notes = checked.notes.iter().map(|note| note.text.clone());
    (notes.collect(), checked.heap_told, checked.segments_told)
}

#[test]
fn segments_take_what_they_need_and_no_more() {
    let (said, heap, segments) = told(SEGMENTS, needs(3, 4), &kernel(7, 0));
    assert!(said.is_empty() && !heap && !segments, "{said:?}");
    let (said, heap, segments) = told(SEGMENTS, needs(3, 4), &kernel(5, 0));
    assert_eq!(
        said,
        [
            "the pool of 2MB pages has 5 pages (10MB) left: beyond them, text, data and bss go to \
          transparent huge pages; to fill it: hugeadm --pool-pages-min 2MB:+2"
        ]
    );
    assert!(!heap && segments);
    let (said, ..) = told(SEGMENTS, needs(0, 4), &kernel(0, 0));
    assert_eq!(
        said,
        [
            "the pool of 2MB pages is empty: data and bss go to transparent huge pages; to fill \
          it: hugeadm --pool-pages-min 2MB:+4"
        ]
    );
    assert!(told(SEGMENTS, needs(0, 0), &kernel(0, 0)).0.is_empty());
}

#[test]
fn one_line_for_one_pool() {
    let all = Wants {
        heap: Some(Pages::Default),
        shm: Some(Pages::Default),
        ..SEGMENTS
    };
    let mut empty = kernel(0, 0);
    let (said, heap, segments) = told(all, needs(3, 4), &empty);
    // Of shared memory the library speaks, where there is some.
    let levels = check(all, needs(3, 4), &empty).notes;
    let levels: Vec<Level> = levels.iter().map(|note| note.level).collect();
    assert_eq!(levels, [Level::Warning, Level::Info], "{said:?}");
    assert!(said[0].contains("heap, text, data and bss go to transparent"));
    assert!(
        said[0].ends_with("--pool-pages-min 2MB:+15, or as many as the program takes"),
        "{said:?}"
    );
    assert!(heap && segments);
    empty.thp.as_mut().unwrap().shmem_enabled = Some("never".to_owned());
    let (said, ..) = told(all, needs(3, 4), &empty);
    assert!(
        said[0].contains("heap, text, data and bss go to transparent"),
        "{said:?}"
    );
    assert!(
        said[1].contains("shared memory goes to base pages"),
        "{said:?}"
    );
    let other = Wants {
        text: Some(Pages::Thp),
        ..all
    };
    let mut off = kernel(512, 0);
    off.thp.as_mut().unwrap().enabled = Some("never".to_owned());
    let (said, ..) = told(other, needs(3, 4), &off);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("set to never: text stays on base pages"),
        "{said:?}"
    );
}

#[test]
fn without_a_fallback_segments_stay_where_they_are() {
    let wants = Wants {
        fallback: Fallback::None,
        ..SEGMENTS
    };
    let (said, ..) = told(wants, needs(1, 0), &kernel(0, 0));
    assert!(
        said[0].contains(": text stays as it is (--fallback=none);"),
        "{said:?}"
    );
}

#[test]
fn a_control_group_that_allows_enough_is_no_shortfall() {
    let mut kernel = kernel(512, 0);
    kernel.sources[0].limit = Some(Limit {
        file: KPath::from("/sys/fs/cgroup/a/hugetlb.2MB.max"),
        limit: Bytes::new(8 << 21),
        used: Some(Bytes::default()),
    });
    assert!(!told(SEGMENTS, needs(4, 4), &kernel).2);
    let (said, _, segments) = told(SEGMENTS, needs(4, 5), &kernel);
    assert!(
        said[0].contains("beyond them, text, data and bss go to"),
        "{said:?}"
    );
    assert!(segments);
}

#[test]
fn below_a_pool_libc_has_base_pages_only() {
    let needs = Needs {
        libc_heap: true,
        ..Needs::default()
    };
    for fallback in [Fallback::Thp, Fallback::Base, Fallback::None] {
        let said = &check(Wants { fallback, ..HEAP }, needs, &kernel(0, 0)).notes[0].text;
        assert!(said.contains(": the heap goes to base pages;"), "{said}");
    }
}

#[test]
fn what_a_program_takes_that_bans_them_for_itself_gets_none() {
    let wants = Wants {
        anon: Some(Pages::Thp),
        text: Some(Pages::Thp),
        ..SEGMENTS
    };
    let banned = Kernel {
        thp_banned: true,
        ..kernel(0, 0)
    };
    let said = |kernel: &Kernel| told(wants, needs(0, 0), kernel).0;
    let ban = |text: &String| text.contains("turns transparent huge pages off for itself");
    assert!(!said(&kernel(0, 0)).iter().any(ban));
    let all = said(&banned);
    let found: Vec<&String> = all.iter().filter(|text| ban(text)).collect();
    assert_eq!(found.len(), 1, "{all:?}");
    assert!(
        found[0].contains("private mappings stay on base pages"),
        "{found:?}"
    );
    assert!(found[0].contains("--thp-policy=always"), "{found:?}");
    // What is loaded before has them.
    assert!(!found[0].contains("text"), "{found:?}");
}
