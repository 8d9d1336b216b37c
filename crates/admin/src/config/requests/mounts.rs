//! `[[mount]]`: sets of mounts.

use super::RequestBuilder;
use crate::args::{Args, Mounts, mount_mode, mount_size};
use crate::config::source::Source;
use crate::config::table::Mount;
use crate::request::page_size;

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
                return Err(format!("{key}: not a set of mounts; write {forms}"));
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
        if let Some(limit) = &mount.max_size {
            let key = source.key("max_size", &limit.span());
            let size = mount_size(&limit.get_ref().0).map_err(|why| format!("{key}: {why}"))?;
            args.max_size = Some(size);
            names.push((format!("--max-size {size}"), key));
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
