//! `--status` of several processes: by PID, by name, and with children.

use std::process::Command;

use super::{PROGRAM, json};
use crate::hugectl::place::Place;
use crate::support::running::Running;

/// Returns a process name that is unique on the machine.
fn name(of: &str) -> String {
    format!("ht{}{of}", std::process::id())
}

fn start(place: &Place, name: &str) -> Running {
    Running::ready(&mut Command::new(place.build(name, PROGRAM, &[])))
}

fn pids(value: &serde_json::Value) -> Vec<String> {
    let processes = value["processes"].as_array().unwrap().iter();
    processes.map(|row| row["pid"].to_string()).collect()
}

#[test]
fn processes_are_found_by_pid_and_name() {
    let place = Place::new();
    let (one, other) = (name("a"), name("b"));
    let (first, second, third) = (
        start(&place, &one),
        start(&place, &one),
        start(&place, &other),
    );
    let mut wanted = vec![first.pid(), second.pid()];
    wanted.sort_by_key(|pid| pid.parse::<u32>().unwrap());
    let both = json(&place.run(&["--json", "--status", &one]));
    assert_eq!(pids(&both), wanted);
    // A process that is named twice appears once.
    let all = place.run(&["--status", &third.pid(), &other, &one, "--json"]);
    assert_eq!(pids(&json(&all)).len(), 3);
    let table = place.run(&["--status", &one, &third.pid()]);
    assert_eq!((table.status, table.err.as_str()), (0, ""));
    let heads = table.out.lines().filter(|line| line.contains(", process "));
    assert_eq!(heads.count(), 3);
    let total = table.out.lines().last().unwrap();
    assert!(total.starts_with("3 processes: "), "{total}");
    let missing = place.run(&["--status", &name("c"), &first.pid()]);
    let error = format!("hugectl: error: there is no process {}\n", name("c"));
    assert_eq!(
        (missing.status, missing.err, missing.out),
        (125, error, String::new())
    );
}

#[test]
fn totals_are_the_sums() {
    let place = Place::new();
    let name = name("s");
    let (first, second) = (start(&place, &name), start(&place, &name));
    let sums = |processes: &serde_json::Value| -> Vec<[u64; 2]> {
        let of = |process: &serde_json::Value| {
            let rows = process["segments"].as_array().unwrap().iter();
            rows.fold([0, 0], |[resident, huge], row| {
                let sizes = row["huge"].as_object().unwrap().values();
                let bytes: u64 = sizes.map(|bytes| bytes.as_u64().unwrap()).sum();
                [resident + row["resident"].as_u64().unwrap(), huge + bytes]
            })
        };
        processes.as_array().unwrap().iter().map(of).collect()
    };
    let whole = json(&place.run(&["--json", "--status", &name]));
    let totals = json(&place.run(&["--json", "--totals", "--status", &name]));
    assert_eq!(pids(&totals), pids(&whole));
    let printed = totals["processes"].as_array().unwrap().iter().map(|row| {
        let of = |key: &str| row["totals"][key].as_u64().unwrap();
        [of("resident"), of("thp") + of("hugetlb")]
    });
    // The kernel's sum contains pages without a segment, such as the vdso.
    for (total, sum) in printed.zip(sums(&whole["processes"])) {
        assert_eq!(total[1], sum[1]);
        assert!(
            (0..64 << 10).contains(&(total[0] - sum[0])),
            "{total:?} {sum:?}"
        );
    }
    let table = place.run(&["--totals", "--status", &first.pid(), &second.pid()]);
    assert_eq!(
        (table.status, table.out.lines().count()),
        (0, 4),
        "{table:?}"
    );
    assert!(table.out.lines().last().unwrap().trim().starts_with("all "));
}

/// The kernel truncates process names to 15 bytes.
#[test]
fn long_names_are_found() {
    let place = Place::new();
    let long = name("_with_a_long_name");
    let running = start(&place, &long);
    let found = json(&place.run(&["--json", "--status", &long]));
    assert_eq!(pids(&found), [running.pid()]);
}

#[test]
fn a_tree_contains_all_descendants() {
    let place = Place::new();
    let name = name("t");
    let program = place.build(&name, PROGRAM, &[]);
    let mut shell = Command::new("sh");
    shell
        .args([
            "-c",
            "exec 3<&0; sh -c '\"$0\" <&3 & wait' \"$0\" & \"$0\"; wait",
        ])
        .arg(program);
    let running = Running::ready(&mut shell);
    let alone = json(&place.run(&["--json", "--status", &running.pid()]));
    assert!(alone["processes"].is_null());
    let mut count = 0;
    for _ in 0..100 {
        let tree = json(&place.run(&["--json", "--tree", "--status", &running.pid()]));
        let names = tree["processes"].as_array().unwrap().iter();
        count = names.filter(|row| row["name"] == name.as_str()).count();
        if count == 2 {
            assert_eq!(pids(&tree)[0], running.pid());
            assert!(pids(&tree).len() >= 4, "{tree:#}");
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(count, 2);
}
