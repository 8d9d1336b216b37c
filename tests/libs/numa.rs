//! Memory on several nodes, in virtual machines: large fresh blocks are on the
//! node of the thread that asks for them, and `numactl`, `set_mempolicy` and `mbind`
//! hold, with pages of a pool on all nodes, on one, and on none.

use std::path::Path;

use crate::support::guest::{Guest, GuestNode, guest};
use crate::support::live::skip;
use crate::support::program::{Libc, build};
use crate::support::tool::Ran;

const NUMACTL: &str = "/usr/bin/numactl";

pub(super) const fn node(megabytes: u32) -> GuestNode {
    GuestNode {
        megabytes,
        cpu: true,
    }
}

/// A machine with what is needed.
fn machine(test: &str, nodes: &[GuestNode]) -> Option<Guest> {
    equipped(test, guest(test, nodes)?)
}

/// Puts into a machine what is needed.
pub(super) fn equipped(test: &str, mut guest: Guest) -> Option<Guest> {
    if !Path::new(NUMACTL).exists() {
        return skip(test, "there is no numactl");
    }
    guest.install(Path::new(NUMACTL), "/bin/numactl");
    let libnuma = ["-Wl,--no-as-needed", "-l:libnuma.so.1"];
    guest.install(&build("numa", Libc::Glibc, &libnuma)?, "/bin/numa");
    guest.install_hugectl();
    // The kernel would move pages by itself, and hide them while it watches.
    guest.boot_with("numa_balancing=disable");
    Some(guest)
}

/// Which nodes have a pool, of 100 pages each.
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

    /// The command that makes them.
    fn make(self) -> String {
        let [first, second] = self.shares();
        let most = first + second;
        format!(
            "hugeadm --pool-pages-min 2MB@0:{first} --pool-pages-min 2MB@1:{second} \
             --pool-pages-max 2MB:{most}"
        )
    }

    /// The command that makes them, and then others, after each of which the
    /// nodes must have their shares still.
    fn script(self, commands: &[&str]) -> Vec<String> {
        let with_shares = |command: &&str| {
            let file = "/sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages";
            format!("{command}\nstatus=$?; echo shares $(cat {file}); (exit $status)")
        };
        let make = [self.make()];
        make.into_iter()
            .chain(commands.iter().map(with_shares))
            .collect()
    }
}

/// What a command said, where it went well.
pub(super) struct Said<'a> {
    pub(super) command: &'a str,
    pub(super) pools: Pools,
    pub(super) ran: &'a Ran,
}

/// Kilobytes of a range.
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

impl Said<'_> {
    /// All lines of a range.
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

    /// All of a range is on a node.
    fn is_on(&self, what: &str, node: usize) {
        for place in self.places(what) {
            assert_eq!(place.nodes[node], place.all(), "{what}: {self:?}");
        }
    }

    /// So many hundredths of a range at least are on a node, but for one huge
    /// page: that which holds the allocator's own tables of a node, too.
    fn is_mostly_on(&self, what: &str, node: usize, share: u64) {
        for place in self.places(what) {
            let wanted = place.all() * share / 100;
            assert!(place.nodes[node] + 2048 >= wanted, "{what}: {self:?}");
        }
    }

    /// A range is on these nodes in equal parts, up to `part` kilobytes.
    fn is_spread_over(&self, what: &str, nodes: &[usize], part: u64) {
        for place in self.places(what) {
            let share = place.all() / nodes.len() as u64;
            for (node, kb) in place.nodes.iter().enumerate() {
                let wanted = if nodes.contains(&node) { share } else { 0 };
                assert!(kb.abs_diff(wanted) <= part, "{what}: {self:?}");
            }
        }
    }

    /// So many hundredths of a range at least are on pages of a pool; or none.
    fn has_of_pool(&self, what: &str, share: u64) {
        for place in self.places(what) {
            let right = match share {
                0 => place.pool == 0,
                share => place.pool * 100 >= place.all() * share,
            };
            assert!(right, "{what}: {self:?}");
        }
    }

    /// The kernel knows a policy of a range by this mode and these nodes.
    fn has_policy(&self, what: &str, policy: &str) {
        let line = format!("{what} policy={policy}\n");
        assert!(self.ran.out.contains(&line), "{line}: {self:?}");
    }
}

impl std::fmt::Debug for Said<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran { out, err, status } = self.ran;
        let (command, pools) = (self.command, self.pools);
        write!(f, "{command} with {pools:?}: {status}\n{out}{err}")
    }
}

