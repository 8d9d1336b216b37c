//! Turns the file into requests: its pools into the specifications of the options, so that
//! grammar, rounding and checks are theirs.

use std::collections::BTreeMap;
use std::time::Duration;

use hugetools_model::memory::sysctl;
use hugetools_model::units::size::Quantity;
use hugetools_model::{KPath, Machine, PageSize};
use toml::Spanned;

use super::source::{Place, Source};
use super::table::{Amount, Memory, Mount, Pool, Shm, Thp, Try};
use super::when::Here;
use crate::args::{Args, Mounts, mount_mode, mount_size};
use crate::effects::Effects;
use crate::plan::{self, Plan, Refusal};
use crate::request::{self, PoolChange, Request, Setting, SettingValue, Wish};

/// Plans all files.
///
/// # Errors
/// The first mistake, with its place.
pub fn plan(
    sources: &[Source],
    machine: &Machine,
    host: Option<&str>,
    force: bool,
    effects: &mut dyn Effects,
) -> Result<Plan, String> {
    let mut all = Plan::default();
    let mut requests = requests(sources, machine, host, effects)?;
    requests
        .iter_mut()
        .for_each(|request| request.growth.force = force);
    for request in requests {
        let plan = plan_essential(machine, request);
        all.notes.extend(plan.notes);
        all.refusal = all.refusal.or(plan.refusal);
        all.tasks.extend(plan.tasks);
    }
    Ok(all)
}

/// Plans a request; without its optional pools if there is no memory for them.
fn plan_essential(machine: &Machine, mut request: Request) -> Plan {
    let plan = plan::plan(machine, &request);
    let optional = request
        .pool_min
        .iter()
        .filter(|change| change.wish.optional);
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

/// Returns the request for everything but mounts, and one for each set of mounts.
///
/// # Errors
/// The first mistake, with its place.
pub fn requests(
    sources: &[Source],
    machine: &Machine,
    host: Option<&str>,
    effects: &mut dyn Effects,
) -> Result<Vec<Request>, String> {
    let here = Here { host, machine };
    let mut making = Making {
        here,
        args: Args::default(),
        origins: Vec::new(),
        settings: Vec::new(),
        wishes: [Vec::new(), Vec::new()],
        maxima: Vec::new(),
        mounts: Vec::new(),
        seen: BTreeMap::new(),
    };
    for source in sources {
        if making.here.is(source.file.when.as_ref(), source)? {
            making.source(source)?;
        }
    }
    making.finish(effects)
}

/// The place and the text behind an option.
struct Origin {
    option: String,
    place: Place,
    text: String,
}

/// What follows the minimum of a pool.
struct Maximum {
    size: String,
    given: Option<(String, Place)>,
    label: String,
}

struct Making<'a> {
    here: Here<'a>,
    args: Args,
    origins: Vec<Origin>,
    settings: Vec<Setting>,
    /// Those of the minimums, and of the spreads.
    wishes: [Vec<Wish>; 2],
    maxima: Vec<Maximum>,
    mounts: Vec<(Mounts, Place)>,
    /// What was set already, and where.
    seen: BTreeMap<String, Place>,
}

