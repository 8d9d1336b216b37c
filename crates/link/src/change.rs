//! Requested changes of a file, and messages for refused ones.

use std::fmt::Write;
use std::path::Path;

use hugetools_elf::{Edit, Ident, Marks, Refusal, Unaligned};
use hugetools_model::Bytes;

use crate::failure::Failure;

/// A requested change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// The marks to set; `None` keeps the present ones.
    pub marks: Option<Marks>,
    /// The alignment to set; `None` keeps the present one.
    pub align: Option<Align>,
}

/// An alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// The tool's default for the architecture.
    Usual,
    /// This many bytes.
    To(u64),
}

impl Change {
    /// Whether anything is requested.
    pub fn is_any(&self) -> bool {
        self.marks.is_some() || self.align.is_some()
    }

    /// Resolves [`Align::Usual`] for the file's architecture.
    pub(crate) fn edit(&self, path: &Path, ident: Ident) -> Result<Edit, Failure> {
        let align = match self.align {
            None => None,
            Some(Align::To(size)) => Some(size),
            Some(Align::Usual) => Some(ident.file_page_size().ok_or_else(|| {
                let machine = ident.machine_name();
                Failure::of(
                    path,
                    format_args!("the huge page size of {machine} is not known"),
                )
                .next("set it with --align=SIZE")
            })?),
        };
        Ok(Edit {
            marks: self.marks,
            align,
        })
    }
}

/// Returns the message for a refused change.
pub(crate) fn refused(path: &Path, edit: &Edit, why: &Refusal) -> Failure {
    let of = |what: &str| Failure::of(path, what);
    let size = edit.align.unwrap_or_default();
    match why {
        Refusal::NotLoadable => of("is neither a program nor a library")
            .next("object files and core dumps have no loadable segments"),
        Refusal::NothingToMark => of(
            "no such segment: text is readable and executable, without bss; data is readable and writable",
        )
        .next("hugeedit without an option lists the segments"),
        Refusal::FixedAddresses => {
            of("has fixed addresses: a larger alignment would not move them")
                .next("hugectl --text works without a change of the file")
        }
        Refusal::AlignOutOfRange(largest) => {
            let (size, largest) = (Bytes::new(size), Bytes::new(*largest));
            of(&format!("cannot be aligned to {size}")).next(&format!(
                "the size must be a power of two, at most {largest} for this file"
            ))
        }
        Refusal::Unaligned(segments) => unaligned(path, size, segments),
    }
}

fn unaligned(path: &Path, size: u64, segments: &[Unaligned]) -> Failure {
    let mut text = format!(
        "{}: cannot be aligned to {}",
        path.display(),
        Bytes::new(size)
    );
    for segment in segments {
        let _ = write!(text, "\n  segment {}: {segment}", segment.index);
    }
    Failure::new(text).next(&format!(
        "link it again with -Wl,-z,max-page-size={size}, or with ld.hugetlbfs"
    ))
}