/// A command, and who judges what it said.
type Case<'a> = (&'a str, &'a dyn Fn(&Said<'_>));

/// Runs commands with all pools, and shows what each said to its judge.
fn with_all_pools(guest: &Guest, cases: &[Case<'_>]) {
    let commands: Vec<&str> = cases.iter().map(|(command, _)| *command).collect();
    let scripts: Vec<Vec<String>> = Pools::ALL.map(|pools| pools.script(&commands)).into();
    let lines: Vec<&str> = scripts.iter().flatten().map(String::as_str).collect();
    let answers = guest.run(&lines);
    let per_pool = answers.chunks(commands.len() + 1);
    for (pools, answers) in Pools::ALL.iter().zip(per_pool) {
        assert_eq!((answers[0].status, answers[0].err.as_str()), (0, ""));
        for ((command, judge), ran) in cases.iter().zip(&answers[1..]) {
            let said = Said {
                command,
                pools: *pools,
                ran,
            };
            assert_eq!(ran.status, 0, "{said:?}");
            let [first, second] = pools.shares();
            let shares = format!("shares {first} {second}\n");
            assert!(ran.out.ends_with(&shares), "{said:?}");
            judge(&said);
        }
    }
}

/// Large blocks that threads of two nodes allocate.
fn threads(said: &Said<'_>) {
    for thread in [0, 1] {
        let share = match (said.pools, thread) {
            // The pool's pages first, on whichever node they are.
            (Pools::First, 1) => 0,
            _ => 90,
        };
        said.is_mostly_on(&format!("thread {thread}"), thread, share);
    }
    match said.pools {
        Pools::Both => said.has_of_pool("thread 1", 90),
        Pools::First => {}
        Pools::None => said.has_of_pool("thread 1", 0),
    }
}

const SIZES: [&str; 3] = ["small", "medium", "large"];

#[test]
fn large_blocks_are_on_the_node_of_their_thread_or_where_numactl_says() {
    let Some(guest) = machine("nodes of threads", &[node(768), node(768)]) else {
        return;
    };
    let bound = |said: &Said<'_>| {
        for size in SIZES {
            said.is_on(&format!("main {size}"), 1);
        }
        let share = if said.pools == Pools::Both { 90 } else { 0 };
        said.has_of_pool("main large", share);
    };
    with_all_pools(
        &guest,
        &[
            ("hugectl --heap numa threads", &threads),
            ("hugectl --heap numactl --membind=1 numa blocks", &bound),
            ("numactl --membind=1 hugectl --heap numa blocks", &bound),
            (
                "hugectl --heap numactl --interleave=all numa blocks",
                &|said| match said.pools {
                    Pools::First => said.has_of_pool("main large", 90),
                    _ => said.is_spread_over("main large", &[0, 1], 2048),
                },
            ),
            (
                "hugectl --heap numactl --preferred=1 numa blocks",
                &|said| match said.pools {
                    Pools::First => said.has_of_pool("main large", 90),
                    _ => said.is_on("main large", 1),
                },
            ),
            ("hugectl --heap numa policy", &|said| {
                said.is_on("set", 1);
                said.is_on("kept", 1);
                said.is_on("unset", 0);
            }),
            // The policy of a thread is no other thread's.
            ("hugectl --heap numa policies", &|said| {
                said.is_on("asks", 1);
                said.is_on("beside", 0);
                // A thread that finds no page on its node stops the asking for all.
                if said.pools == Pools::Both {
                    said.has_of_pool("beside", 90);
                }
            }),
        ],
    );
}

/// What holds for a block that was bound before or after it was touched.
pub(super) fn binds(said: &Said<'_>) {
    for what in ["fresh bound", "moved bound", "strict bound"] {
        said.is_on(what, 1);
    }
    said.has_policy("fresh bound", "2 nodes=2");
    // What lies beside it in one huge page may go with it.
    said.is_mostly_on("fresh behind", 0, 85);
    said.has_policy("fresh behind", "0 nodes=0");
    said.is_spread_over("interleaved", &[0, 1], 2048);
}

#[test]
fn mbind_holds_for_blocks_of_the_heap() {
    let Some(guest) = machine("mbind", &[node(768), node(768)]) else {
        return;
    };
    with_all_pools(
        &guest,
        &[
            ("hugectl --heap -q numa binds", &binds),
            ("hugectl --heap=thp numa binds", &binds),
        ],
    );
}

