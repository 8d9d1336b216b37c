//! The library's man pages document its functions, variables and exports.

use hugetools_contract::env::VARIABLES;

use crate::support::bless::read_text;

/// Returns name and prototype of the functions in the header.
fn functions() -> Vec<(String, String)> {
    let header = read_text("crates/preload/include/hugetlbfs.h");
    let prototypes = header.lines().filter(|line| line.ends_with(");"));
    prototypes
        .map(|line| {
            let before = line.split('(').next().unwrap();
            let name = before.rsplit([' ', '*']).next().unwrap();
            (name.to_owned(), line.to_owned())
        })
        .collect()
}

/// Returns path and text of a function's page.
fn page(name: &str) -> (String, String) {
    let path = format!("man/{name}.3");
    let page = read_text(&path);
    match page.strip_prefix(".so man3/") {
        None => (path, page),
        Some(other) => {
            let path = format!("man/{}", other.trim_end());
            let page = read_text(&path);
            (path, page)
        }
    }
}

/// Returns a line without macro, quotes and fonts.
fn plain(line: &str) -> String {
    let Some((font, rest)) = line.split_once(' ') else {
        return line.to_owned();
    };
    match font {
        ".BI" => {
            let plain_part = |(n, part): (usize, &str)| match n % 2 {
                0 => part.replace(' ', ""),
                _ => part.to_owned(),
            };
            rest.split('"').enumerate().map(plain_part).collect()
        }
        _ => rest.to_owned(),
    }
}

#[test]
fn each_function_has_a_page_with_its_prototype() {
    let functions = functions();
    assert_eq!(functions.len(), 13, "{functions:?}");
    for (name, prototype) in functions {
        let (path, page) = page(&name);
        let named = page.lines().skip_while(|line| *line != ".SH NAME").nth(1);
        let named = named.unwrap_or_default();
        let (names, _) = named.split_once(r" \- ").unwrap_or_default();
        assert!(
            names.split(", ").any(|other| other == name),
            "{path}: {name}"
        );
        assert!(
            page.lines().any(|line| plain(line) == prototype),
            "{path}: no line for {prototype}"
        );
        for section in [
            ".SH DESCRIPTION",
            ".SH \"RETURN VALUE\"",
            ".SH \"SEE ALSO\"",
        ] {
            assert!(page.contains(section), "{path}: no {section}");
        }
        let seven = read_text("man/libhugetlbfs.7");
        assert!(
            seven.contains(&format!(r"\fB{name}\fR(3)")),
            "libhugetlbfs.7: {name}"
        );
    }
}

#[test]
fn each_variable_is_in_the_page_of_the_library() {
    let page = read_text("man/libhugetlbfs.7");
    for name in VARIABLES {
        assert!(page.contains(&format!(".TP\n.B {name}\n")), "{name}");
    }
}

#[test]
fn each_export_is_in_the_page_of_the_library() {
    let page = read_text("man/libhugetlbfs.7");
    let words: Vec<&str> = page
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
        .flat_map(|word| [word, word.trim_start_matches("fB")])
        .collect();
    let mut seen = 0;
    for library in ["libhugetlbfs.so", "libhugetlbfs_heap.so"] {
        let exported = read_text(format!("tests/expected/libs/{library}.txt"));
        let names = exported.lines().filter_map(|line| {
            let name = line.strip_prefix("T ").or(line.strip_prefix("D "))?;
            name.split('@').next()
        });
        for name in names {
            assert!(words.contains(&name), "{library}: {name}");
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} exports");
}
