//! Init systems: their services, and how to enable them.

use std::path::Path;

/// The init system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Init {
    /// systemd.
    Systemd {
        /// Whether it runs now.
        running: bool,
    },
    /// OpenRC.
    OpenRc,
}

const UNIT: &str = include_str!("../../../share/hugetools.service");
const OPENRC: &str = include_str!("../../../share/hugetools.openrc");

impl Init {
    /// Finds the init system. `live` is false below `--sysroot`, where nothing is run.
    pub fn find(exists: &mut dyn FnMut(&str) -> bool, live: bool) -> Option<Init> {
        let running = live && exists("/run/systemd/system");
        let systemd = ["/lib/systemd/systemd", "/usr/lib/systemd/systemd"];
        if running || systemd.into_iter().any(&mut *exists) {
            return Some(Init::Systemd { running });
        }
        exists("/sbin/openrc-run").then_some(Init::OpenRc)
    }

    /// Returns the path of its service.
    pub fn path(self) -> &'static str {
        match self {
            Init::Systemd { .. } => "/etc/systemd/system/hugetools.service",
            Init::OpenRc => "/etc/init.d/hugetools",
        }
    }

    /// Returns the service and its mode. `program` is hugeadm.
    pub fn service(self, program: &Path) -> (String, u32) {
        let (text, mode) = match self {
            Init::Systemd { .. } => (UNIT, 0o644),
            Init::OpenRc => (OPENRC, 0o755),
        };
        let program = program.to_string_lossy();
        (text.replace("/usr/bin/hugeadm", &program), mode)
    }

    /// Returns the link that enables the service.
    pub fn link(self) -> &'static str {
        match self {
            Init::Systemd { .. } => "/etc/systemd/system/sysinit.target.wants/hugetools.service",
            Init::OpenRc => "/etc/runlevels/boot/hugetools",
        }
    }

    /// Returns the command that makes the init system see the change.
    pub fn command(self) -> Option<&'static [&'static str]> {
        match self {
            Init::Systemd { running: true } => Some(&["systemctl", "daemon-reload"]),
            _ => None,
        }
    }
}
