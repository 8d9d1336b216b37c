//! Finds which files of a crate use each other, from `use` items and from paths that begin with
//! `crate` or `super`. Ignores test modules and macro arguments.
#![expect(clippy::disallowed_methods, reason = "reads files of its own")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, UseTree};

/// The modules that each module uses.
pub(super) type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Returns the arrows between the files below a crate's `src`, without `lib.rs`.
pub(super) fn arrows(sources: &Path) -> Arrows {
    let files = files(sources, &[]);
    let modules: BTreeSet<String> = files.keys().cloned().collect();
    let known = |(module, path): (&String, &PathBuf)| {
        let text = fs::read_to_string(path).unwrap();
        let file = syn::parse_file(&text).unwrap();
        let mut reader = Reader {
            me: module.split("::").map(str::to_owned).collect(),
            modules: &modules,
            known: BTreeSet::new(),
        };
        reader.visit_file(&file);
        (module.clone(), reader.known)
    };
    files.iter().map(known).collect()
}

fn files(folder: &Path, above: &[String]) -> BTreeMap<String, PathBuf> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = [above, std::slice::from_ref(&name)].concat();
        if path.is_dir() {
            all.extend(files(&path, &module));
        } else if path.extension().is_some_and(|end| end == "rs") && name != "lib" {
            all.insert(module.join("::"), path);
        }
    }
    all
}

struct Reader<'a> {
    me: Vec<String>,
    modules: &'a BTreeSet<String>,
    known: BTreeSet<String>,
}

impl Reader<'_> {
    /// Records the file of a path, unless it is this one.
    fn note(&mut self, path: &[String]) {
        let Some(absolute) = self.absolute(path) else {
            return;
        };
        let all = (1..=absolute.len()).rev();
        let mut prefixes = all.map(|len| absolute[..len].join("::"));
        if let Some(found) = prefixes.find(|module| self.modules.contains(module)) {
            if found != self.me.join("::") {
                self.known.insert(found);
            }
        }
    }

    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let first = path.first()?.as_str();
        match first {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([&self.me, &path[1..]].concat()),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                let base = self.me.get(..self.me.len().checked_sub(up)?)?;
                Some([base, &path[up..]].concat())
            }
            _ if path.len() > 1 => {
                let below = [&self.me[..], &[first.to_owned()]].concat().join("::");
                let is_below = self.modules.contains(&below);
                is_below.then(|| [&self.me, path].concat())
            }
            _ => None,
        }
    }

    fn note_tree(&mut self, tree: &UseTree, above: &[String]) {
        match tree {
            UseTree::Path(path) => {
                let path_here = [above, &[path.ident.to_string()]].concat();
                self.note_tree(&path.tree, &path_here);
            }
            UseTree::Name(name) if name.ident == "self" => self.note(above),
            UseTree::Name(name) => self.note(&[above, &[name.ident.to_string()]].concat()),
            UseTree::Rename(name) => self.note(&[above, &[name.ident.to_string()]].concat()),
            UseTree::Glob(_) => self.note(above),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.note_tree(tree, above);
                }
            }
        }
    }
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        attribute.path().is_ident("cfg") && list.is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        match item {
            Item::Mod(ItemMod { attrs, .. }) if is_of_tests(attrs) => {}
            Item::Use(item) => self.note_tree(&item.tree, &[]),
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let parts = path.segments.iter().map(|part| part.ident.to_string());
        let parts: Vec<String> = parts.collect();
        if ["crate", "super"].contains(&parts[0].as_str()) {
            self.note(&parts);
        }
        visit::visit_path(self, path);
    }
}
