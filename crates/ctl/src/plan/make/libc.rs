//! A heap that stays with glibc, configured by its tunables.

use hugetools_contract::env::{self, Pages};
use hugetools_model::PageSize;

use super::Maker;
use crate::probe::dynamic_loader::glibc_tunables;
use crate::probe::heap_engine::Engine;

impl Maker<'_> {
    /// Sets the tunables. Without a size, glibc gets transparent huge pages: a pool may have no free
    /// page for a COW fault in a forked child.
    pub(super) fn tunables(&mut self) {
        if self.findings.decision.engine != Engine::Libc || self.omits_tunables() {
            return;
        }
        let list = self.caller.var(glibc_tunables::VARIABLE);
        if let Some(value) = glibc_tunables::value(list, glibc_tunables::HUGETLB) {
            let value = String::from_utf8_lossy(value);
            let text = format!("{} keeps its value {value}", glibc_tunables::HUGETLB);
            return self.info(text);
        }
        let size = match self.findings.served.heap {
            Some(Pages::Size(size)) => Some(size),
            _ => None,
        };
        let default = self.findings.kernel.default.map(PageSize::get);
        let value = match size {
            None => 1,
            Some(size) if Some(size) == default => 2,
            Some(size) => size,
        };
        if size.is_some() {
            self.warn(
                "glibc takes pool pages by itself: a forked child may be killed when the pool is \
                 empty; --heap=thp has no such risk",
            );
        }
        let mut more = vec![(glibc_tunables::HUGETLB, value)];
        if glibc_tunables::value(list, glibc_tunables::MMAP_THRESHOLD).is_none() {
            more.push((
                glibc_tunables::MMAP_THRESHOLD,
                glibc_tunables::LARGEST_THRESHOLD,
            ));
        }
        let is_padded = glibc_tunables::value(list, glibc_tunables::TOP_PAD).is_some();
        if size.is_some_and(|size| size < glibc_tunables::POOL_PAD) && !is_padded {
            more.push((glibc_tunables::TOP_PAD, glibc_tunables::POOL_PAD));
        }
        self.set(glibc_tunables::VARIABLE, glibc_tunables::with(list, &more));
    }

    /// Sets the heap's variable, for the program or its children. With `--heap-engine=libc` no
    /// program gets our heap.
    pub(super) fn heap(&mut self) {
        if self.findings.decision.engine == Engine::Libc && self.run.wants_libc() {
            if self.caller.var(env::MORECORE).is_some() {
                self.set(env::MORECORE, "no");
            }
            return;
        }
        // Our library can still serve children of a static program.
        let served =
            self.findings.decision.engine != Engine::None || self.findings.look.is_static();
        if let Some(pages) = self.run.heap.filter(|_| served) {
            self.set(env::MORECORE, pages.to_string());
        }
    }
}
