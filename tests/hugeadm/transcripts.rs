//! Output and effects of hugeadm on recorded machines.

use crate::support::session;

#[test]
fn transcripts() {
    session::run_all("hugeadm");
}
