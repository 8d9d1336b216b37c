//! What is asked of a file, and why it may be refused.

use std::fmt::Write;
use std::path::Path;

use hugetools_elf::{Edit, Ident, Marks, Refusal, Unaligned};
use hugetools_model::Bytes;

use crate::failure::Failure;

/// What is asked of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// The marks that its segments shall have; as they are where `None`.
    pub marks: Option<Marks>,
    /// How its segments shall be aligned; as they are where `None`.
    pub align: Option<Align>,
}

/// An alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// That of the pages which the kernel backs files with on the file's own
    /// machine.
    Usual,
    /// So many bytes.
    To(u64),
}

impl Change {
    /// Whether anything is to be changed.
    pub fn is_any(&self) -> bool {
        self.marks.is_some() || self.align.is_some()
    }

    /// The same for the files of one machine.
    pub(crate) fn edit(&self, path: &Path, ident: Ident) -> Result<Edit, Failure> {
        let align = match self.align {
            None => None,
            Some(Align::To(size)) => Some(size),
            Some(Align::Usual) => Some(ident.file_page_size().ok_or_else(|| {
                let machine = ident.machine;
                Failure::of(
                    path,
                    format_args!("the huge pages of {machine} are not known"),
                )
                .next("say their size: --align=SIZE")
            })?),
        };
        Ok(Edit {
            marks: self.marks,
            align,
        })
    }
}

/// Why a file stays as it is.
pub(crate) fn refused(path: &Path, edit: &Edit, why: &Refusal) -> Failure {
    let of = |what: &str| Failure::of(path, what);
    let size = edit.align.unwrap_or_default();
    match why {
        Refusal::NotStarted => of("is no program or library")
            .next("object files and cores have nothing that is loaded"),
        Refusal::NothingToMark(marks) => {
            of(nothing(*marks)).next("hugeedit without an option lists the segments")
        }
        Refusal::FixedAddresses => of("has fixed addresses, which no alignment moves")
            .next("where it lies, hugectl --text can use its own pages as they are"),
        Refusal::Size(largest) => {
            let (size, largest) = (Bytes::new(size), Bytes::new(*largest));
            of(&format!("cannot be aligned to {size}")).next(&format!(
                "a size is a power of two, for this file up to {largest}"
            ))
        }
        Refusal::NoText => of("has no executable segment to align"),
        Refusal::Unaligned(segments) => unaligned(path, size, segments),
    }
}

fn nothing(marks: Marks) -> &'static str {
    match (marks.text, marks.data) {
        (true, true) => {
            "no segment is text (read and executed, all of it from the file) or data (read and written)"
        }
        (true, false) => "no segment is text (read and executed, all of it from the file)",
        (false, _) => "no segment is data (read and written)",
    }
}

fn unaligned(path: &Path, size: u64, segments: &[Unaligned]) -> Failure {
    let mut text = format!(
        "{}: cannot be aligned to {}",
        path.display(),
        Bytes::new(size)
    );
    for segment in segments {
        let _ = write!(text, "\n  segment {}: {}", segment.index, segment.why);
    }
    Failure::new(text).next(&format!(
        "link it again with -Wl,-z,max-page-size={size}, or with ld.hugetlbfs"
    ))
}
