//! Converts amounts to whole pages.

use hugetools_model::{Bytes, PageCount, PageSize};

use crate::request::spec::Amount;

/// Returns the number of whole pages in an amount.
pub(super) fn count(amount: Amount, size: PageSize, memory: Bytes) -> Result<PageCount, String> {
    let (pages, all) = match amount {
        Amount::Pages(pages) => (pages, None),
        Amount::Memory(bytes) => (bytes.pages(size).0, Some(bytes)),
        Amount::Percent(percent) => {
            let bytes = memory.percent(percent).unwrap_or(memory);
            (bytes.pages(size).0, Some(bytes))
        }
    };
    if size.of(pages).is_none() {
        return Err(format!(
            "too many: {pages} pages of {size} exceed 64 bits in bytes"
        ));
    }
    match all {
        Some(bytes) if pages == PageCount::ZERO && bytes.get() > 0 => {
            Err(format!("{} is less than one page of {size}", about(bytes)))
        }
        _ => Ok(pages),
    }
}

/// Rounds to megabytes or kilobytes, because percentages of memory are seldom round.
fn about(bytes: Bytes) -> String {
    let exact = bytes.to_string();
    match exact.len() {
        0..=7 => exact,
        _ => match bytes.get() >> 20 {
            0 => format!("{}KB", bytes.get() >> 10),
            megabytes => format!("{megabytes}MB"),
        },
    }
}

/// A note about an amount that is not a whole number of pages.
pub(super) fn rounding(
    option: &str,
    amount: Amount,
    size: PageSize,
    pages: PageCount,
) -> Option<String> {
    let Amount::Memory(bytes) = amount else {
        return None;
    };
    let (_, rest) = bytes.pages(size);
    (rest.get() > 0).then(|| {
        let noun = if pages.get() == 1 { "page" } else { "pages" };
        format!("{option}: {bytes} is not a whole number of pages, rounded down to {pages} {noun} of {size}")
    })
}
