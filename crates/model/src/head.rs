//! The first fields of every JSON document of every tool.
//!
//! **Invariants.** Every document begins with these fields. An incompatible change raises
//! the schema version.

use serde::Serialize;

/// The version of the JSON schema.
pub const SCHEMA: u32 = 1;

/// The head of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Head {
    /// The tool's name.
    pub tool: &'static str,
    /// Its version.
    pub version: &'static str,
    /// [`SCHEMA`]
    pub schema: u32,
    /// The exit status.
    pub status: u8,
    /// Failures, usage errors included.
    pub errors: Vec<String>,
    /// Deviations from the request, and other warnings.
    pub warnings: Vec<String>,
}

impl Head {
    /// Returns the head of a successful run.
    pub fn new(tool: &'static str) -> Head {
        Head {
            tool,
            version: env!("CARGO_PKG_VERSION"),
            schema: SCHEMA,
            status: 0,
            errors: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Returns the head of a run that failed with this status and reason.
    pub fn failed(tool: &'static str, status: u8, why: impl Into<String>) -> Head {
        Head {
            status,
            errors: vec![why.into()],
            ..Head::new(tool)
        }
    }
}
