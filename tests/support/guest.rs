//! Virtual machines with several memory nodes. QEMU without KVM boots Debian's cloud kernel with
//! our tools and busybox in an initramfs, runs commands and returns their output.

mod systemd;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::cpio::Archive;
use super::live::{skip, skip_aloud};
use super::needs;
use super::tool::{Ran, hugectl, tool};

const QEMU: &str = "qemu-system-x86_64";

/// QEMU fills and copies memory byte by byte for `rep stosb` and `rep movsb`, and its `cmpxchg16b`
/// may spoil the flags.
const CPU: &str = "max,-erms,-fsrm,-cx16";

/// Timeout for a boot and its commands.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A machine to boot.
pub(crate) struct Guest {
    kernel: PathBuf,
    archive: Archive,
    machine: Vec<String>,
    parameters: String,
    /// With systemd as init: a command to run before it.
    systemd: Option<&'static str>,
}

/// A memory node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GuestNode {
    pub(crate) megabytes: u32,
    pub(crate) cpu: bool,
}

/// Returns a machine with these nodes, or reports a skipped test.
pub(crate) fn guest(test: &str, nodes: &[GuestNode]) -> Option<Guest> {
    match newest("/boot", "vmlinuz-", "-cloud-amd64") {
        Some(kernel) => with_kernel(test, nodes, kernel),
        None => skip(test, "there is no /boot/vmlinuz-*-cloud-amd64"),
    }
}

/// Returns a machine whose kernel is named by a variable such as `HUGETOOLS_OLD_KERNEL`, or reports
/// a skipped test. In CI that is no failure, since the kernel's download may fail.
pub(crate) fn guest_with_kernel_of(
    variable: &str,
    test: &str,
    nodes: &[GuestNode],
) -> Option<Guest> {
    let named = |(name, _): &(OsString, OsString)| name == variable;
    let Some((_, kernel)) = std::env::vars_os().find(named) else {
        skip_aloud(&format!("{variable} names no kernel"));
        return None;
    };
    with_kernel(test, nodes, PathBuf::from(kernel))
}

fn with_kernel(test: &str, nodes: &[GuestNode], kernel: PathBuf) -> Option<Guest> {
    if !needs::programs(test, &[QEMU, "/bin/busybox"]) {
        return None;
    }
    let mut guest = Guest {
        kernel,
        archive: Archive::default(),
        machine: hardware(nodes),
        parameters: String::new(),
        systemd: None,
    };
    guest.install(Path::new("/bin/busybox"), "/bin/busybox");
    let hugeadm = PathBuf::from(tool("hugeadm").get_program());
    guest.install(&hugeadm, "/bin/hugeadm");
    guest.text(
        "/etc/passwd",
        "root:x:0:0::/:/bin/sh\ndaemon:x:1:1::/:/bin/sh\n",
    );
    guest.text("/etc/group", "root:x:0:\ndaemon:x:1:\n");
    Some(guest)
}

/// Returns the last file, by name, with this prefix and suffix.
pub(crate) fn newest(dir: &str, begin: &str, end: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(begin) && name.ends_with(end)
    };
    entries.filter(named).max()
}

/// Returns QEMU's options for CPUs and memory of the nodes.
fn hardware(nodes: &[GuestNode]) -> Vec<String> {
    let cpus = nodes.iter().filter(|node| node.cpu).count();
    let memory: u32 = nodes.iter().map(|node| node.megabytes).sum();
    let mut all = vec!["-smp".to_owned(), cpus.to_string()];
    all.extend(["-m".to_owned(), format!("{memory}M")]);
    let mut cpu = 0;
    for (id, node) in nodes.iter().enumerate() {
        let mut numa = format!("node,nodeid={id}");
        if node.cpu {
            let _ = write!(numa, ",cpus={cpu}");
            cpu += 1;
        }
        if node.megabytes > 0 {
            let backend = format!("memory-backend-ram,id=m{id},size={}M", node.megabytes);
            all.extend(["-object".to_owned(), backend]);
            let _ = write!(numa, ",memdev=m{id}");
        }
        all.extend(["-numa".to_owned(), numa]);
    }
    all
}

impl Guest {
    /// Adds a program and its libraries to the initramfs.
    pub(crate) fn install(&mut self, program: &Path, place: &str) {
        self.archive.file(place, 0o755, &bytes(program));
        for library in libraries(program) {
            let place = library.to_str().unwrap();
            self.archive.file(place, 0o755, &bytes(&library));
        }
    }

    /// Adds hugectl and its libraries to the initramfs.
    pub(crate) fn install_hugectl(&mut self) {
        self.install(hugectl(), "/bin/hugectl");
        for library in [env!("HUGETOOLS_PRELOAD"), env!("HUGETOOLS_HEAP")] {
            let name = Path::new(library).file_name().unwrap().to_str().unwrap();
            self.install(Path::new(library), &format!("/lib/{name}"));
        }
    }

