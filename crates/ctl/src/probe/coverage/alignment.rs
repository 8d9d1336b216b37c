//! Measures how much of a program's segments can be on huge pages.

use hugetools_contract::env::Pages;
use hugetools_model::{Bytes, PageSize};

use crate::probe::coverage::page_cache::CachedText;
use crate::probe::kernel::Wants;
use crate::probe::target::elf_layout::{Obstacle, Part};
use crate::probe::target::{Image, Target};

/// How much of the requested segments can be on huge pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Parts {
    pub(crate) text: Option<Part>,
    pub(crate) data: Option<Part>,
    /// Why the program's text cannot be on huge pages of its file.
    pub(crate) obstacle: Option<Obstacle>,
    /// The files whose text may be on huge pages of the page cache, the program first.
    pub(crate) text_files: Vec<CachedText>,
}

impl Parts {
    /// Measures the requested segments in huge pages of `size`, or of the requested size if that is
    /// smaller.
    pub(crate) fn measure(target: &Target, wants: Wants, size: Option<PageSize>) -> Parts {
        let size = |pages: Option<Pages>| pages.and_then(|pages| smallest(pages, size));
        let layout = &target.layout;
        Parts {
            text: size(wants.text).map(|size| layout.text(size)),
            data: size(wants.data).map(|size| layout.data(size)),
            ..Parts::default()
        }
    }

    /// Drops requests for text or data that cannot have a huge page.
    pub(crate) fn possible(&self, wants: Wants) -> Wants {
        let has_page = |part: Option<Part>| part.is_some_and(|part| part.inner > Bytes::default());
        Wants {
            text: wants.text.filter(|_| has_page(self.text)),
            data: wants.data.filter(|_| has_page(self.data)),
            ..wants
        }
    }

    /// Predicts how much of the program's text will be on huge pages of its file.
    pub(crate) fn own(&self, target: &Target) -> Bytes {
        let mut own = self.text_files.iter();
        let own = own.find(|cached| cached.text.path == target.program && cached.may_be_huge());
        own.map_or(Bytes::default(), |cached| cached.wanted)
    }

    /// Returns the bytes of text that need huge pages other than those of its file.
    pub(crate) fn needs(&self, target: &Target, wants: Wants) -> Bytes {
        let own = self.own(target);
        let part = self.text.filter(|_| wants.text.is_some());
        part.map_or(Bytes::default(), |part| {
            let whole = if own.get() > 0 { part.full } else { part.pages };
            Bytes::new(whole.get().saturating_sub(own.get()))
        })
    }
}

/// Whether our library or the page cache can put the program's segments on huge pages.
pub(crate) fn is_reachable(target: &Target) -> bool {
    target.secure_exec.is_none() && matches!(target.image, Image::Dynamic(_) | Image::Static)
}

/// Returns the smallest page size that may serve a request. `size` is the THP size, otherwise the
/// default huge page size.
fn smallest(pages: Pages, size: Option<PageSize>) -> Option<PageSize> {
    match pages {
        Pages::Default | Pages::Thp => size,
        Pages::Size(bytes) => {
            let requested = PageSize::new(bytes);
            requested.map(|requested| size.map_or(requested, |size| size.min(requested)))
        }
    }
}
