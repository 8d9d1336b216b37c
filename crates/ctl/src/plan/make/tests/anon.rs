//! Private mappings of the program's own.

use super::*;

#[test]
fn its_variables_and_what_a_size_comes_to() {
    let plan = planned("--anon --anon-min=1M x", dynamic(), &[]);
    let set = lines(&plan);
    for line in ["HUGETLB_ANON='yes'", "HUGETLB_ANON_MIN='1048576'"] {
        assert!(set.contains(&line.to_owned()), "{set:?}");
    }
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
    assert!(plan.to_string().contains("/l/libhugetlbfs.so"));
    let plan = planned("--anon=2MB x", dynamic(), &[]);
    let said = warnings(&plan);
    assert!(lines(&plan).contains(&"HUGETLB_ANON='2MB'".to_owned()));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("--anon=2MB gets transparent huge pages: pages of a pool"));
    let plan = planned("--shm --anon-min=1M x", dynamic(), &[]);
    let said = ["--anon-min does nothing without --anon"];
    assert_eq!(warnings(&plan), said);
}

#[test]
fn a_static_program_is_out_of_reach() {
    let plan = planned("--anon x", target(Image::Static), &[]);
    let said = warnings(&plan);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("private mappings stay as they are: the program is static"));
}
