//! The machine while a workload runs.

use super::prepare::warm_up;
use super::support::live::{Live, machine};
use super::work::Work;

/// The machine, restored at the end.
pub(crate) struct Pool {
    _live: Option<Live>,
    /// The pool's name in `--compare`, such as 2MB.
    pub(crate) way: String,
}

impl Pool {
    /// Waits for the machine, fills the pool and applies the workload's settings, if we are root.
    pub(crate) fn take(work: &Work, mib: u64) -> Result<Pool, String> {
        let is_root = nix::unistd::geteuid().is_root();
        let Some(live) = is_root.then(|| machine("cargo bench")).flatten() else {
            return Ok(Pool {
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
        Ok(Pool {
            _live: Some(live),
            way: size.to_string(),
        })
    }
}
