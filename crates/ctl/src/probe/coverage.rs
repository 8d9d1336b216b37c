//! What of a program's segments can be on huge pages.

pub mod alignment;
pub mod page_cache;
mod text_files;

use hugetools_contract::env::{Elfmap, Pages};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::{FileError, Root, thp};

use crate::caller::Caller;
use crate::probe::coverage::alignment::Parts;
use crate::probe::heap_engine::Look;
use crate::probe::kernel::{Kernel, Wants};
use crate::probe::target::Target;

/// Adds the segments that are marked in the file, if no option is about them.
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

/// What to look for in a program's segments.
pub(super) struct Search<'a> {
    pub(super) asked: Wants,
    /// `--text-libs`
    pub(super) libraries: bool,
    pub(super) caller: &'a Caller,
}

impl Search<'_> {
    /// Measures what of the segments can be on huge pages.
    pub(super) fn measure(&self, root: &Root, look: &Look) -> Result<Parts, FileError> {
        let Some(target) = self.target(look) else {
            return Ok(Parts::default());
        };
        let size = match thp::pmd_size(root)? {
            Some(size) => Some(size),
            None => Meminfo::read(root)?.huge_page_size,
        };
        Ok(Parts::measure(target, self.asked, size))
    }

    /// Returns the target if there is anything to do about its segments.
    fn target<'l>(&self, look: &'l Look) -> Option<&'l Target> {
        let is_requested = self.asked.text.is_some() || self.asked.data.is_some();
        let target = look.target.as_ref().filter(|_| is_requested);
        target.filter(|target| alignment::is_reachable(target))
    }

    /// Finds the files whose text a start puts on huge pages of the page cache.
    pub(super) fn text_files(
        &self,
        root: &Root,
        look: &Look,
        kernel: &Kernel,
        parts: &mut Parts,
    ) -> Result<(), FileError> {
        let target = self.target(look);
        let target = target.filter(|target| text_files::are_tried(target, self.asked, kernel));
        let Some(target) = target else {
            return Ok(());
        };
        let size = match &kernel.thp {
            Some(thp) => thp.pmd_size,
            None => thp::pmd_size(root)?,
        };
        let Some(size) = size else {
            return Ok(());
        };
        let mut files = Vec::new();
        match text_files::program(target, size) {
            Ok(file) => files.push(file),
            Err(obstacle) => parts.obstacle = Some(obstacle),
        }
        if self.libraries {
            let path = self.caller.var("LD_LIBRARY_PATH");
            files.extend(text_files::libraries(target, path, size));
        }
        // A recorded machine has no page cache.
        if root.is_live() {
            let files = files.into_iter();
            parts.prepared = files
                .map(|file| page_cache::predict(file, self.caller))
                .collect();
        }
        Ok(())
    }
}
