//! Pages charged to control groups by the hugetlb controller.

use std::path::{Path, PathBuf};

use hugetools_model::{KPath, PageSize, mount};

use super::Scan;
use crate::who::Charge;

/// Usage files in version 2 and 1 of control groups.
const FILES: [&str; 2] = ["current", "usage_in_bytes"];

impl Scan<'_> {
    pub(super) fn groups(&mut self) {
        let mounts = mount::read(self.root).unwrap_or_default();
        let mut tops: Vec<PathBuf> = (mounts.iter())
            .filter(|it| it.fs_type == "cgroup2" || it.fs_type == "cgroup" && has_controller(it))
            .map(|it| it.point.clone())
            .collect();
        tops.sort();
        tops.dedup();
        let sizes: Vec<PageSize> = self
            .sizes
            .iter()
            .filter_map(|it| PageSize::new(*it))
            .collect();
        for (top, size) in tops
            .iter()
            .flat_map(|top| sizes.iter().map(move |size| (top, *size)))
        {
            self.below(top, size);
        }
    }

    /// Returns the charge of a group including its descendants. Records what the
    /// group itself uses.
    fn below(&mut self, dir: &Path, size: PageSize) -> u64 {
        let path = || KPath::from("/").join(dir.to_string_lossy().trim_start_matches('/'));
        let below: u64 = (self.root.list(&path()).unwrap_or_default().iter())
            .map(|name| dir.join(name))
            .filter(|path| self.root.host_path(path).is_dir())
            .collect::<Vec<_>>()
            .iter()
            .map(|dir| self.below(dir, size))
            .sum();
        let file = |name: &str| path().join(format_args!("hugetlb.{size}.{name}"));
        let charge = FILES
            .iter()
            .find_map(|name| self.root.number_opt(&file(name)).ok()?);
        let Some(bytes) = charge else {
            return below;
        };
        let pages = bytes / size.get();
        if pages > below {
            self.seen.groups.push(Charge {
                path: dir.to_string_lossy().into_owned(),
                size,
                pages: pages - below,
            });
        }
        pages
    }
}

fn has_controller(mount: &mount::Mount) -> bool {
    mount.options.split(',').any(|option| option == "hugetlb")
}
