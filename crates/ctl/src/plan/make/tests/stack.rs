//! Stacks.

use super::*;

#[test]
fn its_variables_and_what_a_size_comes_to() {
    let plan = planned("--stack --stack-depth=1M x", dynamic(), &[]);
    let set = lines(&plan);
    for line in ["HUGETLB_STACK='yes'", "HUGETLB_STACK_DEPTH='1048576'"] {
        assert!(set.contains(&line.to_owned()), "{set:?}");
    }
    assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
    assert!(plan.to_string().contains("/l/libhugetlbfs.so"));
    let plan = planned("--stack=2MB x", dynamic(), &[]);
    let said = warnings(&plan);
    assert!(lines(&plan).contains(&"HUGETLB_STACK='2MB'".to_owned()));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("--stack=2MB gets transparent huge pages: a stack grows"));
    let plan = planned("--shm --stack-depth=1M x", dynamic(), &[]);
    let said = ["--stack-depth does nothing without --stack"];
    assert_eq!(warnings(&plan), said);
}

#[test]
fn a_static_program_is_out_of_reach() {
    let plan = planned("--stack x", target(Image::Static), &[]);
    let said = warnings(&plan);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("stacks stay as they are: the program is static"));
}
