//! What a run of hugeedit says, as one JSON document. The fields are described
//! in hugeedit(8).

use hugetools_link::report::Report;
use hugetools_model::Head;
use serde::Serialize;

/// What a run says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Document {
    /// What all documents begin with.
    #[serde(flatten)]
    pub head: Head,
    /// The file, as it was named.
    pub file: String,
    /// What became of it; absent after an error.
    #[serde(flatten)]
    pub report: Option<Report>,
}
