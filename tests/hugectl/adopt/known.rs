//! Programs with memory of their own: Python, Go, Java.

use std::process::Command;
use std::time::{Duration, Instant};

use super::{Subject, document, huge, is_possible, number, only, share};
use crate::support::live::{absent, machine};
use crate::support::needs;

/// 800 MB of objects, whose sum is said again at the end.
const PYTHON: &str = r#"
import sys
def look(): return sum(map(len, things))
things = [b"%d" % n + b"x" * 1000 for n in range(780000)]
before = look()
print("ready", flush=True)
sys.stdin.read()
print("same" if look() == before and things[777777].startswith(b"777777x") else "changed", flush=True)
"#;

/// Nothing to be done: shared memory, of which a look takes long.
const SHARED: &str = r#"
import mmap, sys
room = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 4096): room[at] = 1
print("ready", flush=True)
sys.stdin.read()
"#;

const GO: &str = r#"
package main

import ("bufio"; "fmt"; "os"; "runtime")

type node struct { next *node; number int; rest [100]byte }

func sum(n *node) (s int) { for ; n != nil; n = n.next { s += n.number }; return }

func main() {
	var list *node
	for i := 0; i < 1500000; i++ { list = &node{next: list, number: i} }
	before := sum(list)
	fmt.Println("ready")
	done := make(chan bool)
	go func() { bufio.NewReader(os.Stdin).ReadString('x'); close(done) }()
	for running := true; running; {
		select { case <-done: running = false; default: }
		garbage := make([][]byte, 0)
		for i := 0; i < 1000; i++ { garbage = append(garbage, make([]byte, 1000)) }
		runtime.KeepAlive(garbage)
	}
	runtime.GC()
	if sum(list) == before { fmt.Println("same") } else { fmt.Println("changed") }
}
"#;

/// A list of numbers, and garbage all the time.
const JAVA: &str = r#"
import java.util.*;
class Adopted {
    static long sum(ArrayList<long[]> all) { long s = 0; for (long[] a : all) s += a[3] + a.length; return s; }
    public static void main(String[] words) throws Exception {
        ArrayList<long[]> all = new ArrayList<>();
        for (int i = 0; i < 60000; i++) { long[] a = new long[500]; a[3] = i; all.add(a); }
        long before = sum(all);
        boolean[] done = new boolean[1];
        Thread load = new Thread(() -> {
            long n = 0;
            while (!done[0]) { byte[] b = new byte[10000]; b[5] = 1; n += b[5]; if (n % 20000 == 0) System.gc(); Thread.yield(); }
        });
        load.start();
        System.out.println("ready");
        while (System.in.read() >= 0) { }
        done[0] = true;
        load.join();
        System.gc();
        System.out.println(sum(all) == before ? "same" : "changed");
    }
}
"#;

/// The time on a processor that it takes to copy so many bytes to new memory.
fn copying(bytes: u64) -> Duration {
    let from = vec![1_u8; usize::try_from(bytes).unwrap()];
    let start = own_time();
    let to = from.clone();
    let time = own_time().saturating_sub(start);
    assert_eq!((to[7], to.len()), (1, from.len()));
    time
}

fn own_time() -> Duration {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    nix::time::clock_gettime(clock).unwrap().into()
}

#[test]
fn a_python_of_800_megabytes() {
    let name = "adopted Python";
    let Some(live) = machine(name) else { return };
    if !is_possible(name, live.thp_serves()) || !needs::programs(name, &["python3"]) {
        return;
    }
    let mut subject = Subject::start(Command::new("python3").args(["-c", PYTHON]));
    let start = Instant::now();
    let found = document(&["--pid", &subject.pid()]);
    let took = start.elapsed();
    let process = only(&found);
    assert!(
        number(&process["after"]["resident"]) > 750 << 20,
        "{found:#}"
    );
    assert!(
        huge(&process["before"]) == 0 && share(process) >= 0.9,
        "{found:#}"
    );
    // The share of a CPU that was granted, and no more.
    let cpu = process["cpu_seconds"].as_f64().unwrap();
    let seconds = process["seconds"].as_f64().unwrap();
    assert!(cpu / seconds < 0.27, "{found:#}");
    let copying = copying(800 << 20);
    // A copy by the kernel also clears the new page and gives back the old ones.
    let most = 6.0 * copying.as_secs_f64().max(0.2);
    assert!(
        cpu < most,
        "{took:?}, {cpu} s on a CPU; copying: {copying:?}"
    );
    drop(subject.input.take());
    assert_eq!(subject.line(), "same");
}

#[test]
fn a_look_keeps_to_the_budget() {
    let name = "looks at what is to be adopted";
    let Some(live) = machine(name) else { return };
    if !is_possible(name, live.thp_serves()) || !needs::programs(name, &["python3"]) {
        return;
    }
    let subject = Subject::start(Command::new("python3").args(["-c", SHARED]));
    let found = document(&["--pid", &subject.pid(), "--stack", "--budget=2"]);
    let process = only(&found);
    let cpu = process["cpu_seconds"].as_f64().unwrap();
    let seconds = process["seconds"].as_f64().unwrap();
    assert!(cpu / seconds < 0.1, "{found:#}");
}

#[test]
fn a_go_program_that_collects_garbage() {
    let name = "adopted Go";
    let Some(live) = machine(name) else { return };
    let go = std::path::Path::new("/usr/local/go/bin/go");
    let go = if go.exists() { go } else { "go".as_ref() };
    if !is_possible(name, live.thp_serves()) {
        return;
    }
    if Command::new(go).arg("version").output().is_err() {
        return absent(name, "there is no go");
    }
    let dir = tempfile::tempdir().unwrap();
    let (source, program) = (dir.path().join("a.go"), dir.path().join("a"));
    crate::support::tool::write(&source, GO.as_bytes());
    let mut build = Command::new(go);
    build.args(["build", "-o"]).arg(&program).arg(&source);
    build
        .env("GOCACHE", dir.path())
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=mod");
    let built = build.output().unwrap();
    assert!(built.status.success(), "{built:?}");
    let subject = Subject::start(&mut Command::new(program));
    let found = document(&["--pid", &subject.pid(), "--budget=100"]);
    // The collector maps memory meanwhile.
    assert!(share(only(&found)) >= 0.5, "{found:#}");
    assert_eq!(subject.last(), "same");
}

#[test]
fn a_java_heap_under_collection() {
    let name = "adopted Java";
    let Some(live) = machine(name) else { return };
    if !is_possible(name, live.thp_serves()) {
        return;
    }
    // One that runs a source: it has a compiler.
    if Command::new("javac").arg("-version").output().is_err() {
        return absent(name, "there is no javac");
    }
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("Adopted.java");
    crate::support::tool::write(&source, JAVA.as_bytes());
    let mut java = Command::new("java");
    java.args(["-Xms512m", "-Xmx512m"]).arg(source);
    let subject = Subject::start(&mut java);
    let found = document(&["--pid", &subject.pid(), "--budget=100"]);
    let process = only(&found);
    let rows = process["segments"].as_array().unwrap();
    let anon = rows.iter().find(|row| row["segment"] == "anon").unwrap();
    // Code and metadata lie in small pieces, and stacks want none.
    let resident = number(&anon["after"]["resident"]);
    assert!(huge(&anon["after"]) * 10 >= resident * 8, "{found:#}");
    assert_eq!(subject.last(), "same");
}
