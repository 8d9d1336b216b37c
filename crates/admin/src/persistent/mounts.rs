//! Lines of `fstab`.

use hugetools_model::Machine;
use hugetools_model::mount::{Mount, escape, mounted_at};

use super::Persistent;
use super::pools::{Place, place};

impl Persistent {
    /// Only the topmost mount of a directory is in use.
    pub(super) fn mounts(&mut self, machine: &Machine) {
        let mounts = machine.mounts.iter();
        let seen = mounts.filter(|mount| mounted_at(&machine.mounts, &mount.point) == Some(mount));
        let lines: Vec<String> = seen.map(|mount| line(mount, machine)).collect();
        for line in lines {
            if !self.fstab.contains(&line) {
                self.fstab.push(line);
            }
        }
    }
}

/// mount(8) creates a missing directory. It strips options for itself and for systemd.
fn line(mount: &Mount, machine: &Machine) -> String {
    let point = escape(&mount.point);
    let mut options = format!("{},X-mount.mkdir", mount.options);
    if let Some(unit) = pool_unit(mount, machine) {
        options += ",nofail,x-systemd.after=";
        options += unit;
    }
    format!("none {point} hugetlbfs {options} 0 0")
}

/// The unit that fills the pool, if the mount reserves pages. The mount also needs
/// `nofail`: mounts without it are ordered before the unit.
fn pool_unit(mount: &Mount, machine: &Machine) -> Option<&'static str> {
    mount.option("min_size").filter(|size| *size != "0")?;
    let mut pools = machine.pools.iter();
    let pool = pools.find(|pool| mount.is_of(pool.size, pool.default))?;
    match place(pool, machine) {
        Place::CommandLine => None,
        Place::Sysctl => Some("systemd-sysctl.service"),
        Place::Tmpfiles => Some("systemd-tmpfiles-setup.service"),
    }
}
