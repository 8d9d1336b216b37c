//! The machine's pool during a turn.

use hugetools_model::{Machine, Root};

use super::prepare;
use super::support::live::{Live, machine};
use super::way::Way;

/// The machine, restored at the end of a turn.
pub(crate) struct Pool {
    /// `None` without root.
    live: Option<Live>,
    mib: u64,
}

impl Pool {
    /// Waits for the machine.
    pub(crate) fn take(mib: u64) -> Pool {
        let is_root = nix::unistd::geteuid().is_root();
        let live = is_root.then(|| machine("cargo bench")).flatten();
        Pool { live, mib }
    }

    /// Fills or empties the pool for a way. Touches all pages first, since in a virtual
    /// machine the first touch of a page costs many times what later ones cost.
    pub(crate) fn prepare(&self, way: Way) -> Result<(), String> {
        self.touch();
        self.set(way)?;
        self.touch();
        Ok(())
    }

    fn touch(&self) {
        if let Some(program) = prepare::warmer() {
            let mut command = prepare::clean(&program.display().to_string());
            let _ = command.arg(self.mib.to_string()).output();
        }
    }

    fn set(&self, way: Way) -> Result<(), String> {
        let Some(live) = &self.live else {
            return match way {
                Way::Plain | Way::ThpTunable => Ok(()),
                Way::OursWithout | Way::Auto if is_empty() => Ok(()),
                _ => Err("only root can fill or empty a pool".to_owned()),
            };
        };
        let amount = match way.needs_pool() {
            true => format!("DEFAULT:{}MB", self.mib),
            false => "DEFAULT:0".to_owned(),
        };
        let ran = live.hugeadm(&["--pool-pages-min", &amount, "--pool-pages-max", &amount]);
        match ran.status {
            0 => Ok(()),
            _ => Err(ran
                .err
                .lines()
                .next()
                .unwrap_or("hugeadm failed")
                .to_owned()),
        }
    }
}

/// Whether the pool has no free page.
#[expect(
    clippy::disallowed_methods,
    reason = "the benchmark is for the running machine"
)]
fn is_empty() -> bool {
    let machine = Machine::read(&Root::live());
    machine.is_ok_and(|machine| {
        machine
            .default_pool()
            .is_none_or(|pool| pool.free.get() == 0)
    })
}
