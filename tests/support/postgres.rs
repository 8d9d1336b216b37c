//! PostgreSQL as the distribution installs it.

use std::path::PathBuf;

use nix::unistd::User;

use super::live::skip;

/// Returns the directory of its programs and its user, or reports a skipped test.
pub(crate) fn installed(test: &str) -> Option<(PathBuf, User)> {
    let bins = ["17", "16", "15", "14", "13"]
        .map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")));
    let bin = bins.into_iter().find(|bin| bin.join("pg_ctl").exists());
    let user = User::from_name("postgres").ok().flatten();
    match bin.zip(user) {
        None => skip(test, "there is no PostgreSQL"),
        found => found,
    }
}
