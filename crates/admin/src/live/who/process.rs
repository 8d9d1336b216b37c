//! Scans processes: their mappings and open files.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hugetools_model::mount::{self, Mount};
use hugetools_model::process::{self, Pid, hidepid};
use hugetools_model::smaps::{Record, records};
use hugetools_model::{KPath, PageSize, Root, keyed};
use nix::sys::stat::makedev;
use nix::sys::statfs::{HUGETLBFS_MAGIC, statfs};

use super::pages::{PresentPage, present_pages};
use super::{FileKey, Scan, Stat};
use crate::listing::who::{Kind, Private};

impl Scan<'_> {
    pub(super) fn scan_processes(&mut self) {
        let names = match self.root.list(&KPath::from("/proc")) {
            Ok(names) => names,
            Err(error) => return self.add_unread(error.to_string()),
        };
        if let Some(option) = hidepid::hidden_by(self.root) {
            self.seen.incomplete = true;
            self.add_unread(format!(
                "processes of other users: /proc is mounted with {option}; run this as root \
                 or with CAP_SYS_ADMIN and CAP_SYS_PTRACE"
            ));
        }
        let numbers = names.iter().filter_map(|name| name.to_str()?.parse().ok());
        let mut numbers: Vec<u32> = numbers.collect();
        // Parents own the reservations, and mostly have lower pids than their children.
        numbers.sort_unstable();
        for pid in numbers.into_iter().filter_map(Pid::new) {
            if !self.scan_process(pid) {
                self.report_hidden(pid);
            }
        }
    }

    /// Reports an unreadable process if it has huge pages. The status of an ended
    /// process lacks `HugetlbPages`.
    fn report_hidden(&mut self, pid: Pid) {
        let status = self.root.read(&pid.path("status")).unwrap_or_default();
        let field = |name: &[u8]| keyed::value(&status, name).map(String::from_utf8_lossy);
        let Some(pages) = field(b"HugetlbPages:") else {
            return;
        };
        if pages.starts_with("0 ") {
            return;
        }
        let name = field(b"Name:").unwrap_or_default();
        self.seen.incomplete = true;
        self.add_unread(format!(
            "process {pid} ({name}), which has {pages} of huge pages; run this as root or with \
             CAP_SYS_ADMIN and CAP_SYS_PTRACE"
        ));
    }

    /// Scans a process. Returns false without permission to read it.
    fn scan_process(&mut self, pid: Pid) -> bool {
        let may_be = match self.root.read_opt(&pid.path("maps")) {
            Ok(Some(maps)) => maps
                .split(|byte| *byte == b'\n')
                .any(|line| self.may_be_huge(line)),
            Ok(None) => return true,
            Err(_) => return false,
        };
        if may_be {
            let Ok(smaps) = process::read_smaps(self.root, pid) else {
                return false;
            };
            let pagemap = fs::OpenOptions::new()
                .read(true)
                .open(self.root.host_path(pid.path("pagemap").as_str()))
                .ok();
            for record in records(&smaps) {
                let (major, minor) = record.device;
                let is_huge = record.has_flag(b"ht");
                self.devices.entry(makedev(major, minor)).or_insert(is_huge);
                if !is_huge {
                    continue;
                }
                if let Some(size) = self.pool_size(record.kernel_page_size) {
                    self.add_mapping(pid, size, &record, pagemap.as_ref());
                }
            }
        }
        self.add_points(pid);
        self.add_descriptors(pid);
        true
    }

    /// Adds the mount points of the process's mount namespace, such as a container's: the links of
    /// its open files begin with them.
    fn add_points(&mut self, pid: Pid) {
        let namespace = fs::read_link(self.root.host_path(pid.path("ns/mnt").as_str()));
        if namespace.is_ok_and(|namespace| self.namespaces.insert(namespace)) {
            let mounts = self.root.read(&pid.path("mountinfo")).unwrap_or_default();
            let mounts = mount::parse_mountinfo(&mounts).into_iter();
            let huge = mounts.filter(Mount::is_hugetlbfs);
            self.points.extend(huge.map(|mount| mount.point));
        }
    }

    fn add_mapping(
        &mut self,
        pid: Pid,
        size: PageSize,
        record: &Record<'_>,
        pagemap: Option<&fs::File>,
    ) {
        let (major, minor) = record.device;
        let key = (makedev(major, minor), record.inode);
        let present = present_pages(pid, size, record, pagemap);
        let file = pid.map_file(record.start, record.end);
        let stat = fs::metadata(self.root.host_path(file.as_str()));
        let own = present.iter().filter(|it| !it.file_backed).count() as u64;
        if record.shared || own < present.len() as u64 {
            // Without permission to stat the file, count the mapped pages.
            let mapped = Stat {
                allocated: (present.len() as u64 - own) * size.get(),
                length: record.mapped(),
            };
            let stat = stat.as_ref().map_or(mapped, Stat::of);
            let object = self.object(key, size, kind(record), stat);
            object.users.insert(pid.get());
            if record.shared && !record.has_flag(b"nr") {
                let first = record.offset / size.get();
                object
                    .reserved_indexes
                    .extend(first..first + record.mapped() / size.get());
            }
        }
        if !record.shared {
            self.add_private(pid, size, record, key, &present);
        }
    }

    fn add_private(
        &mut self,
        pid: Pid,
        size: PageSize,
        record: &Record<'_>,
        key: FileKey,
        present: &[PresentPage],
    ) {
        let own = || present.iter().filter(|it| !it.file_backed).map(|it| it.id);
        let fresh = own()
            .filter(|page| self.private_pages.insert(*page))
            .count() as u64;
        let length = record.mapped() / size.get();
        // A forked child inherits no reservation.
        let is_first = self.private_mappings.insert((key, record.start));
        let reserved = match is_first && !record.has_flag(b"nr") {
            true => length.saturating_sub(own().count() as u64),
            false => 0,
        };
        let number = pid.get();
        let found = (self.seen.processes.iter_mut()).find(|it| it.pid == number && it.size == size);
        let process = match found {
            Some(process) => process,
            None => {
                self.seen.processes.push(Private {
                    pid: number,
                    name: name(self.root, pid),
                    size,
                    pages: 0,
                    reserved: 0,
                });
                self.seen.processes.last_mut().expect("just pushed")
            }
        };
        process.pages += fresh;
        process.reserved += reserved;
    }

    /// Whether a line of `maps` may be a hugetlb mapping: its file is deleted, or its device is a
    /// hugetlbfs or unknown. An unknown device costs one read of smaps.
    fn may_be_huge(&self, line: &[u8]) -> bool {
        let mut words = line
            .split(|byte| *byte == b' ')
            .filter(|word| !word.is_empty());
        let device = words.nth(3).and_then(device).filter(|device| *device != 0);
        let is_unknown = |device: u64| self.devices.get(&device).copied().unwrap_or(true);
        line.ends_with(b" (deleted)") || device.is_some_and(is_unknown)
    }

    /// Whether a descriptor's link may be on a hugetlbfs. Other files are not statted: on a network
    /// file system without its server, that blocks forever.
    fn may_be_on_huge_pages(&self, link: &Path) -> bool {
        let name = link.as_os_str().as_bytes();
        name.ends_with(b" (deleted)") || self.points.iter().any(|point| link.starts_with(point))
    }

    /// Adds open hugetlbfs files that are deleted or below a mount point.
    fn add_descriptors(&mut self, pid: Pid) {
        let dir = pid.path("fd");
        for name in self.root.list(&dir).unwrap_or_default() {
            let path = self.root.host_path(dir.as_str()).join(name);
            let Ok(link) = fs::read_link(&path) else {
                continue;
            };
            if !self.may_be_on_huge_pages(&link) {
                continue;
            }
            let Ok(found) = fs::metadata(&path) else {
                continue;
            };
            let is_huge = || statfs(&path).is_ok_and(|fs| fs.filesystem_type() == HUGETLBFS_MAGIC);
            let size = self.pool_size(found.blksize());
            let Some(size) = size.filter(|_| found.is_file() && is_huge()) else {
                continue;
            };
            let kind = Kind::Nameless(link.to_string_lossy().into_owned());
            let object = self.object((found.dev(), found.ino()), size, kind, Stat::of(&found));
            object.users.insert(pid.get());
        }
    }
}

/// Parses a device number: `00:0f`.
fn device(text: &[u8]) -> Option<u64> {
    let (major, minor) = std::str::from_utf8(text).ok()?.split_once(':')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(makedev(number(major)?, number(minor)?))
}

fn kind(record: &Record<'_>) -> Kind {
    let name = String::from_utf8_lossy(record.name).into_owned();
    match name.starts_with("/SYSV") {
        true => Kind::Segment(record.inode, 0),
        false => Kind::Nameless(name),
    }
}

fn name(root: &Root, pid: Pid) -> String {
    let exe = process::exe(root, pid);
    let path = exe.map(|path| String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned());
    path.unwrap_or_else(|_| "?".to_owned())
}
