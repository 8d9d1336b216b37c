//! The JSON document of a run of hugeedit. hugeedit(8) describes its fields.

use hugetools_link::report::Report;
use hugetools_model::Head;
use serde::Serialize;

/// The document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document {
    /// The fields that all documents have.
    #[serde(flatten)]
    pub head: Head,
    /// The file as named on the command line.
    pub file: String,
    /// The changes to the file; absent after an error.
    #[serde(flatten)]
    pub report: Option<Report>,
}