/// Before and after a fork, in parent and child.
pub(super) fn forks(said: &Said<'_>) {
    for who in ["before", "child", "after"] {
        said.is_mostly_on(&format!("{who} thread 0"), 0, 90);
        said.is_on(&format!("{who} bound"), 1);
        said.has_policy(&format!("{who} bound"), "2 nodes=2");
        said.is_spread_over(&format!("{who} spread"), &[0, 1], 2048);
        said.has_policy(&format!("{who} spread"), "3 nodes=3");
    }
    for who in ["child", "after"] {
        said.is_on(&format!("{who} wrote bound"), 1);
    }
}

#[test]
fn forks_leave_memory_and_policies_where_they_are() {
    let Some(guest) = machine("forks on nodes", &[node(768), node(768)]) else {
        return;
    };
    with_all_pools(
        &guest,
        &[
            ("hugectl --heap -q numa fork", &forks),
            ("hugectl --heap -q numa fork-threads", &forks),
            ("hugectl --heap=thp -q numa fork", &forks),
            // A filter that kills for calls about policies meets none.
            ("hugectl --heap -q numa filtered", &|_| ()),
        ],
    );
}

#[test]
fn policies_hold_for_shared_memory_and_variables() {
    let Some(guest) = machine("shared memory on nodes", &[node(768), node(768)]) else {
        return;
    };
    let data = |said: &Said<'_>| {
        for what in ["data bound", "child bound", "after bound"] {
            said.is_on(what, 1);
        }
        said.has_policy("child bound", "2 nodes=2");
    };
    with_all_pools(
        &guest,
        &[
            (
                "hugectl --shm -q numactl --membind=1 numa shared",
                &|said| {
                    said.is_on("shared first", 1);
                    said.is_on("shared second", 1);
                },
            ),
            ("hugectl --data -q numa data", &data),
            ("numactl --membind=1 hugectl --data -q numa data", &|said| {
                said.is_on("data", 1);
                data(said);
            }),
        ],
    );
}

/// Pages that take turns do so over all of a block, whatever divides it; what
/// others do to a process, by `migratepages` and by a cpuset, is done.
#[test]
fn four_nodes_take_equal_shares() {
    let Some(guest) = machine("four nodes", &[node(700); 4]) else {
        return;
    };
    let commands = [
        "hugeadm --pool-pages-min 2MB@0-3:110",
        "hugectl --heap numa threads",
        "hugectl --heap numactl --interleave=all numa blocks",
        "hugectl --heap numactl --interleave=0,2,3 numa blocks",
        "hugectl --heap numa migrate",
        // The shell of this command is in the cpuset from here on.
        "mkdir /cgroup; mount -t cgroup2 none /cgroup; cd /cgroup; mkdir two
         echo +cpuset > cgroup.subtree_control; echo 2 > two/cpuset.mems
         echo 0 > two/cgroup.procs; hugectl --heap numa blocks",
    ];
    let answers = guest.run(&commands);
    let said = |number: usize| Said {
        command: commands[number],
        pools: Pools::Both,
        ran: &answers[number],
    };
    for number in 0..commands.len() {
        assert_eq!(said(number).ran.status, 0, "{:?}", said(number));
    }
    for thread in 0..4 {
        said(1).is_mostly_on(&format!("thread {thread}"), thread, 85);
    }
    said(4).is_on("before", 0);
    said(4).is_on("migrated", 1);
    for size in SIZES {
        said(5).is_on(&format!("main {size}"), 2);
    }
    said(5).has_of_pool("main large", 90);
    for (number, nodes) in [(2, vec![0, 1, 2, 3]), (3, vec![0, 2, 3])] {
        said(number).is_spread_over("main large", &nodes, 4096);
        said(number).has_of_pool("main large", 90);
    }
}

#[test]
fn gigantic_pages_take_turns_too() {
    let Some(mut guest) = machine("gigantic pages on nodes", &[node(3072), node(2560)]) else {
        return;
    };
    // Whole gigabytes are free on both; see the test of their demotion.
    guest.boot_with("nokaslr numa_balancing=disable");
    let commands = [
        "hugeadm --pool-pages-min 1GB@0-1:1",
        "hugectl --heap=1GB numactl --interleave=all numa block 1500",
    ];
    let answers = guest.run(&commands);
    assert_eq!((answers[0].status, answers[0].err.as_str()), (0, ""));
    let said = Said {
        command: commands[1],
        pools: Pools::Both,
        ran: &answers[1],
    };
    assert_eq!(said.ran.status, 0, "{said:?}");
    said.has_of_pool("block", 100);
    for kb in &said.places("block")[0].nodes {
        assert!(*kb >= 400_000, "{said:?}");
    }
}
