//! For whom huge pages are, and how many.

use super::*;

#[test]
fn a_limit_is_set_and_said() {
    let plan = planned("--heap --limit=1/64 x", dynamic(), &[]);
    assert!(lines(&plan).contains(&"HUGETLB_LIMIT='1/64'".to_owned()));
    let said = "each process takes at most 8 pages of 2MB (--limit=1/64)";
    assert!(plan.notes.iter().any(|note| note.text == said));
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
    let plan = planned("--heap --limit=40M x", dynamic(), &[]);
    assert!(lines(&plan).contains(&"HUGETLB_LIMIT='40MB'".to_owned()));
    for limit in ["1/1000", "1M"] {
        let plan = planned(&format!("--heap --limit={limit} x"), dynamic(), &[]);
        let said = format!(
            "--limit={limit}{} is less than a page of 2MB: no page of that pool is taken",
            if limit == "1M" { "B" } else { "" }
        );
        assert_eq!(warnings(&plan), [said]);
    }
    let plan = planned("--shm --limit=1/2 x", dynamic(), &[]);
    assert!(warnings(&plan)[0].starts_with("--limit does nothing"));
}

#[test]
fn names_meet_those_that_are_there() {
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
fn a_list_that_is_there_already_leaves_the_program_out() {
    let said = |line: &str, names: &str| {
        let plan = planned(line, dynamic(), &[("HUGETLB_RESTRICT_EXE", names)]);
        assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
        let notes = plan.notes.into_iter();
        notes.filter_map(|note| note.shortfall).next()
    };
    let short = said("--heap x", "y:z").unwrap().to_string();
    let whole = "it gets no huge pages: HUGETLB_RESTRICT_EXE=y:z does not name x";
    assert_eq!(short, whole);
    assert_eq!(said("--heap x", "y:x"), None);
    // Of others the option asks by itself.
    assert_eq!(said("--heap --only=y x", "y:z"), None);
}

#[test]
fn whoever_gets_huge_pages_says_what_is_missing() {
    let speaker = |line: &str| {
        let lines = lines(&planned(line, dynamic(), &[]));
        lines
            .into_iter()
            .find(|line| line.starts_with("HUGETLB_PID"))
    };
    assert_eq!(speaker("--heap x"), Some("HUGETLB_PID=$$".to_owned()));
    let named = speaker("--heap --only=x,y /bin/x");
    assert_eq!(named, Some("HUGETLB_PID=$$".to_owned()));
    assert_eq!(speaker("--heap --only=y x"), None);
}

#[test]
fn what_is_not_inherited_stays_so() {
    let set = |line: &str, env: &[(&str, &str)]| {
        let set = "HUGETLB_NO_INHERIT=$$".to_owned();
        lines(&planned(line, dynamic(), env)).contains(&set)
    };
    assert!(set("--heap --no-inherit x", &[]));
    assert!(!set("--heap x", &[]));
    assert!(set("--heap x", &[("HUGETLB_NO_INHERIT", "7")]));
    assert!(!set("--heap x", &[("HUGETLB_NO_INHERIT", "0")]));
}

/// A static program's own glibc would follow its tunables, whatever its name.
#[test]
fn what_is_not_named_is_not_told_and_that_is_said() {
    let look = || Look {
        tunable: true,
        ..target(Image::Static)
    };
    let named = planned("--thp --only=x x", look(), &[]).to_string();
    assert!(named.contains("GLIBC_TUNABLES="), "{named}");
    let other = planned("--thp --only=y x", look(), &[]).to_string();
    assert!(!other.contains("GLIBC_TUNABLES="), "{other}");
    let plan = planned("--thp --only=y --report x", dynamic(), &[]);
    let said = warnings(&plan);
    let told = "no report will come: --only does not name the program";
    assert!(said.iter().any(|text| text.starts_with(told)), "{said:?}");
}
