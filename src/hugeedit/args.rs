//! The command line of hugeedit.

use std::path::PathBuf;

use clap::{ArgAction, Parser, ValueHint};
use hugetools_link::Align;
use hugetools_model::PageSize;

const LONG_ABOUT: &str = "\
Shows and changes which segments of a program ask for huge pages, and how they \
are aligned. Without an option nothing is changed.";

const AFTER_HELP: &str = "\
Examples:
  hugeedit ./solver                  show the segments
  hugeedit --text --data ./solver    mark text and data
  hugeedit --disable ./solver        take the marks away
  hugeedit --align ./solver          place its text where huge pages of the file fit

Exit status: 0 done, 1 failed and the file is as it was, 2 usage error.";

/// The parsed command line.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(
    name = "hugeedit",
    version,
    about = "Mark the segments of a program for huge pages",
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    override_usage = "hugeedit [OPTIONS] FILE",
    infer_long_args = true,
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub struct Args {
    /// Mark text and unmark all other segments
    ///
    /// Text means the segments that are read and executed and come from the file
    /// as a whole. With --data, text and data are marked.
    #[arg(long, help_heading = "Marks")]
    pub text: bool,

    /// Mark data and unmark all other segments
    ///
    /// Data means the segments that are read and written, bss included; on 32-bit
    /// PowerPC they are executable as well.
    #[arg(long, help_heading = "Marks")]
    pub data: bool,

    /// Remove all marks
    #[arg(long, help_heading = "Marks", conflicts_with_all = ["text", "data"])]
    pub disable: bool,

    /// Raise the alignment of the segments, so that huge pages of the file itself fit
    ///
    /// The kernel then loads a position-independent program at addresses where
    /// huge pages of the file can be mapped. SIZE defaults to that of the
    /// program's machine: 1MB on s390x, 32MB on loongarch, 2MB on the others.
    /// If address and offset of an executable segment differ modulo SIZE, the
    /// file stays unchanged. Other such segments are skipped with a warning.
    #[arg(
        long, value_name = "SIZE", help_heading = "Alignment", value_parser = align,
        num_args = 0..=1, require_equals = true, default_missing_value = USUAL,
    )]
    pub align: Option<Align>,

    /// Print the result as one JSON document
    #[arg(long, help_heading = "How")]
    pub json: bool,

    /// Print help: -h in short, --help in full
    #[arg(long, short = 'h', action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,

    /// Print the version
    #[arg(long, action = ArgAction::Version, help_heading = "How")]
    version: Option<bool>,

    /// The program or library
    #[arg(value_name = "FILE", hide = true, value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}

/// Stands for the default alignment of the file's machine; no valid size is spelled so.
const USUAL: &str = "usual";

fn align(text: &str) -> Result<Align, String> {
    if text == USUAL {
        return Ok(Align::Usual);
    }
    let size: PageSize = text.parse().map_err(|error| format!("{error}"))?;
    match size.get().is_power_of_two() {
        true => Ok(Align::To(size.get())),
        false => Err("not a power of two".to_owned()),
    }
}
