//! Real programs: same output, same errors, same status as without us.

mod own_heaps;
mod postgres;
mod redis;
mod valgrind;

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::live::{can_be_set, machine};
use crate::support::needs;
use crate::support::tool::{Ran, Run, hugectl};

/// A shell script, and its result without us.
struct Plain {
    name: &'static str,
    script: &'static str,
    dir: TempDir,
    ran: Ran,
}

impl Plain {
    /// Runs a script if its first program is installed.
    fn run(name: &'static str, script: &'static str) -> Option<Plain> {
        let tool = script.split_whitespace().next().unwrap();
        if !needs::programs(name, &[tool]) {
            return None;
        }
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Some(Plain {
            ran: run(dir.path(), &["sh"], script),
            name,
            script,
            dir,
        })
    }

    /// Asserts the same result under hugectl with these options.
    fn is_same_under(&self, options: &[&str]) {
        let hugectl = hugectl().to_str().unwrap();
        let words = [&[hugectl], options, &["sh"]].concat();
        let huge = run(self.dir.path(), &words, self.script);
        assert_eq!(self.ran, huge, "{} {options:?}", self.name);
    }

    fn is_same(&self) {
        let all = [
            "--heap",
            "--shm",
            "--text",
            "--text-libs",
            "--data",
            "--bss",
            "-q",
        ];
        self.is_same_under(&all);
    }
}

/// Compares a script's results with and without hugectl.
pub(crate) fn same(name: &'static str, script: &'static str) {
    if let Some(plain) = Plain::run(name, script) {
        plain.is_same();
    }
}

fn run(dir: &Path, words: &[&str], script: &str) -> Ran {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .args(["-c", script])
        .current_dir(dir);
    command.env("LC_ALL", "C").ran()
}

/// With a pool that is soon used up.
#[test]
fn real_programs_print_the_same() {
    if !can_be_set("real programs") {
        return;
    }
    let scripts = [
        ("git", GIT),
        ("gcc", GCC),
        ("python3", PYTHON),
        ("perl", PERL),
        ("bash", BASH),
        ("java", "java -Xshare:auto -version"),
        ("node", NODE),
        ("xz", XZ),
    ];
    for (name, script) in scripts {
        let Some(plain) = Plain::run(name, script) else {
            continue;
        };
        // Taken for each script, so that other tests get the machine in between.
        let Some(live) = machine("real programs") else {
            return;
        };
        live.set_pool(24);
        plain.is_same();
        assert_eq!(live.wait_for_free_pages(24), 24, "{name}");
    }
}

const XZ: &str = "xz --version >/dev/null && seq 1 50000 | xz -9 | xz -d | md5sum";

const GIT: &str = r##"git init -q repo && cd repo
for i in 1 2 3 4; do
    seq 1 4000 | sed "s/^/$i /" > file$i; git add .
    GIT_AUTHOR_DATE="2026-01-01T00:00:0$i" GIT_COMMITTER_DATE="2026-01-01T00:00:0$i" \
        git -c user.name=a -c user.email=a@b commit -qm "commit $i"
done
git log --stat; git gc -q; git fsck --full --no-progress; git diff HEAD~3 | md5sum
cd ..; rm -rf repo"##;

const GCC: &str = r##"gcc --version >/dev/null
awk 'BEGIN { print "#include <stdio.h>"
for (i = 0; i < 40; i++) print "int f" i "(int a,int b){int s=0,i;for(i=0;i<a;i++){s+=i*b+" i ";if(s%7==0)s^=b;}return s;}"
print "int main(void){int s=0;"; for (i = 0; i < 40; i++) print "s+=f" i "(" i % 13 ",3);"
print "printf(\"%d\\n\",s);return 0;}" }' > big.c
gcc -O2 -S -o - big.c | md5sum; gcc -O1 -o big big.c && ./big; gcc nothing.c; rm -f big big.c"##;

const PYTHON: &str = r##"python3 -c '
import json, multiprocessing, os, random, re, subprocess, threading
random.seed(1)
data = {str(i): "x" * (i % 300) for i in range(60000)}
assert json.loads(json.dumps(data)) == data
def work(n):
    return sum(x * x for x in range(n))
multiprocessing.set_start_method("fork")
with multiprocessing.Pool(3) as pool:
    print(sum(pool.map(work, [10000] * 20)))
def churn():
    for _ in range(1000):
        bytearray(random.randrange(1, 200000))
threads = [threading.Thread(target=churn) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(subprocess.check_output(["echo", "child"]))
pid = os.fork()
if pid == 0:
    data.clear()
    os._exit(3)
print(os.waitpid(pid, 0)[1], len(data), len(re.findall("x+", "".join(data.values()))))
import mmap
shared = mmap.mmap(-1, 6000001)
if os.fork() == 0:
    shared[:4] = b"abcd"
    os._exit(0)
os.wait()
print(shared[:4], len(shared))
raise SystemExit(5)
'"##;

const PERL: &str = r##"perl -e 'my %h; for my $i (1..200000) { $h{$i} = "x" x ($i % 100) }
my $t = 0; for (values %h) { $t += length } print "$t\n";
if (my $p = fork) { waitpid $p, 0; print $? >> 8, "\n" } else { %h = (); exit 7 }'"##;

const BASH: &str = r##"bash -c 'for i in $(seq 1 200); do echo $i; done | sort -rn | awk "{ s += \$1 } END { print s }"
(exit 3); echo $?; x=$(seq 1 50000 | tr "\n" " "); echo ${#x}; declare -A a
for i in $(seq 1 20000); do a[$i]=$i; done; echo ${#a[@]}; exit 9'"##;

const NODE: &str = r##"node -e 'let a = []; for (let i = 0; i < 300000; i++) a.push({ i });
console.log(a.length); require("child_process").execSync("echo child", { stdio: "inherit" });
console.log(Buffer.alloc(10000000, 1).reduce((s, x) => s + x, 0)); process.exit(4)'"##;
