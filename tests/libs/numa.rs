//! Memory on several nodes, in virtual machines: a large new block is on its thread's node, and
//! `numactl`, `set_mempolicy` and `mbind` are obeyed, with pool pages on all, one and no node.

use std::path::Path;

use crate::support::guest::{Guest, GuestNode, guest};
use crate::support::needs;
use crate::support::program::{Libc, build};
use crate::support::tool::Ran;

const NUMACTL: &str = "/usr/bin/numactl";

pub(super) const fn node(megabytes: u32) -> GuestNode {
    GuestNode {
        megabytes,
        cpu: true,
    }
}

fn machine(test: &str, nodes: &[GuestNode]) -> Option<Guest> {
    equipped(test, guest(test, nodes)?)
}

/// Adds hugectl, numactl and `numa` to a machine.
pub(super) fn equipped(test: &str, mut guest: Guest) -> Option<Guest> {
    if !needs::programs(test, &[NUMACTL]) {
        return None;
    }
    guest.install(Path::new(NUMACTL), "/bin/numactl");
    let libnuma = ["-Wl,--no-as-needed", "-l:libnuma.so.1"];
    guest.install(&build("numa", Libc::Glibc, &libnuma)?, "/bin/numa");
    guest.install_hugectl();
    // Automatic balancing would move pages.
    guest.boot_with("numa_balancing=disable");
    Some(guest)
}

/// The nodes with a pool of 100 pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pools {
    Both,
    First,
    None,
}

impl Pools {
    const ALL: [Pools; 3] = [Pools::Both, Pools::First, Pools::None];

    fn shares(self) -> [u64; 2] {
        match self {
            Pools::Both => [100, 100],
            Pools::First => [100, 0],
            Pools::None => [0, 0],
        }
    }

    fn fill_command(self) -> String {
        let [first, second] = self.shares();
        let most = first + second;
        format!(
            "hugeadm --pool-pages-min 2MB@0:{first} --pool-pages-min 2MB@1:{second} \
             --pool-pages-max 2MB:{most}"
        )
    }

    /// Returns the command that fills the pools, and the given commands, each followed by one that
    /// prints the pools' sizes.
    fn script(self, commands: &[&str]) -> Vec<String> {
        let with_shares = |command: &&str| {
            let file = "/sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages";
            format!("{command}\nstatus=$?; echo shares $(cat {file}); (exit $status)")
        };
        let fill = [self.fill_command()];
        fill.into_iter()
            .chain(commands.iter().map(with_shares))
            .collect()
    }
}

/// The output of a command that succeeded.
pub(super) struct Output<'a> {
    pub(super) command: &'a str,
    pub(super) pools: Pools,
    pub(super) ran: &'a Ran,
}

/// The kB of a range on each node, on no node, and, of all these, on pool pages.
#[derive(Debug)]
struct Place {
    nodes: Vec<u64>,
    none: u64,
    pool: u64,
}

impl Place {
    fn of(words: &[&str]) -> Place {
        let field = |word: &str| -> u64 { word.split_once('=').unwrap().1.parse().unwrap() };
        let (nodes, rest) = words.split_at(words.len() - 2);
        Place {
            nodes: nodes.iter().map(|word| field(word)).collect(),
            none: field(rest[0]),
            pool: field(rest[1]),
        }
    }

    fn all(&self) -> u64 {
        self.nodes.iter().sum::<u64>() + self.none
    }
}

