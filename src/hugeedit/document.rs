//! What a run of hugeedit says, as one JSON document. The fields are described
//! in hugeedit(8).

use hugetools_link::report::Report;
use serde::Serialize;

/// What a run says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document {
    /// `hugeedit`
    pub tool: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The exit status.
    pub status: u8,
    /// Why nothing was done.
    pub errors: Vec<String>,
    /// What should be known besides.
    pub notes: Vec<String>,
    /// The file, as it was named.
    pub file: String,
    /// What became of it; absent after an error.
    #[serde(flatten)]
    pub report: Option<Report>,
}
