//! The process that warns about shortfalls: hugectl, or the library in a process.

use hugetools_contract::env::{self, Fallback};

use super::Maker;
use crate::probe::Findings;
use crate::probe::heap_engine::Engine;
use crate::say::subject::Subject;

impl Maker<'_> {
    /// Sets the process that warns; none if hugectl has warned about all segments.
    pub(super) fn choose_warner(&mut self, warned: Subject) {
        let Findings { served, kernel, .. } = self.findings;
        let heap = served.heap.is_some() && self.findings.decision.engine == Engine::Arena;
        let on_pools = Subject::HEAP.when(heap)
            | Subject::TEXT.when(served.text.is_some())
            | Subject::DATA.when(served.data.is_some());
        let on_thp =
            Subject::ANON.when(served.anon.is_some()) | Subject::STACK.when(served.stack.is_some());
        if (on_pools | on_thp).is_none() {
            return;
        }
        // Unless hugectl has warned about all of these, the library may learn more and warn.
        let has_news = !warned.contains(on_thp);
        let is_silent = match on_pools.is_none() {
            true => !has_news,
            false => is_warned(warned, on_pools),
        };
        if !is_silent {
            // A left-out program doesn't warn; a child with huge pages does.
            if !self.is_left_out {
                self.set_process(env::PID);
            }
            return;
        }
        self.set(env::PID, "0");
        // If the program disables transparent huge pages, the library corrects hugectl's warning.
        let is_announced = served.fallback == Fallback::Thp && kernel.serves_private();
        if (is_announced || has_news) && self.run.shm.is_none() {
            self.set_process(env::STARTER);
        }
    }
}

/// Whether `warned` has the heap if `on_pools` does, and a segment of the file if `on_pools` does.
fn is_warned(warned: Subject, on_pools: Subject) -> bool {
    let heap = !on_pools.contains(Subject::HEAP) || warned.contains(Subject::HEAP);
    let of_file = !on_pools.meets(Subject::OF_FILE) || warned.meets(Subject::OF_FILE);
    heap && of_file
}
