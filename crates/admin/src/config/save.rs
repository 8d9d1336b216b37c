//! `--save`: the present state as a file.

use std::fmt::Write;

use hugetools_model::Machine;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::mount::{self, mounted_at};

use super::requests::settings::check_min_free;
use crate::request::MOUNTS_DIR;

/// Returns the file. Applied on the same machine, it changes nothing.
pub fn text(machine: &Machine) -> String {
    let mut text = "# Written by hugeadm --save. See hugetools.toml(5).\n".to_owned();
    machine
        .pools
        .iter()
        .for_each(|pool| text.push_str(&pool_table(machine, pool)));
    text.push_str(&mounts(machine));
    let tables = [
        ("thp", thp_table(machine)),
        ("shm", shm_table(machine)),
        ("memory", memory_table(machine)),
        ("userfaultfd", userfaultfd_table(machine)),
    ];
    for (name, lines) in tables.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = write!(text, "\n[{name}]\n{lines}");
    }
    text
}

fn pool_table(machine: &Machine, pool: &Pool) -> String {
    let mut text = format!("\n[[pool]]\nsize = \"{}\"\n", pool.size);
    let nodes = machine.nodes.iter();
    let nodes = nodes.filter_map(|node| Some((node.id, node.pool(pool.size)?.minimum())));
    let nodes: Vec<String> = nodes.map(|(id, pages)| format!("{id} = {pages}")).collect();
    let _ = match nodes.len() {
        0 | 1 => writeln!(text, "min = {}", pool.minimum()),
        _ => writeln!(text, "nodes = {{ {} }}", nodes.join(", ")),
    };
    if let Some(max) = pool
        .overcommit
        .and_then(|more| pool.minimum().checked_add(more))
    {
        let _ = writeln!(text, "max = {max}");
    }
    text
}

fn line(key: &str, value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(String::new, |value| format!("{key} = {value}\n"))
}

fn word(key: &str, value: Option<&String>) -> String {
    line(key, value.map(|word| format!("\"{word}\"")))
}

fn thp_table(machine: &Machine) -> String {
    let Some(thp) = &machine.thp else {
        return String::new();
    };
    let number = |file: &str| machine.thp_settings.numbers.get(file);
    let sizes = thp.sizes.iter();
    let sizes = sizes.filter_map(|size| {
        Some(format!(
            "\"{}\" = \"{}\"",
            size.size,
            size.enabled.as_ref()?
        ))
    });
    let sizes: Vec<String> = sizes.collect();
    let sizes = (!sizes.is_empty()).then(|| format!("{{ {} }}", sizes.join(", ")));
    [
        word("enabled", thp.enabled.as_ref()),
        word("defrag", thp.defrag.as_ref()),
        word("shmem", thp.shmem_enabled.as_ref()),
        line(
            "use_zero_page",
            number("use_zero_page").map(|number| *number == 1),
        ),
        line("max_ptes_none", number("khugepaged/max_ptes_none")),
        line("khugepaged_pages", number("khugepaged/pages_to_scan")),
        line(
            "khugepaged_alloc_sleep",
            number("khugepaged/alloc_sleep_millisecs"),
        ),
        line(
            "khugepaged_scan_sleep",
            number("khugepaged/scan_sleep_millisecs"),
        ),
        line("sizes", sizes),
    ]
    .concat()
}

fn shm_table(machine: &Machine) -> String {
    let sysctl = &machine.sysctl;
    // TOML integers have 63 bits, the kernel's default has 64.
    let max = sysctl.shmmax.map(|bytes| format!("\"{bytes}\""));
    [line("group", sysctl.hugetlb_shm_group), line("max", max)].concat()
}

fn memory_table(machine: &Machine) -> String {
    let sysctl = &machine.sysctl;
    let memory = machine.meminfo.total;
    // The kernel also accepts values that the file may not have.
    let least = sysctl
        .min_free_kbytes
        .filter(|kilobytes| check_min_free(*kilobytes, memory).is_ok())
        .map(|kilobytes| format!("\"{kilobytes}KB\""));
    let hvo = sysctl.hugetlb_optimize_vmemmap.map(|number| number == 1);
    [line("min_free", least), line("hvo", hvo)].concat()
}

fn userfaultfd_table(machine: &Machine) -> String {
    line("group", machine.userfault.group())
}

/// Formats the mounts of the create options. Omits mounts with another owner.
fn mounts(machine: &Machine) -> String {
    let seen = machine.mounts.iter();
    let seen = seen.filter(|mount| mounted_at(&machine.mounts, &mount.point) == Some(mount));
    let texts = seen.filter_map(|mount| {
        let below = mount.point.strip_prefix(MOUNTS_DIR).ok()?;
        let set = below.parent()?.to_str()?;
        let mut pools = machine.pools.iter();
        let pool = pools.find(|pool| below.ends_with(format!("pagesize-{}", pool.size)))?;
        let own = |name| mount.option(name).unwrap_or("0") != "0";
        let (name, has_other_owner) = match set.split_once('/') {
            None if set.is_empty() => ("root".to_owned(), own("uid") || own("gid")),
            None if set == "global" => (set.to_owned(), own("uid") || own("gid")),
            Some(("user", name)) => (format!("user:{name}"), own("gid")),
            Some(("group", name)) => (format!("group:{name}"), own("uid")),
            _ => return None,
        };
        if has_other_owner {
            let point = mount::escape(&mount.point);
            return Some(format!("\n# {point} has another owner: left out.\n"));
        }
        let min_size = mount.option("min_size").filter(|size| *size != "0");
        let left_out =
            min_size.map(|size| format!("# min_size={size} is left out: see fstab(5).\n"));
        let mode = format!("\"{:0>4}\"", mount.option("mode").unwrap_or("755"));
        let lines = [
            line("for", Some(format!("{name:?}"))),
            line("size", Some(format!("\"{}\"", pool.size))),
            line(
                "max_size",
                mount.option("size").map(|size| format!("{size:?}")),
            ),
            line("max_inodes", mount.option("nr_inodes")),
            line("mode", Some(mode)),
        ];
        let left_out = left_out.unwrap_or_default();
        Some(format!("\n{left_out}[[mount]]\n{}", lines.concat()))
    });
    texts.collect()
}
