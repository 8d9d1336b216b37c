//! A process's host, its rank in a parallel job and its parent.

use core::fmt::{self, Write};

use hugetools_kernfs::{environ, number};

use super::format::{Lossy, write_optional};

/// Distinguishes the processes of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The name of the machine.
    pub host: Option<&'a [u8]>,
    /// The rank of the process in its job.
    pub rank: Option<u32>,
    /// The parent, or the process that adopted this one.
    pub parent: Option<u32>,
}

/// Variables that hold the rank: Open MPI, PMIx, MPICH and Intel MPI, MVAPICH, PALS,
/// Flux, Slurm. Slurm comes last: under another launcher its rank is that of the launcher.
const RANKS: [&str; 7] = [
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "PALS_RANKID",
    "FLUX_TASK_RANK",
    "SLURM_PROCID",
];

/// Returns the rank in an environment, whose entries end in NUL bytes.
pub fn rank(environment: &[u8]) -> Option<u32> {
    RANKS.iter().find_map(|name| {
        let value = environ::variable(environment, name)?;
        let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let number = number::leading(value).filter(|_| is_number)?;
        u32::try_from(number).ok()
    })
}

impl Origin<'_> {
    /// Writes the fields of a JSON object.
    pub(super) fn write_json(&self, out: &mut impl Write) -> fmt::Result {
        out.write_str("\"host\":")?;
        write_optional(out, self.host)?;
        for (name, number) in [("rank", self.rank), ("parent", self.parent)] {
            match number {
                Some(number) => write!(out, ",\"{name}\":{number}")?,
                None => write!(out, ",\"{name}\":null")?,
            }
        }
        Ok(())
    }

    /// Writes rank and host as text, after the process ID.
    pub(super) fn write_words(&self, out: &mut impl Write) -> fmt::Result {
        match (self.rank, self.host) {
            (Some(rank), Some(host)) => write!(out, ", rank {rank} on {}", Lossy(host)),
            (Some(rank), None) => write!(out, ", rank {rank}"),
            (None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_each_launcher() {
        assert_eq!(rank(b"A=1\0PMI_RANK=3\0"), Some(3));
        assert_eq!(rank(b"SLURM_PROCID=0\0OMPI_COMM_WORLD_RANK=12\0"), Some(12));
        assert_eq!(rank(b"SLURM_PROCID=7\0"), Some(7));
        for odd in [
            "",
            "PMI_RANK=\0",
            "PMI_RANK=-1\0",
            "PMI_RANK=1x\0",
            "XPMI_RANK=1\0",
        ] {
            assert_eq!(rank(odd.as_bytes()), None, "{odd}");
        }
    }
}
