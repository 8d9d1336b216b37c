use super::*;
use proptest::prelude::*;

const MB: u64 = 1 << 20;

fn two() -> PageSize {
    PageSize::new(2 * MB).unwrap()
}

fn load(address: u64, len: u64, writable: bool) -> Load {
    Load {
        offset: address,
        address,
        file_size: len,
        memory_size: len,
        align: 0x1000,
        writable,
        executable: !writable,
        marked: false,
    }
}

/// `cc1plus` of Debian 12: not PIE, four segments.
fn cc1plus() -> Layout {
    let base = 0x40_0000;
    let at = |offset, len| Load {
        offset,
        ..load(base + offset, len, false)
    };
    let data = Load {
        offset: 0x21c_1b80,
        address: 0x25c_2b80,
        file_size: 0xfd78,
        memory_size: 0x1b_1200,
        ..load(0, 0, true)
    };
    Layout {
        loads: vec![
            at(0, 0x25_78b0),
            at(0x25_8000, 0x153_2be5),
            at(0x178_b000, 0xa3_6673),
            data,
        ],
        relro: Some(0x25c_2b80..0x25c_6000),
        is_position_independent: false,
        marked: false,
    }
}

/// The same as a PIE.
fn pie(align: u64) -> Layout {
    let mut layout = cc1plus();
    layout.is_position_independent = true;
    for load in &mut layout.loads {
        load.address -= 0x40_0000;
        load.align = align;
    }
    layout.relro = None;
    layout
}

#[test]
fn the_inner_part_of_a_program_with_fixed_addresses() {
    let text = cc1plus().text(two());
    assert_eq!(text.inner, Bytes::new((2 + 18 + 8) * MB));
    assert_eq!(text.all, Bytes::new(0x25_78b0 + 0x153_2be5 + 0xa3_6673));
    assert!(text.exact);
    let data = cc1plus().data(two());
    assert_eq!(data.all, Bytes::new(0x25c_2b80 + 0x1b_1200 - 0x25c_6000));
    assert_eq!(data.inner, Bytes::default());
}

/// A small program linked by ld.hugetlbfs.
fn linked() -> Layout {
    let at = |address, len, writable| Load {
        align: 2 * MB,
        ..load(address, len, writable)
    };
    Layout {
        loads: vec![
            at(0, 0x7a0, false),
            at(2 * MB, 0x2b9, false),
            at(4 * MB, 0x2f8, false),
            Load {
                file_size: 0x27c,
                ..at(8 * MB - 0x240, 0x2c8, true)
            },
        ],
        relro: Some(8 * MB - 0x240..8 * MB),
        is_position_independent: true,
        marked: true,
    }
}

#[test]
fn a_program_that_was_linked_for_huge_pages_is_on_them_to_its_end() {
    let text = linked().text(two());
    assert_eq!((text.inner, text.exact), (text.all, true));
    assert_eq!(text.all, Bytes::new(0x7a0 + 0x2b9 + 0x2f8));
    let data = linked().data(two());
    assert_eq!(data.all, Bytes::new(0x2c8 - 0x240));
    assert_eq!((data.inner, data.pages), (data.all, Bytes::new(2 * MB)));
    assert_eq!(text.pages, Bytes::new(6 * MB));
    assert_eq!(linked().initialised(two()).1, Bytes::new(0x27c - 0x240));
    // Another segment shares the last page.
    let mut crowded = linked();
    crowded.loads[0].memory_size = 0x1000;
    crowded.loads.push(load(MB, 16, false));
    assert_eq!(crowded.text(two()).inner, Bytes::new(0x2b9 + 0x2f8));
    // It was linked for smaller pages.
    let larger = PageSize::new(1 << 30).unwrap();
    assert_eq!(linked().text(larger).inner, Bytes::default());
}

#[test]
fn relro_is_not_counted() {
    let mut layout = Layout {
        loads: vec![load(2 * MB, 6 * MB, true)],
        ..Layout::default()
    };
    assert_eq!(layout.data(two()).inner, Bytes::new(6 * MB));
    layout.relro = Some(2 * MB..2 * MB + 0x1000);
    assert_eq!(layout.data(two()).inner, Bytes::new(4 * MB));
    layout.relro = Some(0..u64::MAX);
    assert_eq!(layout.data(two()).all, Bytes::default());
    layout.relro = Some(20 * MB..21 * MB);
    assert_eq!(layout.data(two()).inner, Bytes::new(6 * MB));
}

#[test]
fn own_pages_are_parts_of_the_file() {
    let ranges = vec![0..2 * MB, 4 * MB..22 * MB, 24 * MB..32 * MB];
    assert_eq!(
        cc1plus().own_pages(two(), Place::Program),
        Ok(ranges.clone())
    );
    assert_eq!(
        pie(2 * MB).own_pages(two(), Place::Program),
        Ok(ranges.clone())
    );
    assert_eq!(pie(0x1000).own_pages(two(), Place::Library), Ok(ranges));
}

#[test]
fn why_there_are_no_own_pages() {
    let own = |layout: &Layout| layout.own_pages(two(), Place::Program);
    assert_eq!(own(&pie(0x1000)), Err(Obstacle::Alignment(0x1000)));
    let mut layout = cc1plus();
    layout
        .loads
        .iter_mut()
        .for_each(|load| load.address += 0x1000);
    assert_eq!(own(&layout), Err(Obstacle::Offsets));
    layout.loads.retain(|load| load.writable);
    assert_eq!(own(&layout), Err(Obstacle::Small));
    // Larger than a huge page, but not aligned to one.
    let layout = Layout {
        loads: vec![load(3 * MB, 2 * MB + MB / 2, false)],
        ..Layout::default()
    };
    assert_eq!(own(&layout), Err(Obstacle::Small));
}

fn any_load() -> impl Strategy<Value = Load> {
    (any::<[u64; 5]>(), 0u32..64, any::<bool>()).prop_map(|(n, shift, writable)| Load {
        offset: n[0] >> shift,
        address: n[1] >> shift,
        file_size: n[2] >> shift,
        memory_size: n[3] >> shift,
        align: n[4] >> shift,
        writable,
        executable: false,
        marked: false,
    })
}

proptest! {
    /// For any headers: no panic, and no part larger than the whole.
    #[test]
    fn the_inner_part_is_at_most_all(
        loads in prop::collection::vec(any_load(), 0..6),
        relro in prop::option::of((any::<u64>(), any::<u64>())),
        is_position_independent in any::<bool>(),
        size in 0u32..63,
    ) {
        let size = PageSize::new(1 << size).unwrap();
        let layout = Layout { loads, relro: relro.map(|(a, b)| a..b), is_position_independent, marked: false };
        for part in [layout.text(size), layout.data(size)] {
            prop_assert!(part.inner <= part.all, "{part:?}");
            prop_assert!(part.pages >= part.inner);
            prop_assert!(part.pages.get() % size.get() == 0 || part.pages.get() == u64::MAX || part.pages == part.inner);
        }
        for place in [Place::Program, Place::Library] {
            for range in layout.own_pages(size, place).unwrap_or_default() {
                prop_assert!(range.start < range.end && range.start % size.get() == 0);
                prop_assert_eq!(range.end % size.get(), 0);
            }
        }
    }
}