impl Output<'_> {
    /// Returns all lines about a range.
    fn places(&self, what: &str) -> Vec<Place> {
        let begin = format!("{what} n0=");
        let lines = self.ran.out.lines().filter(|line| line.starts_with(&begin));
        let places = lines.map(|line| {
            let words: Vec<&str> = line[what.len()..].split_whitespace().collect();
            Place::of(&words)
        });
        let places: Vec<Place> = places.collect();
        assert!(!places.is_empty(), "no {what}: {self:?}");
        places
    }

    /// Asserts that a range is on a node.
    fn is_on(&self, what: &str, node: usize) {
        for place in self.places(what) {
            assert_eq!(place.nodes[node], place.all(), "{what}: {self:?}");
        }
    }

    /// Asserts that `share` percent of a range are on a node, except for one huge page, which
    /// may hold the allocator's tables, too.
    fn is_mostly_on(&self, what: &str, node: usize, share: u64) {
        for place in self.places(what) {
            let wanted = place.all() * share / 100;
            assert!(place.nodes[node] + 2048 >= wanted, "{what}: {self:?}");
        }
    }

    /// Asserts that a range is on these nodes in equal parts, within `tolerance` kB.
    fn is_spread_over(&self, what: &str, nodes: &[usize], tolerance: u64) {
        for place in self.places(what) {
            let share = place.all() / nodes.len() as u64;
            for (node, kb) in place.nodes.iter().enumerate() {
                let wanted = if nodes.contains(&node) { share } else { 0 };
                assert!(kb.abs_diff(wanted) <= tolerance, "{what}: {self:?}");
            }
        }
    }

    /// Asserts that `share` percent of a range are on the pool; 0: none.
    fn is_on_pool(&self, what: &str, share: u64) {
        for place in self.places(what) {
            let right = match share {
                0 => place.pool == 0,
                share => place.pool * 100 >= place.all() * share,
            };
            assert!(right, "{what}: {self:?}");
        }
    }

    /// Asserts the kernel's policy of a range.
    fn has_policy(&self, what: &str, policy: &str) {
        let line = format!("{what} policy={policy}\n");
        assert!(self.ran.out.contains(&line), "{line}: {self:?}");
    }
}

impl std::fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran { out, err, status } = self.ran;
        let (command, pools) = (self.command, self.pools);
        write!(f, "{command} with {pools:?}: {status}\n{out}{err}")
    }
}

/// A command, and the check of its output.
type Case<'a> = (&'a str, &'a dyn Fn(&Output<'_>));

/// Runs commands with each kind of pools and checks their output.
fn with_all_pools(guest: &Guest, cases: &[Case<'_>]) {
    let commands: Vec<&str> = cases.iter().map(|(command, _)| *command).collect();
    let scripts: Vec<Vec<String>> = Pools::ALL.map(|pools| pools.script(&commands)).into();
    let lines: Vec<&str> = scripts.iter().flatten().map(String::as_str).collect();
    let runs = guest.run(&lines);
    let per_pool = runs.chunks(commands.len() + 1);
    for (pools, runs) in Pools::ALL.iter().zip(per_pool) {
        assert_eq!((runs[0].status, runs[0].err.as_str()), (0, ""));
        for ((command, check), ran) in cases.iter().zip(&runs[1..]) {
            let output = Output {
                command,
                pools: *pools,
                ran,
            };
            assert_eq!(ran.status, 0, "{output:?}");
            let [first, second] = pools.shares();
            let shares = format!("shares {first} {second}\n");
            assert!(ran.out.ends_with(&shares), "{output:?}");
            check(&output);
        }
    }
}

/// Checks large blocks of threads on two nodes.
fn threads(output: &Output<'_>) {
    for thread in [0, 1] {
        let share = match (output.pools, thread) {
            // Only node 0 has a pool, and thread 1 may get its pages.
            (Pools::First, 1) => 0,
            _ => 90,
        };
        output.is_mostly_on(&format!("thread {thread}"), thread, share);
    }
    match output.pools {
        Pools::Both => output.is_on_pool("thread 1", 90),
        Pools::First => {}
        Pools::None => output.is_on_pool("thread 1", 0),
    }
}

const SIZES: [&str; 3] = ["small", "medium", "large"];

/// Checks blocks that are bound before or after their first touch.
pub(super) fn binds(output: &Output<'_>) {
    for what in ["fresh bound", "moved bound", "strict bound"] {
        output.is_on(what, 1);
    }
    output.has_policy("fresh bound", "2 nodes=2");
    // The rest of a partly bound huge page may move with it.
    output.is_mostly_on("fresh behind", 0, 85);
    output.has_policy("fresh behind", "0 nodes=0");
    output.is_spread_over("interleaved", &[0, 1], 2048);
}

#[test]
fn policies_hold_and_survive_a_fork() {
    let Some(guest) = machine("nodes of threads", &[node(768), node(768)]) else {
        return;
    };
    let bound = |output: &Output<'_>| {
        for size in SIZES {
            output.is_on(&format!("main {size}"), 1);
        }
        let share = if output.pools == Pools::Both { 90 } else { 0 };
        output.is_on_pool("main large", share);
    };
    with_all_pools(
        &guest,
        &[
            ("hugectl --heap numa threads", &threads),
            ("hugectl --heap numactl --membind=1 numa blocks", &bound),
            (
                "hugectl --heap numactl --interleave=all numa blocks",
                &|output| match output.pools {
                    Pools::First => output.is_on_pool("main large", 90),
                    _ => output.is_spread_over("main large", &[0, 1], 2048),
                },
            ),
            ("hugectl --heap numa policy", &|output| {
                output.is_on("set", 1);
                output.is_on("kept", 1);
                output.is_on("unset", 0);
            }),
            ("hugectl --heap -q numa binds", &binds),
            (
                "hugectl --shm -q numactl --membind=1 numa shared",
                &|output| {
                    output.is_on("shared first", 1);
                    output.is_on("shared second", 1);
                },
            ),
            ("hugectl --heap -q numa fork-threads", &forks),
            ("hugectl --data -q numa data", &|output| {
                for what in ["data bound", "child bound", "after bound"] {
                    output.is_on(what, 1);
                }
                output.has_policy("child bound", "2 nodes=2");
            }),
            // Its seccomp filter kills it for calls about policies.
            ("hugectl --heap -q numa filtered", &|_| ()),
        ],
    );
}

