//! What every JSON document of every tool begins with.
//!
//! **Invariants.** Its fields are the first ones of every document, and the number of the
//! form grows where a reader of the old one would go wrong.

use serde::Serialize;

/// The number of the form that documents have.
pub const SCHEMA: u32 = 1;

/// The head of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Head {
    /// The tool's name.
    pub tool: &'static str,
    /// Its version.
    pub version: &'static str,
    /// [`SCHEMA`]
    pub schema: u32,
    /// The exit status.
    pub status: u8,
    /// What failed, those of the command line included.
    pub errors: Vec<String>,
    /// What is not as it was asked for, or should be known besides.
    pub warnings: Vec<String>,
}

impl Head {
    /// Of a tool that has nothing amiss so far.
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

    /// Of a tool that ends with this status, for this reason.
    pub fn failed(tool: &'static str, status: u8, why: impl Into<String>) -> Head {
        Head {
            status,
            errors: vec![why.into()],
            ..Head::new(tool)
        }
    }
}
