//! Synthetic tables of every class and byte order.

mod image;

use super::*;
use image::{Image, R, W, X, idents, usual};

fn edit(text: bool, data: bool) -> Edit {
    Edit {
        marks: Some(Marks { text, data }),
        align: None,
    }
}

fn align(size: u64) -> Edit {
    Edit {
        marks: None,
        align: Some(size),
    }
}

/// The indexes of the marked segments.
fn marked(table: &Table) -> Vec<usize> {
    let marked = table.segments.iter().filter(|s| s.is_marked());
    marked.map(|s| s.index).collect()
}

fn aligns(table: &Table) -> Vec<u64> {
    table.segments.iter().map(|s| s.load.align).collect()
}

#[test]
fn segments_are_read_in_every_class_and_byte_order() {
    for ident in idents() {
        let table = usual(ident).read().unwrap();
        let roles: Vec<_> = table.segments.iter().map(|s| (s.index, s.role)).collect();
        let (text, data) = (Some(Role::Text), Some(Role::Data));
        assert_eq!(roles, [(1, None), (2, text), (3, None), (4, data)]);
        let last = table.segments[3].load;
        assert_eq!((last.offset, last.address), (0x2df0, 0x3df0));
        assert_eq!((last.file_size, last.memory_size), (0x210, 0x900));
        assert_eq!(aligns(&table), [0x1000; 4]);
        assert_eq!(marked(&table), []);
    }
}

#[test]
fn new_marks_replace_old_ones() {
    for ident in idents() {
        let mut bytes = usual(ident).bytes();
        let steps: [(bool, bool, &[usize]); 4] = [
            (true, true, &[2, 4]),
            (true, false, &[2]),
            (false, true, &[4]),
            (false, false, &[]),
        ];
        for (text, data, expected) in steps {
            let table = Table::read(&bytes[..], bytes.len() as u64).unwrap();
            let edited = table.edit(&edit(text, data)).unwrap();
            assert_eq!(marked(&edited.table), expected);
            assert!(table.patch(&edited.table).unwrap().apply(&mut bytes));
            let again = Table::read(&bytes[..], bytes.len() as u64).unwrap();
            assert_eq!(again, edited.table);
            assert_eq!(again.patch(&edited.table), None);
        }
        assert_eq!(bytes, usual(ident).bytes());
    }
}

#[test]
fn roles_are_strict() {
    let [x86_64, .., ppc] = idents();
    let role = |ident, flags, bss: u64| {
        let mut image = usual(ident);
        image.loads = vec![(flags, 0x1000, 0x1000, 16, 16 + bss, 0x1000)];
        image.read().unwrap().segments[0].role
    };
    assert_eq!(role(x86_64, R | X, 0), Some(Role::Text));
    assert_eq!(role(x86_64, R | X, 1), None);
    assert_eq!(role(x86_64, X, 0), None);
    assert_eq!(role(x86_64, R | W | X, 0), None);
    assert_eq!(role(ppc, R | W | X, 0), Some(Role::Data));
    assert_eq!(role(x86_64, W, 0), None);
    assert_eq!(
        role(x86_64, R | W | MARK | 0x0020_0000, 9),
        Some(Role::Data)
    );
}

#[test]
fn other_flags_stay() {
    let [x86_64, ..] = idents();
    let mut image = usual(x86_64);
    image.loads[1].0 |= 0x1020_0000;
    image.loads[0].0 |= MARK;
    let edited = image.read().unwrap().edit(&edit(true, false)).unwrap();
    let flags: Vec<u32> = edited.table.segments.iter().map(|s| s.flags).collect();
    assert_eq!(flags, [R, R | X | MARK | 0x1020_0000, R, R | W]);
}

#[test]
fn reports_roles_that_cannot_be_marked() {
    let [x86_64, ..] = idents();
    let mut image = usual(x86_64);
    image.loads.truncate(3);
    let table = image.read().unwrap();
    assert_eq!(table.edit(&edit(true, true)).unwrap().missing, [Role::Data]);
    let data = Marks {
        text: false,
        data: true,
    };
    assert_eq!(
        table.edit(&edit(false, true)),
        Err(Refusal::NothingToMark(data))
    );
    assert_eq!(table.edit(&edit(false, false)).unwrap().missing, []);
    image.file_type = 1;
    let object = image.read().unwrap();
    assert_eq!(object.edit(&edit(true, false)), Err(Refusal::NotLoadable));
    image.file_type = 2;
    image.loads.clear();
    let empty = image.read().unwrap();
    assert_eq!(empty.edit(&edit(true, false)), Err(Refusal::NotLoadable));
}

