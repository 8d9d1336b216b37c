//! The files whose text can be on huge pages of the page cache.

use std::ffi::OsStr;
use std::path::Path;

use hugetools_contract::env::Pages;
use hugetools_model::{Bytes, PageSize};

use crate::caller::filter::Answer;
use crate::files;
use crate::probe::coverage::page_cache::Job;
use crate::probe::dynamic_loader;
use crate::probe::kernel::{Kernel, Wants};
use crate::probe::target::elf_layout::{Layout, Obstacle, Place};
use crate::probe::target::{Image, Libc, Target};

/// Whether the file's own pages are what text comes to: of a size that is asked
/// for, pages of a pool come first, where there are enough.
pub(crate) fn are_tried(target: &Target, wants: Wants, kernel: &Kernel) -> bool {
    match wants.text {
        None => false,
        // They are asked for by that call.
        Some(_) if kernel.filter.madvise != Answer::Allowed => false,
        Some(pages @ Pages::Size(bytes)) => {
            let had = kernel.source(pages).map(|source| source.obtainable());
            let size = PageSize::new(bytes);
            let needs = size.map_or(Bytes::default(), |size| target.layout.text(size).pages);
            target.image == Image::Static || needs == Bytes::default() || had < Some(needs)
        }
        Some(Pages::Default | Pages::Thp) => true,
    }
}

/// The program, or why its text cannot be on huge pages of its file.
pub(crate) fn program(target: &Target, size: PageSize) -> Result<Job, Obstacle> {
    let parts = target.layout.own_pages(size, Place::Program)?;
    Ok(Job {
        path: target.program.clone(),
        parts,
        size,
    })
}

/// The libraries that a program needs and that are large enough.
pub(crate) fn libraries(
    program: &Path,
    libc: Libc,
    library_path: Option<&OsStr>,
    size: PageSize,
) -> Vec<Job> {
    let elf = files::open_elf(program);
    let found = elf.map(|elf| dynamic_loader::libraries(program, &elf, libc, library_path, &[]));
    let job = |(path, elf)| {
        let parts = Layout::of(&elf).own_pages(size, Place::Library).ok()?;
        Some(Job { path, parts, size })
    };
    found
        .unwrap_or_default()
        .into_iter()
        .filter_map(job)
        .collect()
}
