//! Counts page walks of the program and its children in user mode (`perf_event_open(2)`): misses of
//! the data TLB by loads, and of the instruction TLB.

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult};
use perf_event::{Builder, Counter};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Walks {
    pub(crate) data: u64,
    pub(crate) instructions: u64,
}

/// The counters of this process, which its children inherit.
#[derive(Debug)]
pub(crate) struct Counters {
    data: Counter,
    instructions: Counter,
}

impl Counters {
    /// Opens and starts them.
    pub(crate) fn open() -> Result<Counters, String> {
        let open = |which| {
            let event = Cache {
                which,
                operation: CacheOp::READ,
                result: CacheResult::MISS,
            };
            let mut counter = Builder::new(event)
                .observe_self()
                .any_cpu()
                .inherit(true)
                .build()?;
            counter.enable()?;
            Ok(counter)
        };
        let opened = open(CacheId::DTLB).and_then(|data| Ok((data, open(CacheId::ITLB)?)));
        match opened {
            Ok((data, instructions)) => Ok(Counters { data, instructions }),
            Err(error) => Err(explain(&error)),
        }
    }

    pub(crate) fn read(&mut self) -> Walks {
        Walks {
            data: self.data.read().unwrap_or(0),
            instructions: self.instructions.read().unwrap_or(0),
        }
    }
}

/// Returns the misses since `before`.
pub(crate) fn since(counters: Option<&mut Counters>, before: Option<Walks>) -> Walks {
    let (Some(counters), Some(before)) = (counters, before) else {
        return Walks::default();
    };
    let now = counters.read();
    Walks {
        data: now.data.saturating_sub(before.data),
        instructions: now.instructions.saturating_sub(before.instructions),
    }
}

fn explain(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "this machine has no counters for them".to_owned()
        }
        Some(libc::EACCES | libc::EPERM) => {
            "perf_event_open is not permitted (sysctl kernel.perf_event_paranoid=2 permits it)"
                .to_owned()
        }
        _ => format!("perf_event_open: {error}"),
    }
}
