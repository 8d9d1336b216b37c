//! The huge page pool while a workload runs.

use super::prepare::warm_up;
use super::support::live::{Live, machine};
use super::work::Work;

/// A filled pool, if we are root. The machine is restored when this is dropped.
pub(crate) struct PoolGuard {
    _live: Option<Live>,
    /// The way for `--compare` in place of POOL: such as 2MB, or `heap` if we aren't root.
    pub(crate) way: String,
}

impl PoolGuard {
    /// Waits for the lock of the machine, fills the pool and applies the workload's settings, if we
    /// are root.
    pub(crate) fn take(work: &Work, mib: u64) -> Result<PoolGuard, String> {
        let is_root = nix::unistd::geteuid().is_root();
        let Some(live) = is_root.then(|| machine("cargo bench")).flatten() else {
            return Ok(PoolGuard {
                _live: None,
                way: "heap".to_owned(),
            });
        };
        let (size, amount) = (live.default_size(), format!("DEFAULT:{mib}MB"));
        let pool = ["--pool-pages-min", &amount, "--pool-pages-max", &amount];
        let ran = live.hugeadm(&[&pool[..], work.settings].concat());
        if ran.status != 0 {
            return Err(format!("hugeadm: {}", ran.err.trim_end()));
        }
        warm_up(mib);
        Ok(PoolGuard {
            _live: Some(live),
            way: size.to_string(),
        })
    }
}
