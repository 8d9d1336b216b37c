//! What is done to programs that run already.

use clap::Args;

use super::given::OF_PID;

/// What is done to programs that run already.
#[derive(Debug, Args)]
#[command(next_help_heading = "Programs that run already")]
pub struct Running {
    /// Put the memory of running programs on transparent huge pages: by number or
    /// by name; their heap, stack, bss and other private memory, or those of
    /// --text, --data, --bss, --heap, --stack, --shm and --anon that are given
    #[arg(
        long, group = OF_PID,
        value_name = "PID|NAME[,...]",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub pid: Vec<String>,

    /// With --pid: take at most so much of one CPU; 25 by default
    #[arg(
        long, group = OF_PID, value_name = "PERCENT",
        value_parser = clap::value_parser!(u8).range(1..=100),
    )]
    pub budget: Option<u8>,

    /// With --pid: leave a huge page of which less than so much is touched; 50 by
    /// default
    #[arg(
        long, group = OF_PID, value_name = "PERCENT",
        value_parser = clap::value_parser!(u8).range(1..=100),
    )]
    pub touched: Option<u8>,

    /// With --pid: the processes that these have started, too
    #[arg(long, group = OF_PID)]
    pub children: bool,

    /// Not possible: says so, and why it is not needed
    #[arg(long, hide = true)]
    pub undo: bool,
}
