//! Which parts of a program's segments can be on huge pages.

pub(crate) mod alignment;
pub(crate) mod page_cache;

use hugetools_contract::env::{Elfmap, Pages};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::{Bytes, FileError, PageSize, Root, thp};

use crate::caller::Caller;
use crate::caller::filter::Answer;
use crate::files;
use crate::probe::coverage::alignment::{Parts, is_reachable};
use crate::probe::coverage::page_cache::TextFile;
use crate::probe::dynamic_loader;
use crate::probe::heap_engine::Look;
use crate::probe::kernel::{Kernel, Wants};
use crate::probe::target::elf_layout::{Layout, Place};
use crate::probe::target::{Image, Target};

/// Adds text and data if the file marks any segment and no option or variable names them.
pub(super) fn with_marks(asked: Wants, elfmap: Elfmap, look: &Look) -> Wants {
    let is_marked = |target: &Target| target.layout.marked;
    match elfmap.heeds_marks() && look.target.as_ref().is_some_and(is_marked) {
        true => Wants {
            text: Some(Pages::Default),
            data: Some(Pages::Default),
            ..asked
        },
        false => asked,
    }
}

/// Returns the target if its segments are requested and reachable.
pub(super) fn target(asked: Wants, look: &Look) -> Option<&Target> {
    let is_requested = asked.text.is_some() || asked.data.is_some();
    let target = look.target.as_ref().filter(|_| is_requested);
    target.filter(|target| is_reachable(target))
}

/// Measures the segments in huge pages of the smallest size that may serve them.
pub(super) fn measure(root: &Root, asked: Wants, target: &Target) -> Result<Parts, FileError> {
    let size = match thp::pmd_size(root)? {
        Some(size) => Some(size),
        None => Meminfo::read(root)?.huge_page_size,
    };
    Ok(Parts::measure(target, asked, size))
}

/// Records in `parts` the files whose text a start puts on huge pages of the page cache: the
/// program and, with `libraries`, its libraries.
pub(super) fn find_text_files(
    root: &Root,
    caller: &Caller,
    target: &Target,
    libraries: bool,
    (kernel, parts): (&Kernel, &mut Parts),
) -> Result<(), FileError> {
    let size = match &kernel.thp {
        Some(thp) => thp.pmd_size,
        None => thp::pmd_size(root)?,
    };
    let Some(size) = size else {
        return Ok(());
    };
    let mut files = Vec::new();
    match target.layout.own_pages(size, Place::Program) {
        Ok(parts) => files.push(TextFile {
            path: target.program.clone(),
            parts,
            size,
        }),
        Err(obstacle) => parts.obstacle = Some(obstacle),
    }
    if libraries {
        files.extend(large_libraries(target, caller, size));
    }
    // A recorded machine has no page cache.
    if root.is_live() {
        let files = files.into_iter();
        parts.text_files = files
            .map(|file| page_cache::predict(file, caller))
            .collect();
    }
    Ok(())
}

/// Whether text uses the file's own pages. If a size is requested, pool pages come first.
pub(super) fn uses_own_pages(target: &Target, asked: Wants, kernel: &Kernel) -> bool {
    match asked.text {
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

/// Returns the program's libraries whose text holds whole huge pages.
fn large_libraries(target: &Target, caller: &Caller, size: PageSize) -> Vec<TextFile> {
    let program = &target.program;
    let elf = files::open_elf(program);
    let (Image::Dynamic(libc), Some(elf)) = (&target.image, elf) else {
        return Vec::new();
    };
    let path = caller.var("LD_LIBRARY_PATH");
    let found = dynamic_loader::libraries(program, &elf, *libc, path);
    let file = |(path, elf)| {
        let parts = Layout::of(&elf).own_pages(size, Place::Library).ok()?;
        Some(TextFile { path, parts, size })
    };
    found.into_iter().filter_map(file).collect()
}
