//! System V shared memory segments.
//!
//! `/proc/sysvipc/shm` doesn't show whether a segment has huge pages, and its count of resident
//! pages is wrong on some kernels (6.18: 512 times too many). So each segment that no visible
//! process has attached is attached for a moment, without touching its pages.

use std::fs;
use std::os::unix::fs::MetadataExt;

use hugetools_model::KPath;
use nix::errno::Errno;

use super::attached::AttachedSegment;
use super::{Scan, Stat};
use crate::listing::who::Kind;

/// A line of `/proc/sysvipc/shm`.
struct Line {
    id: u64,
    size: u64,
    attach_count: u64,
}

impl Line {
    /// Parses `key shmid perms size cpid lpid nattch ...`.
    fn parse(line: &str) -> Option<Line> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        Some(Line {
            id: words.get(1)?.parse().ok()?,
            size: words.get(3)?.parse().ok()?,
            attach_count: words.get(6)?.parse().ok()?,
        })
    }
}

impl Scan<'_> {
    /// Adds the segments. Those found in processes only get their attach count.
    pub(super) fn scan_segments(&mut self) {
        let table = match self.root.read_opt(&KPath::from("/proc/sysvipc/shm")) {
            Ok(table) => table.unwrap_or_default(),
            Err(error) => return self.add_unread(error.to_string()),
        };
        let table = String::from_utf8_lossy(&table).into_owned();
        for line in table.lines().filter_map(Line::parse) {
            let known = self
                .objects
                .values_mut()
                .find_map(|object| match &mut object.kind {
                    Kind::Segment(id, attached) if *id == line.id => Some(attached),
                    _ => None,
                });
            match known {
                Some(attached) => *attached = line.attach_count,
                None => self.add_unattached(&line),
            }
        }
    }

    /// Adds a segment that no visible process has attached.
    fn add_unattached(&mut self, line: &Line) {
        let attached = match AttachedSegment::new(line.id) {
            Ok(attached) => attached,
            Err(error) => {
                let why = match error.raw_os_error().map(Errno::from_raw) {
                    // The segment was removed after the table was read.
                    Some(Errno::EINVAL | Errno::EIDRM) => return,
                    Some(Errno::EACCES) => "run this as its owner or as root".to_owned(),
                    _ => error.to_string(),
                };
                return self.add_unread(format!("shared memory segment {}; {why}", line.id));
            }
        };
        let Some((file, length)) = attached.map_file(self.root) else {
            return;
        };
        // Mappings of a segment with huge pages hold whole huge pages.
        if !self.sizes.iter().any(|size| length % size == 0) {
            return;
        }
        let Ok(found) = fs::metadata(self.root.host_path(file.as_str())) else {
            return self.add_unread(format!(
                "shared memory segment {}; run this as root or with CAP_SYS_ADMIN",
                line.id
            ));
        };
        let Some(size) = self.pool_size(found.blksize()) else {
            return;
        };
        let kind = Kind::Segment(line.id, line.attach_count);
        let object = self.object((found.dev(), found.ino()), size, kind, Stat::of(&found));
        object
            .reserved_indexes
            .extend(0..line.size.div_ceil(size.get()));
    }
}
