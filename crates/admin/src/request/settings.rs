//! Numbers and words for kernel files: ZONE_MOVABLE, transparent huge pages, HVO. They
//! are set in the order of libhugetlbfs' hugeadm.

use hugetools_model::memory::sysctl;
use hugetools_model::units::size::SizeError;
use hugetools_model::{KPath, Machine, PageSize, thp};

use super::{Request, Setting, SettingValue, shown};
use crate::args::{Args, Thp};

const MODES: [&str; 4] = ["always", "inherit", "madvise", "never"];

pub(super) fn check(
    args: &Args,
    machine: &Machine,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    movable(args, machine, request);
    modes(&args.thp, machine, request);
    khugepaged(&args.thp, machine, request);
    for text in &args.thp.thp_size {
        let option = format!("--thp-size {}", shown(text));
        match size_mode(text, machine) {
            Ok((size, mode)) => {
                let path = thp::size_dir(size).join("enabled");
                request.settings.push(word(machine, option, path, mode));
            }
            Err(error) => errors.push(format!("{option}: {error}")),
        }
    }
    if let Some(switch) = &args.pools.hvo {
        let known = machine.sysctl.hugetlb_optimize_vmemmap.is_some();
        request.settings.push(Setting {
            option: format!("--hvo {switch}"),
            path: sysctl::optimize_vmemmap_path(),
            value: number_of(switch),
            impossible: (!known).then(|| {
                (
                    "this kernel has no HVO (Linux 5.19)".to_owned(),
                    "use a newer kernel, built with CONFIG_HUGETLB_PAGE_OPTIMIZE_VMEMMAP"
                        .to_owned(),
                )
            }),
        });
    }
}

fn movable(args: &Args, machine: &Machine, request: &mut Request) {
    let limits = &args.limits;
    let (option, value) = match (limits.enable_zone_movable, limits.disable_zone_movable) {
        (true, _) => ("--enable-zone-movable", 1),
        (_, true) => ("--disable-zone-movable", 0),
        _ => return,
    };
    let known = machine.sysctl.hugepages_treat_as_movable.is_some();
    request.settings.push(Setting {
        option: option.to_owned(),
        path: sysctl::movable_path(),
        value: SettingValue::Number(value),
        impossible: (!known).then(|| {
            (
                "Linux 4.16 removed this setting".to_owned(),
                "movable huge pages always use ZONE_MOVABLE: set its size at boot \
                 with movablecore=AMOUNT"
                    .to_owned(),
            )
        }),
    });
}

fn modes(args: &Thp, machine: &Machine, request: &mut Request) {
    let mut choose = |option: String, file: &str, mode: &str| {
        let path = thp::dir().join(file);
        request.settings.push(word(machine, option, path, mode));
    };
    for (given, mode) in [
        (args.thp_always, "always"),
        (args.thp_madvise, "madvise"),
        (args.thp_never, "never"),
    ] {
        if given {
            choose(format!("--thp-{mode}"), "enabled", mode);
        }
    }
    if let Some(mode) = &args.thp_defrag {
        choose(format!("--thp-defrag {mode}"), "defrag", mode);
    }
    if let Some(mode) = &args.thp_shmem {
        choose(format!("--thp-shmem {mode}"), "shmem_enabled", mode);
    }
}