#[test]
fn alignments_are_raised_where_offsets_allow_it() {
    for ident in idents() {
        let mut image = usual(ident);
        image.loads[2].5 = 8 << 20;
        let table = image.read().unwrap();
        let edited = table.edit(&align(2 << 20)).unwrap();
        let sizes = [2 << 20, 2 << 20, 8 << 20, 0x1000];
        assert_eq!(aligns(&edited.table), sizes);
        let skew = Unaligned {
            index: 4,
            why: Obstacle::Misaligned(0x1000),
        };
        assert_eq!(edited.unaligned, [skew]);
        let again = edited.table.edit(&align(2 << 20)).unwrap();
        assert_eq!(again.table, edited.table);
        let smaller = edited.table.edit(&align(0x1000)).unwrap();
        assert_eq!((smaller.table, smaller.unaligned.len()), (edited.table, 0));
    }
}

#[test]
fn wrong_or_useless_alignments_are_refused() {
    let [x86_64, _, i386, _] = idents();
    let refusal = |image: &Image, size| image.read().unwrap().edit(&align(size)).unwrap_err();
    let mut image = usual(x86_64);
    assert_eq!(refusal(&image, 3 << 20), Refusal::AlignOutOfRange(16 << 30));
    assert_eq!(refusal(&image, 0), Refusal::AlignOutOfRange(16 << 30));
    assert_eq!(
        refusal(&image, 32 << 30),
        Refusal::AlignOutOfRange(16 << 30)
    );
    assert_eq!(
        refusal(&usual(i386), 8 << 20),
        Refusal::AlignOutOfRange(4 << 20)
    );
    image.loads[1].2 = 0x2000;
    let skew = |index| Unaligned {
        index,
        why: Obstacle::Misaligned(0x1000),
    };
    assert_eq!(refusal(&image, 2 << 20), Refusal::Unaligned(vec![skew(2)]));
    // The offset is larger than the address, so the difference wraps.
    image.loads[1].1 = 0x3000;
    let behind = Unaligned {
        index: 2,
        why: Obstacle::Misaligned((2 << 20) - 0x1000),
    };
    assert_eq!(refusal(&image, 2 << 20), Refusal::Unaligned(vec![behind]));
    image.loads[1].5 = 3;
    let invalid = Unaligned {
        index: 2,
        why: Obstacle::NotPowerOfTwo(3),
    };
    assert_eq!(refusal(&image, 2 << 20), Refusal::Unaligned(vec![invalid]));
    image.loads[1].0 = R;
    assert_eq!(refusal(&image, 2 << 20), Refusal::NoText);
    image.file_type = 2;
    assert_eq!(refusal(&image, 2 << 20), Refusal::FixedAddresses);
}

#[test]
fn invalid_tables_are_errors() {
    let [x86_64, _, i386, _] = idents();
    let error = |image: &Image| image.read().unwrap_err().to_string();
    let change = |ident, change: fn(&mut Image)| {
        let mut image = usual(ident);
        change(&mut image);
        error(&image)
    };
    assert_eq!(
        change(x86_64, |image| image.len = 0x2500),
        "its segment 4 ends after the end of the file"
    );
    assert_eq!(
        change(x86_64, |image| image.loads[2].1 = u64::MAX - 7),
        "its segment 3 ends after the end of the file"
    );
    assert_eq!(
        change(x86_64, |image| image.loads[1].4 = 1),
        "its segment 2 has more bytes in the file than in memory"
    );
    assert_eq!(
        change(x86_64, |image| image.loads[3].4 = u64::MAX),
        "its segment 4 reaches beyond the last address"
    );
    assert_eq!(
        change(i386, |image| image.loads[3].2 = 0xffff_ff00),
        "its segment 4 reaches beyond the last address"
    );
    assert_eq!(
        change(x86_64, |image| image.table = 56),
        "its program header table makes no sense"
    );
}

#[test]
fn a_table_after_the_first_page_is_found() {
    for ident in idents() {
        let mut image = usual(ident);
        image.table = 0x3001;
        let mut bytes = image.bytes();
        let table = image.read().unwrap();
        let edited = table.edit(&edit(true, true)).unwrap();
        assert!(table.patch(&edited.table).unwrap().apply(&mut bytes));
        let again = Table::read(&bytes[..], bytes.len() as u64).unwrap();
        assert_eq!(marked(&again), [2, 4]);
    }
}

#[test]
fn a_patch_does_not_fit_another_file() {
    let [x86_64, other, ..] = idents();
    let table = usual(x86_64).read().unwrap();
    let patch = table
        .patch(&table.edit(&edit(true, true)).unwrap().table)
        .unwrap();
    let mut bytes = usual(other).bytes();
    let before = bytes.clone();
    assert!(!patch.apply(&mut bytes) && !patch.apply(&mut bytes[..70]));
    assert_eq!(bytes, before);
}
