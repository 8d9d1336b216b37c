//! Checks specifications against a recorded machine.

use super::super::tests::request;
use super::*;

fn place(spec: &str) -> Place {
    let mut request = request(&["--pool-pages-min", spec]).unwrap();
    request.pool_min.remove(0).place
}

fn error(spec: &str) -> String {
    let mut errors = request(&["--pool-pages-min", spec]).unwrap_err();
    assert_eq!(errors.len(), 1);
    let error = errors.remove(0);
    error.split_once(&format!("{spec}: ")).unwrap().1.to_owned()
}

#[test]
fn every_kind_of_amount_becomes_pages() {
    // MemTotal is 4024476 kB.
    for (spec, pages) in [
        ("DEFAULT:12", 12),
        ("2MB:2048MB", 1024),
        ("DEFAULT:10%", 196),
        ("DEFAULT:100%", 1965),
        ("DEFAULT:0%", 0),
        ("1GB:0MB", 0),
    ] {
        assert_eq!(
            place(spec),
            Place::Whole(Change::To(PageCount::new(pages))),
            "{spec}"
        );
    }
}

#[test]
fn a_percentage_refers_to_each_nodes_memory() {
    let Place::Nodes(nodes) = place("2MB@0,5:+50%") else {
        panic!("not nodes");
    };
    let nodes: Vec<_> = nodes
        .iter()
        .map(|(id, change)| (id.get(), *change))
        .collect();
    let up = |pages| Change::Up(PageCount::new(pages));
    assert_eq!(nodes, [(0, up(125)), (5, up(125))]);
    assert_eq!(error("2MB@0,4-5:+50%"), "node 4 has no memory of its own");
}

#[test]
fn less_than_a_page_and_more_than_64_bits_are_errors() {
    assert_eq!(error("DEFAULT:1MB"), "1MB is less than one page of 2MB");
    assert_eq!(error("1GB:10%"), "393MB is less than one page of 1GB");
    assert_eq!(
        error("1GB@0:50%"),
        "node 0: 251MB is less than one page of 1GB"
    );
    assert_eq!(
        error("DEFAULT:0x7fffffffffffffff"),
        "too many: 9223372036854775807 pages of 2MB exceed 64 bits in bytes"
    );
}

#[test]
fn rounding_down_gives_a_note() {
    let notes = request(&["--pool-pages-min=DEFAULT:3MB", "--pool-pages-min=2M:4M"]);
    assert_eq!(
        notes.unwrap().notes,
        [
            "--pool-pages-min DEFAULT:3MB: 3MB is not a whole number of pages, \
             rounded down to 1 page of 2MB"
        ]
    );
}

#[test]
fn unknown_nodes_are_errors() {
    assert_eq!(error("2MB@7-8:1"), "this machine has no node 8, only 0-7");
}
