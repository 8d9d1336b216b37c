//! pagesize on recorded machines (transcripts) and on this machine.

use crate::support::tool::Run;
use crate::support::{session, tool};

#[test]
fn transcripts() {
    session::run_all("pagesize");
}

#[test]
fn this_machine() {
    let base = tool::sh("getconf PAGESIZE").out;
    let ran = tool::tool("pagesize").ran();
    assert_eq!((ran.status, ran.out), (0, base));
}
