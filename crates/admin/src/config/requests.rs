//! Turns configuration files into a request. Most keys become options, and so share their grammar,
//! rounding and checks. Messages name the key instead of the option.

mod mounts;
mod pools;
pub(super) mod settings;

use std::collections::BTreeMap;

use hugetools_model::{Machine, PageSize};

use super::source::{Key, Source, printable};
use super::when::HostFacts;
use crate::args::Args;
use crate::effects::Effects;
use crate::plan::{self, Plan, Refusal};
use crate::request::{PoolChange, Request, minimum_after};
use crate::step::Step;

/// Plans all files.
pub fn plan(
    sources: &[Source],
    machine: &Machine,
    host: Option<&str>,
    force: bool,
    effects: &mut dyn Effects,
) -> Result<Plan, String> {
    let mut request = request(sources, machine, host, effects)?;
    request.growth.force = force;
    Ok(plan_essential(machine, request))
}

/// Plans a request. Omits its optional pools if memory is insufficient.
fn plan_essential(machine: &Machine, mut request: Request) -> Plan {
    let plan = plan::plan(machine, &request);
    let optional = request.pool_min.iter().filter(|it| it.wish.optional);
    let optional: Vec<PageSize> = optional.map(|change| change.size).collect();
    let (Some(Refusal::Impossible(why) | Refusal::Harmful(why)), false) =
        (&plan.refusal, optional.is_empty())
    else {
        return plan;
    };
    request.pool_min.retain(|change| !change.wish.optional);
    request
        .pool_max
        .retain(|change| !optional.contains(&change.size));
    let mut rest = plan::plan(machine, &request);
    rest.notes
        .push(format!("pools that are not essential are left out: {why}"));
    rest
}

/// Returns the request of all files.
pub fn request(
    sources: &[Source],
    machine: &Machine,
    host: Option<&str>,
    effects: &mut dyn Effects,
) -> Result<Request, String> {
    let mut builder = RequestBuilder {
        facts: HostFacts { host, machine },
        effects,
        request: Request::default(),
        seen: BTreeMap::new(),
    };
    let mut matching = Vec::new();
    for source in sources {
        if builder.facts.matches(source.file.when.as_ref(), source)? {
            matching.push(source);
        }
    }
    let mut files = matching.iter();
    files
        .try_for_each(|source| builder.file(source))
        .map_err(|why| printable(&why))?;
    // The kernel raises vm.min_free_kbytes when a mode switches transparent huge pages on.
    let settings = &mut builder.request.settings;
    settings.sort_by_key(|setting| !matches!(setting.step, Step::SelectWord(_)));
    // A pool that shrinks gives its memory to one that grows.
    let grows = |change: &PoolChange| {
        machine.pool(change.size).is_some_and(|pool| {
            minimum_after(machine, pool, std::iter::once(change)) > pool.minimum()
        })
    };
    builder.request.pool_min.sort_by_key(grows);
    if matching.is_empty() {
        let note = "no file is for this machine: the conditions of [when] don't hold";
        builder.request.notes.push(note.to_owned());
    }
    Ok(builder.request)
}

/// A request under construction.
struct RequestBuilder<'a> {
    facts: HostFacts<'a>,
    effects: &'a mut dyn Effects,
    request: Request,
    /// The settings so far, each with its key.
    seen: BTreeMap<String, Key>,
}

impl RequestBuilder<'_> {
    fn file(&mut self, source: &Source) -> Result<(), String> {
        let file = &source.file;
        for pool in &file.pool {
            if self.facts.matches(pool.when.as_ref(), source)? {
                self.pool(pool, source)?;
            }
        }
        for mount in &file.mount {
            if self.facts.matches(mount.when.as_ref(), source)? {
                self.mount(mount, source)?;
            }
        }
        self.thp(&file.thp, source)?;
        self.limits(file, source)
    }

    /// Refuses a setting that an earlier key set.
    fn once(&mut self, what: &str, key: &Key) -> Result<(), String> {
        match self.seen.insert(what.to_owned(), key.clone()) {
            None => Ok(()),
            Some(before) => Err(format!(
                "{key}: {what} is set in {} already; keep one of them",
                before.place
            )),
        }
    }

    /// Adds the request of one option. In messages, replaces the options in `names` by their keys.
    fn add(&mut self, args: &Args, names: &[(String, Key)]) -> Result<(), String> {
        let all = &mut self.request;
        let before = (
            all.settings.len(),
            all.pool_min.len(),
            all.pool_max.len(),
            all.mounts.len(),
            all.notes.len(),
        );
        let errors = all.add(args, self.facts.machine, self.effects);
        let renamed = |message: &str| {
            let found = names.iter().find_map(|(option, key)| {
                let rest = message.strip_prefix(option.as_str())?;
                Some(format!("{key}{rest}"))
            });
            found.unwrap_or_else(|| message.to_owned())
        };
        if let Some(error) = errors.first() {
            return Err(renamed(error));
        }
        let settings = all.settings[before.0..].iter_mut().map(|it| &mut it.option);
        let minimums = all.pool_min[before.1..].iter_mut().map(|it| &mut it.option);
        let maximums = all.pool_max[before.2..].iter_mut().map(|it| &mut it.option);
        let mounts = all.mounts[before.3..].iter_mut().map(|it| &mut it.option);
        let notes = all.notes[before.4..].iter_mut();
        let groups = [&mut all.shm_group, &mut all.userfaultfd_group];
        let groups = groups.into_iter().flatten().map(|it| &mut it.option);
        for text in settings
            .chain(minimums)
            .chain(maximums)
            .chain(mounts)
            .chain(notes)
            .chain(groups)
        {
            *text = renamed(text);
        }
        Ok(())
    }
}
