//! `[[mount]]`: sets of mounts.

use toml::Spanned;

use super::RequestBuilder;
use crate::args::{Args, Mounts, mount_mode, mount_size};
use crate::config::source::Source;
use crate::config::table::{Amount, Mount};
use crate::request::page_size;
use crate::step::MountSize;

impl RequestBuilder<'_> {
    pub(super) fn mount(&mut self, mount: &Mount, source: &Source) -> Result<(), String> {
        let set = mount.r#for.get_ref();
        let key = source.key("for", &mount.r#for.span());
        let mut args = Mounts::default();
        let option = match set.split_once(':') {
            None if set == "root" => {
                args.create_mounts = true;
                "--create-mounts".to_owned()
            }
            None if set == "global" => {
                args.create_global_mounts = true;
                "--create-global-mounts".to_owned()
            }
            Some(("user", name)) if !name.is_empty() => {
                args.create_user_mounts = Some(name.to_owned());
                format!("--create-user-mounts {name}")
            }
            Some(("group", name)) if !name.is_empty() => {
                args.create_group_mounts = Some(name.to_owned());
                format!("--create-group-mounts {name}")
            }
            _ => {
                let forms = "\"root\", \"global\", \"user:NAME\" or \"group:NAME\"";
                return Err(format!("{key}: no set of mounts; write {forms}"));
            }
        };
        if let Some(size) = &mount.size {
            let found = page_size(size.get_ref(), self.facts.machine);
            let key = source.key("size", &size.span());
            args.only = Some(found.map_err(|why| format!("{key}: {why}"))?);
        }
        let sizes = self.facts.machine.pools.iter().map(|pool| pool.size);
        let sizes: Vec<_> = sizes
            .filter(|size| args.only.is_none_or(|only| only == *size))
            .collect();
        for size in sizes {
            self.once(&format!("the mount of {size} for {set}"), &key)?;
        }
        let mut names = vec![(option, key)];
        args.max_size = limit("max_size", mount.max_size.as_ref(), source)?;
        args.min_size = limit("min_size", mount.min_size.as_ref(), source)?;
        for (option, name, value, size) in [
            ("--max-size", "max_size", &mount.max_size, args.max_size),
            ("--min-size", "min_size", &mount.min_size, args.min_size),
        ] {
            if let (Some(value), Some(size)) = (value, size) {
                let key = source.key(name, &value.span());
                names.push((format!("{option} {size}"), key));
            }
        }
        args.max_inodes = mount.max_inodes;
        if let Some(mode) = &mount.mode {
            let key = source.key("mode", &mode.span());
            let mode = mount_mode(mode.get_ref());
            args.mount_mode = Some(mode.map_err(|why| format!("{key}: {why}"))?);
        }
        let args = Args {
            mounts: args,
            ..Args::default()
        };
        self.add(&args, &names)
    }
}

fn limit(
    name: &str,
    value: Option<&Spanned<Amount>>,
    source: &Source,
) -> Result<Option<MountSize>, String> {
    let Some(value) = value else { return Ok(None) };
    let key = source.key(name, &value.span());
    let size = mount_size(&value.get_ref().0);
    size.map(Some).map_err(|why| format!("{key}: {why}"))
}