/// Checks memory before and after a fork, in parent and child.
pub(super) fn forks(output: &Output<'_>) {
    for who in ["before", "child", "after"] {
        output.is_mostly_on(&format!("{who} thread 0"), 0, 90);
        output.is_on(&format!("{who} bound"), 1);
        output.has_policy(&format!("{who} bound"), "2 nodes=2");
        output.is_spread_over(&format!("{who} spread"), &[0, 1], 2048);
        output.has_policy(&format!("{who} spread"), "3 nodes=3");
    }
    for who in ["child", "after"] {
        output.is_on(&format!("{who} wrote bound"), 1);
    }
}

#[test]
fn interleaving_and_cpusets_hold_on_four_nodes() {
    let Some(guest) = machine("four nodes", &[node(700); 4]) else {
        return;
    };
    let commands = [
        "hugeadm --pool-pages-min 2MB@0-3:110",
        "hugectl --heap numa threads",
        "hugectl --heap numactl --interleave=0,2,3 numa blocks",
        // The heap stays on the node of its cpuset.
        "mkdir /cgroup; mount -t cgroup2 none /cgroup; cd /cgroup; mkdir two
         echo +cpuset > cgroup.subtree_control; echo 2 > two/cpuset.mems
         echo 0 > two/cgroup.procs; hugectl --heap numa blocks",
    ];
    let runs = guest.run(&commands);
    let output = |number: usize| Output {
        command: commands[number],
        pools: Pools::Both,
        ran: &runs[number],
    };
    for number in 0..commands.len() {
        assert_eq!(output(number).ran.status, 0, "{:?}", output(number));
    }
    for thread in 0..4 {
        output(1).is_mostly_on(&format!("thread {thread}"), thread, 85);
    }
    output(2).is_spread_over("main large", &[0, 2, 3], 4096);
    output(2).is_on_pool("main large", 90);
    for size in SIZES {
        output(3).is_on(&format!("main {size}"), 2);
    }
    output(3).is_on_pool("main large", 90);
}