    /// Adds a file to the initramfs.
    pub(crate) fn text(&mut self, place: &str, text: &str) {
        self.archive.file(place, 0o644, text.as_bytes());
    }

    /// Sets additional kernel parameters.
    pub(crate) fn boot_with(&mut self, parameters: &str) {
        self.parameters = parameters.to_owned();
    }

    /// Boots, runs the commands in order and powers off.
    pub(crate) fn run(&self, commands: &[&str]) -> Vec<Ran> {
        let mut archive = self.archive.clone();
        let mut init = INIT.to_owned();
        match self.systemd {
            None => init += &script(commands),
            Some(prepare) => {
                let service = format!(
                    "#!/bin/busybox sh\nPATH=/bin:/usr/bin\n{}",
                    script(commands)
                );
                archive.file("/commands", 0o755, service.as_bytes());
                let _ = write!(init, "{prepare}\nexec /lib/systemd/systemd\n");
            }
        }
        archive.file("/init", 0o755, init.as_bytes());
        let dir = tempfile::tempdir().unwrap();
        let initrd = dir.path().join("initrd");
        let mut file = fs::File::create(&initrd).unwrap();
        file.write_all(&archive.finish()).unwrap();
        let mut command = Command::new(QEMU);
        command.args([
            "-accel",
            "tcg,thread=single",
            "-cpu",
            CPU,
            "-nodefaults",
            "-no-reboot",
        ]);
        command.args(["-display", "none", "-serial", "stdio"]);
        command.args(&self.machine);
        command
            .arg("-kernel")
            .arg(&self.kernel)
            .arg("-initrd")
            .arg(&initrd);
        // no_timer_check: on a busy host the kernel would find its timer too slow, and panic.
        // init_on_alloc=0: clearing memory at each allocation takes half of the boot time.
        let always = "console=ttyS0 loglevel=1 panic=-1 no_timer_check \
                      init_on_alloc=0 cryptomgr.notests mitigations=off systemd.show_status=0";
        let parameters = format!("{always} {}", self.parameters);
        command.arg("-append").arg(parameters);
        let console = finish(&mut command);
        (0..commands.len())
            .map(|number| result(&console, number))
            .collect()
    }
}

/// Runs a command until it ends or times out.
fn finish(command: &mut Command) -> String {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let out = read_to_end(child.stdout.take().unwrap());
    let errors = read_to_end(child.stderr.take().unwrap());
    let end = Instant::now() + TIMEOUT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let (console, errors) = (out.join().unwrap(), errors.join().unwrap());
    assert!(
        console.contains("@@ the end"),
        "the guest did not end:\n{console}\n{errors}"
    );
    console
}

/// Reads a pipe to its end in a thread, so that the writer never blocks.
fn read_to_end(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = pipe.read_to_end(&mut text);
        String::from_utf8_lossy(&text).replace('\r', "")
    })
}

/// The beginning of the guest's init script.
const INIT: &str = "#!/bin/busybox sh
PATH=/bin
/bin/busybox mkdir -p /proc /sys /dev /run /tmp /var/lib
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /run
mount -t tmpfs none /var
mkdir /var/lib
";

/// Returns the script that runs the commands and powers off.
fn script(commands: &[&str]) -> String {
    let mut script = String::new();
    for (number, command) in commands.iter().enumerate() {
        let _ = write!(
            script,
            "echo '@@ out {number}'\n(\n{command}\n) 2>/tmp/err\nstatus=$?\n\
             echo '@@ err {number}'\ncat /tmp/err\necho \"@@ status {number} $status\"\n"
        );
    }
    script + "echo '@@ the end'\npoweroff -f\n"
}

fn result(console: &str, number: usize) -> Ran {
    let after = |mark: &str| {
        let text = console
            .split_once(&format!("@@ {mark} {number}"))
            .map(|(_, rest)| rest);
        let text = text.unwrap_or_else(|| panic!("no {mark} of {number} in\n{console}"));
        text.split("@@ ").next().unwrap().to_owned()
    };
    let text = |mark: &str| after(mark).trim_start_matches('\n').to_owned();
    Ran {
        out: text("out"),
        err: text("err"),
        status: after("status").trim().parse().unwrap(),
    }
}

/// Returns the shared libraries that a program is linked with.
fn libraries(program: &Path) -> BTreeSet<PathBuf> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    words
        .map(PathBuf::from)
        .filter(|path| path.exists())
        .collect()
}

fn bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = fs::OpenOptions::new().read(true).open(path).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}
