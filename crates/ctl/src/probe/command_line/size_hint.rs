//! A hint on `--heap 2MB ls`, which lacks a `=`.

use hugetools_contract::env::Pages;
use hugetools_model::PageSize;

use crate::request::Run;
use crate::say::failure::Failure;

/// Adds the hint if the program that was not found is a page size.
pub(crate) fn add(failure: Failure, run: &Run) -> Failure {
    let word = run.command.first().and_then(|word| word.to_str());
    let size = word.filter(|word| *word == "thp" || word.parse::<PageSize>().is_ok());
    let option = run
        .asked_pages()
        .find(|(_, pages)| *pages == Pages::Default);
    match (failure, size, option) {
        (Failure::NotFound(text), Some(size), Some((option, _))) => {
            Failure::NotFound(format!("{text}; {option}={size}?"))
        }
        (failure, ..) => failure,
    }
}
