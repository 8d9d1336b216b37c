//! What of a program's segments can be on huge pages.

use hugetools_contract::env::{Elfmap, Pages};
use hugetools_model::{FileError, PageSize, Root, thp};

use crate::caller::Caller;
use crate::effects::Effects;
use crate::engine::Look;
use crate::kernel::{Kernel, Wants};
use crate::parts::{self, Parts};
use crate::prepare::{self, Job};
use crate::target::{Image, Target};
use crate::text_files;

/// Parts that are marked in the file are asked for, where nothing is said
/// about them.
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

/// What is looked for in a program's segments.
pub(super) struct Search<'a> {
    /// What is asked for.
    pub(super) asked: Wants,
    /// Whether libraries' text is meant, too.
    pub(super) libraries: bool,
    /// The pools.
    pub(super) kernel: &'a Kernel,
    /// Who asks.
    pub(super) caller: &'a Caller,
    /// Whether the page cache may be changed.
    pub(super) may_change: bool,
}

impl Search<'_> {
    /// Finds out what of the segments can be on huge pages, and prepares the
    /// files of the text.
    pub(super) fn parts(
        &self,
        root: &Root,
        look: &Look,
        effects: &mut dyn Effects,
    ) -> Result<Parts, FileError> {
        let target = look.target.as_ref().filter(|t| parts::is_reachable(t));
        let (text, data) = (self.asked.text, self.asked.data);
        let Some(target) = target.filter(|_| text.is_some() || data.is_some()) else {
            return Ok(Parts::default());
        };
        let thp = thp::pmd_size(root)?;
        let mut parts = Parts::measure(target, self.asked, thp);
        if let Some(size) = thp.filter(|_| text_files::are_tried(target, self.asked, self.kernel)) {
            self.prepare(target, size, root, &mut parts, effects);
        }
        Ok(parts)
    }

    /// Prepares the page cache of the machine that runs this.
    fn prepare(
        &self,
        target: &Target,
        size: PageSize,
        root: &Root,
        parts: &mut Parts,
        effects: &mut dyn Effects,
    ) {
        let mut jobs = Vec::new();
        match text_files::program(target, size) {
            Ok(job) => jobs.push(job),
            Err(obstacle) => parts.obstacle = Some(obstacle),
        }
        if !root.is_live() {
            return;
        }
        if let (true, Image::Dynamic(libc)) = (self.libraries, &target.image) {
            let path = self.caller.var("LD_LIBRARY_PATH");
            jobs.extend(text_files::libraries(&target.program, *libc, path, size));
        }
        let one = |job: &Job| match self.may_change {
            true => prepare::run(job, size, self.caller, effects),
            false => prepare::foresee(job, size, self.caller),
        };
        parts.prepared = jobs.iter().map(one).collect();
    }
}
