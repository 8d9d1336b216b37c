//! Helpers that several test modules share.

pub(crate) mod bless;
pub(crate) mod cpio;
pub(crate) mod empty_pool;
pub(crate) mod guest;
pub(crate) mod libhugetlbfs;
pub(crate) mod live;
pub(crate) mod needs;
pub(crate) mod open_ended;
pub(crate) mod postgres;
pub(crate) mod program;
pub(crate) mod restore;
pub(crate) mod running;
pub(crate) mod session;
pub(crate) mod tool;
pub(crate) mod traced;
pub(crate) mod tree;

/// Configures a property test: the number of cases, and no file of failed cases in the project.
pub(crate) fn cases(cases: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config {
        failure_persistence: None,
        ..proptest::test_runner::Config::with_cases(cases)
    }
}
