//! systemd as the init of a virtual machine, with its targets and its journal. The commands
//! are a service after `sysinit.target`.

use std::fs;
use std::path::Path;

use super::{Guest, bytes};
use crate::support::needs;

const UNITS: &str = "/lib/systemd/system";

/// The default target: the journal, the commands, and no other service of the host.
const TARGET: &str = "[Unit]
Requires=basic.target
Wants=systemd-journald.socket systemd-journald.service commands.service
";

/// Runs the commands in a service ordered like a database's.
const SERVICE: &str = "[Unit]
Description=A database
[Service]
Type=oneshot
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
ExecStart=/commands
";

impl Guest {
    /// Makes systemd the init; `prepare` runs before it. Without systemd, reports a skipped test.
    pub(crate) fn boot_by_systemd(&mut self, test: &str, prepare: &'static str) -> Option<()> {
        if !needs::programs(test, &["systemctl", "journalctl"]) {
            return None;
        }
        for program in ["/lib/systemd/systemd", "/lib/systemd/systemd-journald"] {
            self.install(Path::new(program), program);
        }
        for program in ["systemctl", "journalctl"] {
            let from = Path::new("/usr/bin").join(program);
            self.install(&from, &format!("/usr/bin/{program}"));
        }
        for entry in fs::read_dir(UNITS).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let is_unit = name.ends_with(".target") || name.starts_with("systemd-journald");
            if is_unit && path.is_file() {
                let place = format!("{UNITS}/{name}");
                self.archive.file(&place, 0o644, &bytes(&path));
            }
        }
        self.text("/etc/systemd/system/default.target", TARGET);
        self.text("/etc/systemd/system/commands.service", SERVICE);
        self.text("/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
        self.systemd = Some(prepare);
        Some(())
    }
}
