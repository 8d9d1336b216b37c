//! The pool of the machine while one workload takes its turn.

use std::time::{Duration, Instant};

use hugetools_model::{Machine, Root};

use super::prepare;
use super::support::live::{Live, machine};
use super::way::Way;

/// The machine, until the end of a turn; then the pool is as it was.
pub(crate) struct Pool {
    /// Nobody else may touch the pool meanwhile; root only.
    live: Option<Live>,
    mib: u64,
    /// How long others had it first.
    pub(crate) waited: Duration,
}

impl Pool {
    /// Waits for the machine.
    pub(crate) fn take(mib: u64) -> Pool {
        let is_root = nix::unistd::geteuid().is_root();
        let before = Instant::now();
        let live = is_root.then(|| machine("cargo bench")).flatten();
        Pool {
            live,
            mib,
            waited: before.elapsed(),
        }
    }

    /// Fills the pool or empties it, as a way needs it, with pages that have
    /// been touched before; such are the other free pages then, too.
    pub(crate) fn prepare(&self, way: Way) -> Result<(), String> {
        self.warm();
        self.set(way)?;
        self.warm();
        Ok(())
    }

    /// Touches as much memory as the pool has, and gives it back. Where that
    /// fails times are less even, no more.
    pub(crate) fn warm(&self) {
        if let Some(warmer) = prepare::warmer() {
            let _ = prepare::clean(&warmer.display().to_string())
                .arg(self.mib.to_string())
                .output();
        }
    }

    fn set(&self, way: Way) -> Result<(), String> {
        let Some(live) = &self.live else {
            return match way {
                Way::Plain | Way::ThpTunable => Ok(()),
                Way::OursWithout | Way::Auto if is_empty() => Ok(()),
                _ => Err("only root can make or empty a pool".to_owned()),
            };
        };
        let amount = match way.needs_pool() {
            true => format!("DEFAULT:{}MB", self.mib),
            false => "DEFAULT:0".to_owned(),
        };
        let both = ["--pool-pages-min", &amount, "--pool-pages-max", &amount];
        let ran = live.hugeadm(&both);
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

/// Whether the pool has no page to give.
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
