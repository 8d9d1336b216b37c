//! hugectl, from its arguments to the program that it starts.
//!
//! ```text
//! argv --args--> Args --request--> Request
//!   Run:    target (look), locate and bundle (library), parts (segments),
//!           kernel (preflight's facts), prepare (the page cache): what they
//!           change is behind changes, made by apply or looked ahead by dry_run
//!           --plan--> Plan --> print as shell | exec
//!           with a report: watch
//!   Status: status --> Proof --> table | JSON
//!   Adopt:  adopt (probe --plan--> steps --apply--> report)
//! ```
//!
//! `plan` is a pure function of what was found. Nothing here prints: what
//! there is to say comes back as [`note::Note`]s and [`failure::Failure`]s.

mod accounts;
pub mod adopt;
mod allocator;
pub mod apply;
pub mod args;
pub mod bundle;
pub mod caller;
pub mod changes;
pub mod dry_run;
pub mod effects;
pub mod emit;
pub mod engine;
pub mod exec;
pub mod explain;
pub mod explore;
pub mod failure;
mod files;
pub mod kernel;
pub mod layout;
mod ldcache;
pub mod live;
mod loader;
pub mod locate;
pub mod messages;
mod needed;
pub mod note;
pub mod parts;
pub mod plan;
pub mod preflight;
mod preload;
pub mod prepare;
mod private;
mod ranges;
pub mod request;
pub mod runtimes;
mod script;
pub mod segments;
mod shell;
pub mod shortfall;
mod starter;
pub mod status;
mod subject;
pub mod surroundings;
mod sys;
pub mod target;
mod text_files;
pub mod thp_policy;
mod tunables;
pub mod watch;
mod wrapped;