fn khugepaged(args: &Thp, machine: &Machine, request: &mut Request) {
    let now = &machine.thp_settings;
    let switch = args.thp_use_zero_page.as_deref();
    for (name, given, now, file) in [
        (
            "khugepaged-pages",
            args.thp_khugepaged_pages,
            now.pages_to_scan,
            "khugepaged/pages_to_scan",
        ),
        (
            "khugepaged-alloc-sleep",
            args.thp_khugepaged_alloc_sleep,
            now.alloc_sleep_millisecs,
            "khugepaged/alloc_sleep_millisecs",
        ),
        (
            "khugepaged-scan-sleep",
            args.thp_khugepaged_scan_sleep,
            now.scan_sleep_millisecs,
            "khugepaged/scan_sleep_millisecs",
        ),
        (
            "max-ptes-none",
            args.thp_max_ptes_none,
            now.max_ptes_none,
            "khugepaged/max_ptes_none",
        ),
    ] {
        let Some(number) = given else { continue };
        request.settings.push(Setting {
            option: format!("--thp-{name} {number}"),
            path: thp::dir().join(file),
            value: SettingValue::Number(u64::from(number)),
            impossible: now.is_none().then(|| absent(machine)),
        });
    }
    request.settings.extend(switch.map(|switch| Setting {
        option: format!("--thp-use-zero-page {switch}"),
        path: thp::dir().join("use_zero_page"),
        value: number_of(switch),
        impossible: now.use_zero_page.is_none().then(|| absent(machine)),
    }));
}

fn number_of(switch: &str) -> SettingValue {
    SettingValue::Number(u64::from(switch == "on"))
}

fn word(machine: &Machine, option: String, path: KPath, word: &str) -> Setting {
    let offered = machine.thp_settings.words.get(&path);
    let impossible = match (chosen(machine, &path), offered) {
        (None, _) => Some(absent(machine)),
        (_, Some(words)) if !words.iter().any(|offered| offered == word) => Some((
            format!("this kernel doesn't offer {word}"),
            format!("it offers {}", words.join(", ")),
        )),
        _ => None,
    };
    Setting {
        option,
        path,
        value: SettingValue::Word(word.to_owned()),
        impossible,
    }
}

/// The selected word of a file; `None` if the file is missing.
fn chosen<'a>(machine: &'a Machine, path: &KPath) -> Option<&'a String> {
    let thp = machine.thp.as_ref()?;
    let of_size = thp
        .sizes
        .iter()
        .find(|size| thp::size_dir(size.size).join("enabled") == *path);
    match of_size {
        Some(size) => size.enabled.as_ref(),
        None if *path == thp::dir().join("enabled") => thp.enabled.as_ref(),
        None if *path == thp::dir().join("defrag") => thp.defrag.as_ref(),
        None => thp.shmem_enabled.as_ref(),
    }
}

fn absent(machine: &Machine) -> (String, String) {
    let (why, hint) = match machine.thp {
        None => (
            "this machine has no transparent huge pages",
            "they require processor support and CONFIG_TRANSPARENT_HUGEPAGE",
        ),
        Some(_) => (
            "this kernel has no such setting",
            "a newer kernel may have it",
        ),
    };
    (why.to_owned(), hint.to_owned())
}

fn size_mode<'a>(text: &'a str, machine: &Machine) -> Result<(PageSize, &'a str), String> {
    let (size, mode) = text
        .split_once(':')
        .ok_or("no mode: write SIZE:MODE, as in 64kB:always")?;
    let size: PageSize = size
        .parse()
        .map_err(|why: SizeError| format!("page size {size:?}: {why}"))?;
    if !MODES.contains(&mode) {
        return Err(format!("mode {mode:?}: not one of {}", MODES.join(", ")));
    }
    // A size may be for shared memory only, without this file.
    let sizes = machine.thp.iter().flat_map(|thp| &thp.sizes);
    let sizes = sizes.filter(|size| size.enabled.is_some());
    let sizes: Vec<PageSize> = sizes.map(|size| size.size).collect();
    if sizes.is_empty() {
        return Err("this kernel has no multi-size THP (Linux 6.8)".to_owned());
    }
    match sizes.contains(&size) {
        true => Ok((size, mode)),
        false => {
            let sizes: Vec<String> = sizes.iter().map(PageSize::to_string).collect();
            Err(format!(
                "this machine has no transparent huge pages of {size}, only of {}",
                sizes.join(", ")
            ))
        }
    }
}
