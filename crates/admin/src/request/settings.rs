//! Numbers and words for kernel files: ZONE_MOVABLE, transparent huge pages, HVO. They
//! are set in the order of libhugetlbfs' hugeadm.

use hugetools_model::memory::sysctl;
use hugetools_model::units::size::SizeError;
use hugetools_model::{KPath, Machine, PageSize, thp};

use super::{Request, Setting, SettingValue, shown};
use crate::args::{Args, Thp};

const MODES: [&str; 4] = ["always", "inherit", "madvise", "never"];

/// Why the machine lacks a setting, and advice.
type Lack = (&'static str, &'static str);

const NO_HVO: Lack = (
    "this kernel has no HVO (Linux 5.19)",
    "use a newer kernel, built with CONFIG_HUGETLB_PAGE_OPTIMIZE_VMEMMAP",
);

const NOT_MOVABLE: Lack = (
    "Linux 4.16 removed this setting",
    "movable huge pages always use ZONE_MOVABLE: set its size at boot with movablecore=AMOUNT",
);

const NO_THP: Lack = (
    "this machine has no transparent huge pages",
    "they require processor support and CONFIG_TRANSPARENT_HUGEPAGE",
);

const NO_SETTING: Lack = (
    "this kernel has no such setting",
    "a newer kernel may have it",
);

pub(super) fn check(
    args: &Args,
    machine: &Machine,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    let sysctl = &machine.sysctl;
    let settings = &mut request.settings;
    for (is_given, option, value) in [
        (args.limits.enable_zone_movable, "--enable-zone-movable", 1),
        (
            args.limits.disable_zone_movable,
            "--disable-zone-movable",
            0,
        ),
    ] {
        if is_given {
            let lack = sysctl.hugepages_treat_as_movable.is_none();
            let lack = lack.then_some(NOT_MOVABLE);
            settings.push(number(
                option.to_owned(),
                sysctl::movable_path(),
                value,
                lack,
            ));
        }
    }
    settings.extend(modes(&args.thp, machine));
    settings.extend(numbers(&args.thp, machine));
    for text in &args.thp.thp_size {
        let option = format!("--thp-size {}", shown(text));
        match size_mode(text, machine) {
            Ok((size, mode)) => {
                let path = thp::size_dir(size).join("enabled");
                settings.push(word(machine, option, path, mode));
            }
            Err(error) => errors.push(format!("{option}: {error}")),
        }
    }
    if let Some(switch) = &args.pools.hvo {
        let lack = sysctl.hugetlb_optimize_vmemmap.is_none().then_some(NO_HVO);
        let (option, path) = (format!("--hvo {switch}"), sysctl::optimize_vmemmap_path());
        settings.push(number(option, path, u64::from(switch == "on"), lack));
    }
}

fn modes(args: &Thp, machine: &Machine) -> Vec<Setting> {
    let given = |is_given: bool, mode| is_given.then(|| (format!("--thp-{mode}"), "enabled", mode));
    let defrag = args.thp_defrag.as_deref();
    let shmem = args.thp_shmem.as_deref();
    let all = [
        given(args.thp_always, "always"),
        given(args.thp_madvise, "madvise"),
        given(args.thp_never, "never"),
        defrag.map(|mode| (format!("--thp-defrag {mode}"), "defrag", mode)),
        shmem.map(|mode| (format!("--thp-shmem {mode}"), "shmem_enabled", mode)),
    ];
    let setting = |(option, file, mode)| word(machine, option, thp::dir().join(file), mode);
    all.into_iter().flatten().map(setting).collect()
}

fn numbers(args: &Thp, machine: &Machine) -> Vec<Setting> {
    let now = &machine.thp_settings;
    let plain = |name: &str, given: Option<u32>| {
        given.map(|number| (format!("--thp-{name} {number}"), u64::from(number)))
    };
    let switch = args.thp_use_zero_page.as_deref();
    let switch = switch.map(|switch| {
        let option = format!("--thp-use-zero-page {switch}");
        (option, u64::from(switch == "on"))
    });
    let all = [
        (
            plain("khugepaged-pages", args.thp_khugepaged_pages),
            now.pages_to_scan,
            "khugepaged/pages_to_scan",
        ),
        (
            plain("khugepaged-alloc-sleep", args.thp_khugepaged_alloc_sleep),
            now.alloc_sleep_millisecs,
            "khugepaged/alloc_sleep_millisecs",
        ),
        (
            plain("khugepaged-scan-sleep", args.thp_khugepaged_scan_sleep),
            now.scan_sleep_millisecs,
            "khugepaged/scan_sleep_millisecs",
        ),
        (
            plain("max-ptes-none", args.thp_max_ptes_none),
            now.max_ptes_none,
            "khugepaged/max_ptes_none",
        ),
        (switch, now.use_zero_page, "use_zero_page"),
    ];
    let setting = |(given, now, file): (Option<(String, u64)>, Option<u64>, &str)| {
        let (option, value) = given?;
        let lack = now.is_none().then(|| lack(machine));
        Some(number(option, thp::dir().join(file), value, lack))
    };
    all.into_iter().filter_map(setting).collect()
}

fn number(option: String, path: KPath, number: u64, lack: Option<Lack>) -> Setting {
    Setting {
        option,
        path,
        value: SettingValue::Number(number),
        impossible: lack.map(|(why, hint)| (why.to_owned(), hint.to_owned())),
    }
}

fn word(machine: &Machine, option: String, path: KPath, word: &str) -> Setting {
    let impossible = match machine.thp_settings.words.get(&path) {
        None => {
            let (why, hint) = lack(machine);
            Some((why.to_owned(), hint.to_owned()))
        }
        Some(words) => (!words.is_empty() && !words.iter().any(|it| it == word)).then(|| {
            let why = format!("this kernel doesn't offer {word}");
            (why, format!("it offers {}", words.join(", ")))
        }),
    };
    Setting {
        option,
        path,
        value: SettingValue::Word(word.to_owned()),
        impossible,
    }
}

fn lack(machine: &Machine) -> Lack {
    match machine.thp {
        None => NO_THP,
        Some(_) => NO_SETTING,
    }
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
            let meant = PageSize::from_kib(size.get()).filter(|meant| sizes.contains(meant));
            if let Some(meant) = meant {
                return Err(format!("the size is in bytes; {}kB?", meant.kib()));
            }
            let sizes: Vec<String> = sizes.iter().map(PageSize::to_string).collect();
            Err(format!(
                "this machine has no transparent huge pages of {size}, only of {}",
                sizes.join(", ")
            ))
        }
    }
}
