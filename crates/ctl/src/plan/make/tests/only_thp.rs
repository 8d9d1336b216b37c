//! Private mappings of the program's own, and stacks.

use super::*;

/// An option, that of a length which goes with it, and how what is said begins: of a size,
/// and of a static program.
const ROWS: [[&str; 4]; 2] = [
    [
        "anon",
        "anon-min",
        "pages of a pool",
        "private mappings stay on base pages",
    ],
    [
        "stack",
        "stack-depth",
        "a stack grows",
        "stacks stay on base pages",
    ],
];

fn variable(option: &str, value: &str) -> String {
    let name = option.replace('-', "_").to_uppercase();
    format!("HUGETLB_{name}='{value}'")
}

#[test]
fn its_variables_and_what_a_size_comes_to() {
    for [option, length, fact, _] in ROWS {
        let plan = planned(&format!("--{option} --{length}=1M x"), dynamic(), &[]);
        let set = lines(&plan);
        for line in [variable(option, "yes"), variable(length, "1048576")] {
            assert!(set.contains(&line), "{set:?}");
        }
        assert!(warnings(&plan).is_empty(), "{:?}", plan.notes);
        assert!(plan.to_string().contains("/l/libhugetlbfs.so"));
        let plan = planned(&format!("--{option}=2MB x"), dynamic(), &[]);
        let said = warnings(&plan);
        assert!(lines(&plan).contains(&variable(option, "2MB")));
        assert_eq!(said.len(), 1, "{said:?}");
        let begin = format!("--{option}=2MB gets transparent huge pages: {fact}");
        assert!(said[0].starts_with(&begin), "{said:?}");
        let plan = planned(&format!("--{option}=2MB --fallback=base x"), dynamic(), &[]);
        let said = warnings(&plan);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("gets no huge page"), "{said:?}");
        let plan = planned(&format!("--shm --{length}=1M x"), dynamic(), &[]);
        let said = [format!("--{length} does nothing without --{option}")];
        assert_eq!(warnings(&plan), said);
    }
}

#[test]
fn a_static_program_is_out_of_reach() {
    for [option, _, _, begin] in ROWS {
        let plan = planned(&format!("--{option} x"), target(Image::Static), &[]);
        let said = warnings(&plan);
        assert_eq!(said.len(), 1, "{said:?}");
        let begin = format!("{begin}: the program is static");
        assert!(said[0].starts_with(&begin), "{said:?}");
    }
}
