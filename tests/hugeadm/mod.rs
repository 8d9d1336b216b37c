//! Tests of hugeadm: on recorded, simulated, virtual and live machines.

mod apply;
mod boot;
mod bug_report;
mod concurrent;
mod dry_run;
mod explain;
mod libhugetlbfs;
mod live;
mod nodes;
mod options;
mod output;
mod plan;
mod properties;
mod stats;
mod world;
