//! Files of the kernel that the libraries read, too: `meminfo`, `mountinfo`, `smaps`.

use hugetools_model::memory::meminfo::{Meminfo, parse_node_line};
use hugetools_model::mount::{self, Mount, escape};
use hugetools_model::smaps;

use crate::engine::{fuzz, kept, recorded};

/// Returns the bytes or pages in the first line with this name, and whether it has a unit.
fn number_of(text: &[u8], name: &str) -> Option<(u128, bool)> {
    let begin = format!("{name}:");
    let mut lines = text.split(|byte| *byte == b'\n');
    let line = lines.find(|line| line.starts_with(begin.as_bytes()))?;
    let rest = String::from_utf8_lossy(&line[begin.len()..]).into_owned();
    let mut words = rest.split_ascii_whitespace();
    let number: u128 = words.next()?.parse().ok()?;
    match words.next() {
        Some("kB") => Some((number * 1024, true)),
        None => Some((number, false)),
        Some(_) => None,
    }
}

#[test]
fn meminfo() {
    let words = [
        "MemTotal:",
        "Hugepagesize:",
        "HugePages_Total:",
        " kB",
        "\n",
        "Node 0 ",
        " MB",
    ];
    let mut corpus = recorded(&["/meminfo"]);
    corpus.extend(kept("meminfo"));
    fuzz("meminfo", corpus, &words, |text| {
        let _ = parse_node_line(text, "MemTotal:");
        let Ok(found) = Meminfo::parse(text) else {
            return None;
        };
        let bytes = |name| number_of(text, name).map(|(bytes, _)| bytes);
        let pages = |name| {
            number_of(text, name)
                .filter(|(_, unit)| !unit)
                // Numbers from 2^63 are negative counts of the kernel.
                .map(|(pages, _)| if pages >> 63 == 0 { pages } else { 0 })
        };
        assert_eq!(
            u128::from(found.total.get()),
            bytes("MemTotal").unwrap_or(0)
        );
        let available = found.available.map(|bytes| u128::from(bytes.get()));
        assert_eq!(available, bytes("MemAvailable"));
        let size = found.huge_page_size.map(|size| u128::from(size.get()));
        assert_eq!(size, bytes("Hugepagesize").filter(|size| *size > 0));
        for (field, name) in [
            (found.huge_total, "HugePages_Total"),
            (found.huge_free, "HugePages_Free"),
            (found.huge_reserved, "HugePages_Rsvd"),
            (found.huge_surplus, "HugePages_Surp"),
        ] {
            assert_eq!(field.map(|count| u128::from(count.get())), pages(name));
        }
        Some((
            size.map(u128::ilog2),
            found.huge_total.map(|count| count.get() > 0),
            found.available.is_some(),
            found.total.get().checked_ilog2(),
        ))
    });
}

/// Formats a mount as a line of mountinfo.
fn line(mount: &Mount) -> Vec<u8> {
    let words: Vec<&str> = mount.options.split(',').collect();
    let (first, others) = words.split_first().unwrap();
    let line = format!("1 1 0:1 / {} {first} - ", escape(&mount.point));
    let end = format!("{} none {first},{}\n", mount.fs_type, others.join(","));
    [line, end].concat().into_bytes()
}

#[test]
fn mountinfo() {
    let words = [
        " - hugetlbfs none rw",
        "pagesize=2M",
        "\\040",
        "\\134",
        "\\777",
        " - ",
        "\n",
        "size=",
        ",ro",
    ];
    let mut corpus = recorded(&["/mountinfo"]);
    corpus.extend(kept("mountinfo"));
    fuzz("mountinfo", corpus, &words, |text| {
        let lines = text.split(|byte| *byte == b'\n').count();
        let mounts = mount::parse_mountinfo(text);
        assert!(mounts.len() <= lines);
        let mut shape = Vec::new();
        for mount in &mounts {
            let plain = |text: &str| !text.contains(['\\', ' ', '\n', '\t', '\r']);
            let point = escape(&mount.point);
            assert!(!point.contains([' ', '\n', '\t']));
            // `line` needs options and type without escapes, and a path in UTF-8.
            if plain(&mount.options) && plain(&mount.fs_type) && mount.point.to_str().is_some() {
                let again = mount::parse_mountinfo(&line(mount));
                assert_eq!(again[0].point, mount.point);
                assert_eq!(again[0].page_size(), mount.page_size());
            }
            shape.push((
                mount.is_hugetlbfs(),
                mount.page_size(),
                mount.option("size").is_some(),
            ));
        }
        shape.truncate(4);
        shape
    });
}

#[test]
fn smaps() {
    let words = [
        "Rss:",
        "AnonHugePages:",
        "Private_Hugetlb:",
        "KernelPageSize:",
        " kB\n",
        "7f00-8000 rw-p 0 0:0 0",
        "FilePmdMapped:",
    ];
    fuzz("smaps", kept("smaps"), &words, |text| {
        let lines = text.split(|byte| *byte == b'\n').count();
        let mut shape = Vec::new();
        for record in smaps::records(text) {
            assert!(record.resident() >= record.rss && record.thp() >= record.anon_huge);
            assert!(record.mapped() <= record.end);
            // Fields are kilobytes; an overflow saturates.
            for bytes in [record.rss, record.anon_huge, record.kernel_page_size] {
                assert!(bytes % 1024 == 0 || bytes == u64::MAX, "{record:?}");
            }
            shape.push((
                record.shared,
                record.writable,
                record.rss > 0,
                record.hugetlb > 0,
                record.thp() > 0,
            ));
        }
        assert!(shape.len() <= lines);
        shape.truncate(4);
        shape
    });
}
