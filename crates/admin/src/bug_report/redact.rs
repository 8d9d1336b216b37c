//! Removes private data from files: unrelated kernel parameters and mounts, paths and names.

use hugetools_model::KPath;
use hugetools_model::mountinfo::Mount;

/// Kernel parameters to keep: about huge pages, memory size, zones and NUMA.
const KEPT_PARAMETERS: &[&str] = &[
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "hugetlb_cma",
    "hugetlb_cma_only",
    "hugetlb_free_vmemmap",
    "kernelcore",
    "mem",
    "movable_node",
    "movablecore",
    "numa",
    "thp_anon",
    "thp_shmem",
    "transparent_hugepage",
    "transparent_hugepage_shmem",
    "transparent_hugepage_tmpfs",
];

/// File systems whose mounts are kept.
const KEPT_FS_TYPES: &[&[u8]] = &[b"cgroup", b"cgroup2", b"hugetlbfs"];

/// Removes private data from the text of a file.
pub(super) fn redact(path: &KPath, text: &str) -> String {
    match path.as_str() {
        "/proc/cmdline" => redact_cmdline(text),
        "/proc/self/mountinfo" => redact_mountinfo(text),
        "/proc/swaps" => redact_swaps(text),
        _ => text.to_owned(),
    }
}

fn redact_cmdline(text: &str) -> String {
    let is_kept = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        KEPT_PARAMETERS.contains(&name)
    };
    let words: Vec<&str> = text.split_ascii_whitespace().filter(is_kept).collect();
    words.join(" ") + "\n"
}

/// Keeps only mounts of hugetlbfs and cgroups. Renames non-standard mount points to `/mount-N`, and
/// omits cgroup options with a value, which can be a name or a path.
fn redact_mountinfo(text: &str) -> String {
    let mounts = text
        .lines()
        .filter_map(|line| Mount::of_mountinfo(line.as_bytes()));
    let mounts = mounts.filter(|mount| KEPT_FS_TYPES.contains(&mount.fs_type));
    (1..)
        .zip(mounts)
        .map(|(number, mount)| mountinfo_line(number, &mount))
        .collect()
}

/// Formats a line of mountinfo. Its number replaces mount ID and device.
fn mountinfo_line(number: usize, mount: &Mount<'_>) -> String {
    let is_standard = matches!(mount.point, b"/dev/hugepages" | b"/sys/fs/cgroup")
        || mount.point.starts_with(b"/sys/fs/cgroup/");
    let point = match is_standard {
        true => String::from_utf8_lossy(mount.point).into_owned(),
        false => format!("/mount-{number}"),
    };
    let fs_type = String::from_utf8_lossy(mount.fs_type);
    let [options, fs_options] = [mount.options, mount.fs_options].map(String::from_utf8_lossy);
    let fs_options: Vec<&str> = match mount.fs_type {
        b"hugetlbfs" => vec![&fs_options],
        _ => fs_options
            .split(',')
            .filter(|option| !option.contains('='))
            .collect(),
    };
    let fs_options = fs_options.join(",");
    format!("{number} 0 0:{number} / {point} {options} - {fs_type} none {fs_options}\n")
}

/// Replaces the paths of swap areas, and keeps their sizes.
fn redact_swaps(text: &str) -> String {
    let line = |(number, line): (usize, &str)| match (number, line.split_once([' ', '\t'])) {
        (0, _) | (_, None) => format!("{line}\n"),
        (number, Some((_, rest))) => format!("/swap-{number} {}\n", rest.trim_start()),
    };
    text.lines().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_data_is_removed() {
        let text = "BOOT_IMAGE=/vmlinuz root=UUID=1-2 secret=x hugepagesz=1G hugepages=2 quiet\n";
        assert_eq!(redact_cmdline(text), "hugepagesz=1G hugepages=2\n");
        let text = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
            27 22 0:24 / /dev/hugepages rw,relatime - hugetlbfs hugetlbfs rw,pagesize=2M\n\
            28 22 0:25 / /home/alice/huge rw - hugetlbfs alice rw,uid=1000,pagesize=2M\n\
            29 22 0:26 / /dev/hugepages/bob rw - hugetlbfs none rw,pagesize=2M\n\
            31 22 0:27 / /sys/fs/cgroup/x rw shared:9 - cgroup x rw,hugetlb,name=alice\n";
        assert_eq!(
            redact_mountinfo(text),
            "1 0 0:1 / /dev/hugepages rw,relatime - hugetlbfs none rw,pagesize=2M\n\
             2 0 0:2 / /mount-2 rw - hugetlbfs none rw,uid=1000,pagesize=2M\n\
             3 0 0:3 / /mount-3 rw - hugetlbfs none rw,pagesize=2M\n\
             4 0 0:4 / /sys/fs/cgroup/x rw - cgroup none rw,hugetlb\n"
        );
        let text = "Filename\tType\tSize\n/home/alice/swap\\040x\tfile\t512\n";
        assert_eq!(
            redact_swaps(text),
            "Filename\tType\tSize\n/swap-1 file\t512\n"
        );
    }
}
