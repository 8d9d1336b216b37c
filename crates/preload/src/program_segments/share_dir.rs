//! Chooses the directory of shared copies.

use core::fmt;

use hugetools_contract::env::{Pages, SHARE_PATH};
use hugetools_kernfs::size_name::SizeName;
use hugetools_pages::config;
use hugetools_pages::extent::page_sizes::asked_size;
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::rt::path::Path;
use hugetools_pages::segment::share::{ShareDir, ShareDirError};

use crate::api::mounts;
use crate::loader::objects::Object;

/// Opens `HUGETLB_SHARE_PATH`, or the user's directory on the mount for the requested pages. `None`
/// if sharing isn't requested or, with a message, impossible.
pub(super) fn open(program: &Object<'_>, pages: Pages) -> Option<ShareDir> {
    let config = config::get();
    let size = asked_size(pages).filter(|_| config.share_text)?;
    if maps_its_code(program) {
        return refuse(format_args!(
            "the program maps its code again from its file"
        ));
    }
    match config.share_path {
        Some(path) => named(path, pages),
        None => own(size),
    }
}

/// Reports why the copy isn't shared.
fn refuse(why: fmt::Arguments<'_>) -> Option<ShareDir> {
    say(Level::Warning, format_args!("text: not shared: {why}"));
    None
}

/// Whether the program contains Node.js: V8 maps its code again as `/proc/self/maps` describes it,
/// and ends if that fails, as it does for part of a hugetlb page.
fn maps_its_code(program: &Object<'_>) -> bool {
    program.address_of(c"napi_create_function").is_some()
}

fn named(path: &[u8], pages: Pages) -> Option<ShareDir> {
    let Some(path) = Path::of_bytes(path) else {
        return refuse(format_args!("{SHARE_PATH} is too long"));
    };
    let size = match pages {
        Pages::Size(_) => asked_size(pages),
        Pages::Default | Pages::Thp => None,
    };
    opened(&path, ShareDir::open(path.c_str(), size))
}

fn own(size: usize) -> Option<ShareDir> {
    match mounts::share_dir(size) {
        Some(path) => opened(&path, ShareDir::make(path.c_str(), Some(size))),
        None => refuse(format_args!(
            "no hugetlbfs with pages of {} can be written to (to mount one, as root: \
             hugeadm --create-global-mounts)",
            SizeName(size)
        )),
    }
}

fn opened(path: &Path, share_dir: Result<ShareDir, ShareDirError>) -> Option<ShareDir> {
    let path = path.c_str().to_str().unwrap_or("the directory");
    share_dir.map_or_else(|why| refuse(format_args!("{path} {why}")), Some)
}
