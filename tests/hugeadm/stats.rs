//! `--stats`: the kernel's counters, and memory that can be allocated.

mod metrics;

use serde_json::Value;

use crate::support::live::machine;

/// At most 64 of the pages reported as available are allocated, and the kernel counts them.
#[test]
fn available_memory_can_be_allocated() {
    let Some(live) = machine("stats") else {
        return;
    };
    let size = live.default_size().get().to_string();
    let stats = || -> Value {
        let ran = live.hugeadm(&["--stats", "--json"]);
        assert_eq!(ran.status, 0, "{ran:?}");
        serde_json::from_str(&ran.out).unwrap()
    };
    let made = |stats: &Value| {
        let mut events = stats["events"].as_array().unwrap().iter();
        let found = events.find(|event| event["event"] == "htlb_buddy_alloc_success");
        found.unwrap()["boot"].as_u64().unwrap()
    };
    live.set_pool(0);
    let before = stats();
    let available = before["available"][&size].as_u64().unwrap();
    assert!(available > 0, "{before}");
    let pages = available.min(64);
    live.set_pool(pages);
    assert!(made(&stats()) >= made(&before) + pages, "{available}");
}