impl Making<'_> {
    fn source(&mut self, source: &Source) -> Result<(), String> {
        let file = &source.file;
        for pool in &file.pool {
            if self.here.is(pool.when.as_ref(), source)? {
                self.pool(pool, source)?;
            }
        }
        for mount in &file.mount {
            if self.here.is(mount.when.as_ref(), source)? {
                self.mount(mount, source)?;
            }
        }
        if let Some(thp) = &file.thp {
            self.once("[thp]", source.place(&thp.span()))?;
            self.thp(thp.get_ref());
        }
        if let Some(shm) = &file.shm {
            self.once("[shm]", source.place(&shm.span()))?;
            self.shm(shm.get_ref(), source)?;
        }
        if let Some(table) = &file.userfaultfd {
            self.once("[userfaultfd]", source.place(&table.span()))?;
            let group = &table.get_ref().group;
            let name = &group.get_ref().0;
            self.args.limits.set_userfaultfd_group = Some(name.clone());
            self.origin(
                "--set-userfaultfd-group",
                name,
                "group",
                source.place(&group.span()),
            );
        }
        if let Some(memory) = &file.memory {
            self.once("[memory]", source.place(&memory.span()))?;
            self.memory(memory.get_ref(), source)?;
        }
        Ok(())
    }

    /// Refuses what was set before.
    fn once(&mut self, what: &str, place: Place) -> Result<(), String> {
        match self.seen.get(what) {
            Some(before) => Err(format!("{place}: {what} is set in {before} already")),
            None => {
                self.seen.insert(what.to_owned(), place);
                Ok(())
            }
        }
    }

    fn origin(&mut self, option: &str, value: &str, key: &str, place: Place) {
        let amount = value.rsplit_once(':').map_or(value, |(_, amount)| amount);
        self.origins.push(Origin {
            option: format!("{option} {}", request::shown(value)),
            text: format!("{key} = {amount:?}"),
            place,
        });
    }

    fn pool(&mut self, pool: &Pool, source: &Source) -> Result<(), String> {
        let size = pool.size.get_ref();
        let place = source.place(&pool.size.span());
        let known = match (size.as_str(), self.here.machine.default_pool()) {
            ("DEFAULT", Some(pool)) => Some(pool.size),
            _ => size.parse::<PageSize>().ok(),
        };
        let name = known.map_or_else(|| size.clone(), |size| size.to_string());
        self.once(&format!("the pool of {name}"), place.clone())?;
        let given = [
            pool.min.is_some(),
            pool.nodes.is_some(),
            pool.spread.is_some(),
        ];
        if given.iter().filter(|given| **given).count() > 1 {
            return Err(format!(
                "{place}: write one of min, nodes and spread for a pool"
            ));
        }
        if pool.weights.is_some() && pool.spread.is_none() {
            return Err(format!(
                "{place}: weights divide a spread: write spread = AMOUNT"
            ));
        }
        let wish = Wish {
            hard: pool.r#try == Some(Try::Hard),
            time: self.time(pool.r#for.as_ref(), source)?,
            optional: !pool.essential,
        };
        if let Some(amount) = &pool.min {
            self.minimum("min", size, amount, wish, source)?;
        }
        if let Some(nodes) = &pool.nodes {
            for (node, amount) in nodes.get_ref() {
                let amount = Spanned::new(nodes.span(), amount.clone());
                self.minimum(node, &format!("{size}@{node}"), &amount, wish, source)?;
            }
        }
        self.spread(pool, size, wish, source)?;
        self.maximum(pool, size, &place, source)
    }

    fn spread(
        &mut self,
        pool: &Pool,
        size: &str,
        wish: Wish,
        source: &Source,
    ) -> Result<(), String> {
        if let Some(spread) = &pool.spread {
            let weights = pool.weights.iter().flatten();
            let weights: Vec<String> = weights
                .map(|(node, weight)| format!("{node}*{weight}"))
                .collect();
            let nodes = match weights.is_empty() {
                true => String::new(),
                false => format!("@{}", weights.join(",")),
            };
            let amount = absolute(spread, source, "spread")?;
            let spec = format!("{size}{nodes}:{amount}");
            self.origin(
                "--pool-spread",
                &spec,
                "spread",
                source.place(&spread.span()),
            );
            self.args.pools.pool_spread.push(spec);
            self.wishes[1].push(wish);
        }
        Ok(())
    }

    fn maximum(
        &mut self,
        pool: &Pool,
        size: &str,
        place: &Place,
        source: &Source,
    ) -> Result<(), String> {
        let mut max = None;
        if let Some(amount) = &pool.max {
            let spec = format!("{size}:{}", absolute(amount, source, "max")?);
            let place = source.place(&amount.span());
            self.origin("--pool-pages-max", &spec, "max", place.clone());
            self.args.pools.pool_pages_max.push(spec.clone());
            max = Some((format!("--pool-pages-max {spec}"), place));
        }
        let (size, label) = (size.to_owned(), format!("{place}: size = {size:?}"));
        self.maxima.push(Maximum {
            size,
            given: max,
            label,
        });
        Ok(())
    }

    fn minimum(
        &mut self,
        key: &str,
        scope: &str,
        amount: &Spanned<Amount>,
        wish: Wish,
        source: &Source,
    ) -> Result<(), String> {
        let spec = format!("{scope}:{}", absolute(amount, source, key)?);
        self.origin("--pool-pages-min", &spec, key, source.place(&amount.span()));
        self.args.pools.pool_pages_min.push(spec);
        self.wishes[0].push(wish);
        Ok(())
    }

    fn time(&self, text: Option<&Spanned<String>>, source: &Source) -> Result<Duration, String> {
        let Some(text) = text else {
            return Ok(Duration::ZERO);
        };
        let word = text.get_ref();
        let number = |unit: char| {
            word.strip_suffix(unit)
                .and_then(|number| number.parse().ok())
        };
        let seconds = number('s').or_else(|| number('m').map(|minutes: u64| minutes * 60));
        seconds.map(Duration::from_secs).ok_or_else(|| {
            let place = source.place(&text.span());
            format!("{place}: for = {word:?}: write seconds or minutes, as in \"30s\" or \"5m\"")
        })
    }

    fn mount(&mut self, mount: &Mount, source: &Source) -> Result<(), String> {
        let whom = mount.r#for.get_ref();
        let place = source.place(&mount.r#for.span());
        self.once(&format!("the mount for {whom}"), place.clone())?;
        let mut args = Mounts::default();
        match whom.split_once(':') {
            None if whom == "root" => args.create_mounts = true,
            None if whom == "global" => args.create_global_mounts = true,
            Some(("user", name)) => args.create_user_mounts = Some(name.to_owned()),
            Some(("group", name)) => args.create_group_mounts = Some(name.to_owned()),
            _ => {
                let forms = "\"root\", \"global\", \"user:NAME\" or \"group:NAME\"";
                return Err(format!("{place}: for = {whom:?}: write {forms}"));
            }
        }
        let size = |key: &str, amount: &Option<Spanned<Amount>>| match amount {
            None => Ok(None),
            Some(amount) => mount_size(&amount.get_ref().0).map(Some).map_err(|why| {
                let place = source.place(&amount.span());
                format!("{place}: {key} = {:?}: {why}", amount.get_ref().0)
            }),
        };
        args.max_size = size("max_size", &mount.max_size)?;
        args.min_size = size("min_size", &mount.min_size)?;
        args.max_inodes = mount.max_inodes;
        if let Some(mode) = &mount.mode {
            let checked = mount_mode(mode.get_ref()).map_err(|why| {
                format!(
                    "{}: mode = {:?}: {why}",
                    source.place(&mode.span()),
                    mode.get_ref()
                )
            })?;
            args.mount_mode = Some(checked);
        }
        self.mounts.push((args, place));
        Ok(())
    }

    fn thp(&mut self, thp: &Thp) {
        let args = &mut self.args.thp;
        match thp.enabled.map(super::table::Enabled::word) {
            Some("always") => args.thp_always = true,
            Some("madvise") => args.thp_madvise = true,
            Some(_) => args.thp_never = true,
            None => {}
        }
        args.thp_defrag = thp.defrag.map(|word| word.word().to_owned());
        args.thp_shmem = thp.shmem.map(|word| word.word().to_owned());
        args.thp_use_zero_page = thp.use_zero_page.map(switch);
        args.thp_max_ptes_none = thp.max_ptes_none;
        args.thp_khugepaged_pages = thp.khugepaged_pages;
        args.thp_khugepaged_alloc_sleep = thp.khugepaged_alloc_sleep;
        args.thp_khugepaged_scan_sleep = thp.khugepaged_scan_sleep;
        let sizes = thp.sizes.iter();
        args.thp_size = sizes
            .map(|(size, mode)| format!("{size}:{}", mode.word()))
            .collect();
        let place = self.seen.get("[thp]").cloned();
        for spec in self.args.thp.thp_size.clone() {
            if let Some(place) = &place {
                self.origin("--thp-size", &spec, "sizes", place.clone());
            }
        }
    }

    fn shm(&mut self, shm: &Shm, source: &Source) -> Result<(), String> {
        if let Some(group) = &shm.group {
            let name = &group.get_ref().0;
            self.args.limits.set_shm_group = Some(name.clone());
            self.origin(
                "--set-shm-group",
                name,
                "group",
                source.place(&group.span()),
            );
        }
        match &shm.max {
            Some(max) if max.get_ref().0 == "recommended" => {
                self.args.limits.set_recommended_shmmax = true;
            }
            Some(max) => {
                let bytes = bytes(max, source, "max")?;
                self.set("[shm] max", sysctl::shmmax_path(), bytes);
            }
            None => {}
        }
        Ok(())
    }

    fn memory(&mut self, memory: &Memory, source: &Source) -> Result<(), String> {
        self.args.pools.hvo = memory.hvo.map(switch);
        match &memory.min_free {
            Some(least) if least.get_ref().0 == "recommended" => {
                self.args.limits.set_recommended_min_free_kbytes = true;
            }
            Some(least) => {
                let bytes = bytes(least, source, "min_free")?;
                self.set("[memory] min_free", sysctl::min_free_path(), bytes / 1024);
            }
            None => {}
        }
        Ok(())
    }

    fn set(&mut self, option: &str, path: KPath, value: u64) {
        self.settings.push(Setting {
            option: option.to_owned(),
            path,
            value: SettingValue::Number(value),
            impossible: None,
        });
    }

    fn finish(mut self, effects: &mut dyn Effects) -> Result<Vec<Request>, String> {
        let machine = self.here.machine;
        let mut request =
            Request::new(&self.args, machine, effects).map_err(|errors| self.placed(&errors))?;
        request.settings.append(&mut self.settings);
        let wishes = self.wishes.concat();
        for (change, wish) in request.pool_min.iter_mut().zip(wishes) {
            change.wish = wish;
        }
        self.maxima(&mut request)?;
        let changes = request.pool_min.iter_mut().chain(&mut request.pool_max);
        for change in changes {
            let origin = self
                .origins
                .iter()
                .find(|origin| origin.option == change.option);
            if let Some(origin) = origin {
                change.option = format!("{}: {}", origin.place, origin.text);
            }
        }
        let mut requests = vec![request];
        for (mounts, place) in self.mounts {
            let args = Args {
                mounts,
                ..Args::default()
            };
            let request = Request::new(&args, machine, effects);
            requests.push(request.map_err(|errors| format!("{place}: {}", errors.join("; ")))?);
        }
        Ok(requests)
    }

    /// Says where the first error is.
    fn placed(&self, errors: &[String]) -> String {
        let error = errors.first().map_or("", String::as_str);
        let origin = self
            .origins
            .iter()
            .find(|origin| error.starts_with(&origin.option));
        match origin {
            None => error.to_owned(),
            Some(origin) => {
                let why = error.strip_prefix(&origin.option).unwrap_or(error);
                format!("{}: {}{why}", origin.place, origin.text)
            }
        }
    }

    /// Checks each maximum against its minimum. Without a maximum the overcommit stays.
    fn maxima(&self, request: &mut Request) -> Result<(), String> {
        for maximum in &self.maxima {
            let size = self.size(&maximum.size);
            let Some(pool) = size.and_then(|size| self.here.machine.pool(size)) else {
                continue;
            };
            let changes = request
                .pool_min
                .iter()
                .filter(|change| change.size == pool.size);
            let minimum = request::minimum_after(self.here.machine, pool, changes);
            match &maximum.given {
                Some((option, place)) => {
                    let mut maxima = request.pool_max.iter();
                    let own = maxima.find(|change| change.option == *option);
                    let pages = own.and_then(PoolChange::whole);
                    if pages.is_some_and(|pages| pages < minimum) {
                        return Err(format!(
                            "{place}: max is less than the minimum of {}",
                            minimum.with_noun()
                        ));
                    }
                }
                None => {
                    let Some(overcommit) = pool.overcommit else {
                        continue;
                    };
                    let pages = minimum.checked_add(overcommit).unwrap_or(minimum);
                    request
                        .pool_max
                        .push(PoolChange::to(&maximum.label, pool.size, pages));
                }
            }
        }
        Ok(())
    }

    fn size(&self, text: &str) -> Option<PageSize> {
        match text {
            "DEFAULT" => self.here.machine.default_pool().map(|pool| pool.size),
            _ => text.parse().ok(),
        }
    }
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// Returns an amount that is not relative to the present one.
fn absolute<'a>(
    amount: &'a Spanned<Amount>,
    source: &Source,
    key: &str,
) -> Result<&'a str, String> {
    let text = amount.get_ref().0.as_str();
    match text.starts_with(['+', '-']) {
        false => Ok(text),
        true => Err(format!(
            "{}: {key} = {text:?}: a file has the amount itself, not a change of it",
            source.place(&amount.span())
        )),
    }
}

fn bytes(amount: &Spanned<Amount>, source: &Source, key: &str) -> Result<u64, String> {
    let text = &amount.get_ref().0;
    let wrong = |why: String| {
        let place = source.place(&amount.span());
        format!("{place}: {key} = {text:?}: {why}; write bytes, \"64MB\" or \"recommended\"")
    };
    let quantity: Quantity = text.parse().map_err(|why| wrong(format!("{why}")))?;
    match quantity.plain() {
        Some(bytes) => Ok(bytes),
        None => quantity
            .bytes()
            .map(|bytes| bytes.get())
            .map_err(|why| wrong(format!("{why}"))),
    }
}
