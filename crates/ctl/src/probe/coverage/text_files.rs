//! The files whose text can be on huge pages of the page cache.

use std::ffi::OsStr;

use hugetools_contract::env::Pages;
use hugetools_model::{Bytes, PageSize};

use crate::caller::filter::Answer;
use crate::files;
use crate::probe::coverage::page_cache::TextFile;
use crate::probe::dynamic_loader;
use crate::probe::kernel::{Kernel, Wants};
use crate::probe::target::elf_layout::{Layout, Obstacle, Place};
use crate::probe::target::{Image, Target};

/// Whether text uses the file's own pages. If a size is asked for, pool pages come first.
pub(super) fn are_tried(target: &Target, wants: Wants, kernel: &Kernel) -> bool {
    match wants.text {
        None => false,
        Some(_) if kernel.filter.madvise != Answer::Allowed => false,
        Some(pages @ Pages::Size(bytes)) => {
            let obtainable = kernel.source(pages).map(|source| source.obtainable());
            let size = PageSize::new(bytes);
            let needs = size.map_or(Bytes::default(), |size| target.layout.text(size).pages);
            target.image == Image::Static || needs == Bytes::default() || obtainable < Some(needs)
        }
        Some(Pages::Default | Pages::Thp) => true,
    }
}

/// Returns the program, or why its text cannot be on huge pages of its file.
pub(super) fn program(target: &Target, size: PageSize) -> Result<TextFile, Obstacle> {
    Ok(TextFile {
        path: target.program.clone(),
        parts: target.layout.own_pages(size, Place::Program)?,
        size,
    })
}

/// Returns the program's libraries that are large enough.
pub(super) fn libraries(target: &Target, path: Option<&OsStr>, size: PageSize) -> Vec<TextFile> {
    let program = &target.program;
    let elf = files::open_elf(program);
    let (Image::Dynamic(libc), Some(elf)) = (&target.image, elf) else {
        return Vec::new();
    };
    let found = dynamic_loader::libraries(program, &elf, *libc, path, &[]);
    let file = |(path, elf)| {
        let parts = Layout::of(&elf).own_pages(size, Place::Library).ok()?;
        Some(TextFile { path, parts, size })
    };
    found.into_iter().filter_map(file).collect()
}
