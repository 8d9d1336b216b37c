//! What it costs a Redis server to save in the background while it is written
//! to: the fork, the slowest request, the memory of both.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::outcome::{Memory, Save};
use super::pool::Pool;
use super::prepare;
use super::server::{Client, Server};
use super::stats::median;
use super::watch;
use super::way::{Tools, Way};

/// A server on one kind of pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pages {
    /// How the table calls it.
    pub(crate) name: &'static str,
    pub(crate) way: Way,
    /// Whether the server may have transparent huge pages: by itself it turns
    /// them off.
    thp: bool,
}

/// All of them, those with an empty pool first.
pub(crate) const ALL: [Pages; 4] = [
    Pages {
        name: "plain: base pages",
        way: Way::Plain,
        thp: false,
    },
    Pages {
        name: "hugectl, no pool: THP",
        way: Way::OursWithout,
        thp: true,
    },
    Pages {
        name: "hugectl, pool, then base pages",
        way: Way::Ours,
        thp: false,
    },
    Pages {
        name: "hugectl, pool, then THP",
        way: Way::Ours,
        thp: true,
    },
];

/// Bytes of a value.
const VALUE: usize = 1000;

/// Thousands of keys.
pub(crate) fn keys(quick: bool) -> u32 {
    if quick { 50 } else { 1000 }
}

/// What the second table is about.
pub(crate) fn title(quick: bool) -> String {
    let keys = keys(quick);
    format!("Redis saves {keys} thousand keys of {VALUE} bytes while it is written to")
}

/// MiB of huge pages that are enough.
pub(crate) fn pool_mib(quick: bool) -> u64 {
    u64::from(keys(quick)) * 8 / 5 + 128
}

/// One server from its start to its end. A `look` at its memory costs it time.
pub(crate) fn run(
    pages: Pages,
    pool: &Pool,
    tools: &Tools,
    quick: bool,
    look: bool,
) -> Result<Save, String> {
    prepare::needs("redis-server")?;
    let mut command = prepare::command(pages.way, tools, &["redis-server".to_owned()]);
    command.args(["--disable-thp", if pages.thp { "no" } else { "yes" }]);
    let server = Server::start(command, false)?;
    let save = measure(&server, pool, keys(quick) * 1000, look);
    let ended = server.stop();
    let save = save?;
    ended.map(|_| save)
}

fn measure(server: &Server, pool: &Pool, keys: u32, look: bool) -> Result<Save, String> {
    let mut client = server.client()?;
    fill(&mut client, keys)?;
    let calm = under_load(server, keys, || {
        thread::sleep(Duration::from_millis(700));
        Ok(())
    })?;
    let before = watch::pages(server.pid()).unwrap_or_default();
    let resident = watch::portion(server.pid()).unwrap_or(0);
    pool.warm();
    let (mut peak, started) = (resident, Instant::now());
    let mut seconds = 0.0;
    let busy = under_load(server, keys, || {
        client.ask(&["BGSAVE"])?;
        while client.info("persistence", "rdb_bgsave_in_progress")? != "0" {
            if look {
                peak = peak.max(both(server.pid()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        seconds = started.elapsed().as_secs_f64();
        Ok(())
    })?;
    check(&mut client, keys)?;
    Ok(Save {
        fork_ms: fork_ms(&mut client)?,
        slowest_before_ms: calm.slowest,
        slowest_ms: busy.slowest,
        requests: busy.rate,
        seconds,
        before: kib(resident),
        peak: kib(peak),
        huge_before: share(before),
        huge_after: share(watch::pages(server.pid()).unwrap_or_default()),
    })
}

fn fill(client: &mut Client, keys: u32) -> Result<(), String> {
    const FILL: &str =
        "for i = ARGV[1], ARGV[2] do redis.call('set', 'key:' .. i, string.rep('x', ARGV[3])) end";
    let mut first = 1;
    while first <= keys {
        let last = (first + 9999).min(keys);
        let words = [first.to_string(), last.to_string(), VALUE.to_string()];
        client.ask(&["EVAL", FILL, "0", &words[0], &words[1], &words[2]])?;
        first = last + 1;
    }
    Ok(())
}

/// What came of it must be all of it.
fn check(client: &mut Client, keys: u32) -> Result<(), String> {
    let status = client.info("persistence", "rdb_last_bgsave_status")?;
    if status != "ok" {
        return Err(format!("the save ended with {status}"));
    }
    match client.ask(&["DBSIZE"])? {
        size if size == keys.to_string() => Ok(()),
        size => Err(format!("of {keys} keys {size} are left")),
    }
}

fn fork_ms(client: &mut Client) -> Result<f64, String> {
    let us = client.info("stats", "latest_fork_usec")?;
    let us: f64 = us
        .parse()
        .map_err(|error| format!("latest_fork_usec {us}: {error}"))?;
    Ok(us / 1000.0)
}

/// kB of a server and its child.
fn both(pid: u32) -> u64 {
    let child = watch::child_of(pid).and_then(watch::portion);
    watch::portion(pid).unwrap_or(0) + child.unwrap_or(0)
}

fn share(memory: Memory) -> f64 {
    memory.share().unwrap_or(0.0)
}

fn kib(kib: u64) -> f64 {
    u32::try_from(kib).map_or(f64::INFINITY, f64::from)
}

/// What a client met.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Milliseconds.
    slowest: f64,
    /// Requests in a second.
    rate: f64,
}

/// Writes to keys at random, one after the other, while something is done.
fn under_load(
    server: &Server,
    keys: u32,
    mut done: impl FnMut() -> Result<(), String>,
) -> Result<Load, String> {
    let stop = AtomicBool::new(false);
    let client = server.client()?;
    thread::scope(|scope| {
        let writer = scope.spawn(|| write(client, keys, &stop));
        let result = done();
        stop.store(true, Ordering::Relaxed);
        let load = writer.join().map_err(|_| "the client failed".to_owned())?;
        result.and(load)
    })
}

fn write(mut client: Client, keys: u32, stop: &AtomicBool) -> Result<Load, String> {
    let (value, mut number) = ("y".repeat(VALUE), 88_172_645_463_325_252_u64);
    let (mut slowest, mut requests, started) = (Duration::ZERO, 0_u32, Instant::now());
    while !stop.load(Ordering::Relaxed) {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        let key = format!("key:{}", number % u64::from(keys) + 1);
        let before = Instant::now();
        client.ask(&["SET", &key, &value])?;
        slowest = slowest.max(before.elapsed());
        requests += 1;
    }
    Ok(Load {
        slowest: slowest.as_secs_f64() * 1000.0,
        rate: f64::from(requests) / started.elapsed().as_secs_f64(),
    })
}

/// Of several rounds the median; memory from the one that was looked at, and
/// everything where there is no other.
pub(crate) fn summary(rounds: &[Save], looked: &Save) -> Save {
    if rounds.is_empty() {
        return looked.clone();
    }
    let middle = |of: fn(&Save) -> f64| {
        let values: Vec<f64> = rounds.iter().map(of).collect();
        median(&values).unwrap_or(0.0)
    };
    Save {
        fork_ms: middle(|save| save.fork_ms),
        slowest_before_ms: middle(|save| save.slowest_before_ms),
        slowest_ms: middle(|save| save.slowest_ms),
        requests: middle(|save| save.requests),
        seconds: middle(|save| save.seconds),
        ..looked.clone()
    }
}
