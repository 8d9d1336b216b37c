//! A table of dynamic symbols.

use object::elf::{self, Sym32, Sym64};
use object::read::elf::Sym;
use object::{Endianness, pod};

use crate::ident::{Class, Ident};

#[derive(Debug, Default)]
pub(crate) struct Symbols {
    strings: Vec<u8>,
    symbols: Vec<Symbol>,
}

#[derive(Debug)]
struct Symbol {
    /// The offset of its name.
    name: u32,
    is_defined: bool,
    is_global: bool,
}

impl Symbols {
    /// Decodes the entries of a table. Their names are in `strings`.
    pub(crate) fn decode(bytes: &[u8], strings: Vec<u8>, ident: Ident) -> Symbols {
        let symbols = match ident.class {
            Class::Elf32 => decode::<Sym32<Endianness>>(bytes, ident.endian),
            Class::Elf64 => decode::<Sym64<Endianness>>(bytes, ident.endian),
        };
        Symbols { strings, symbols }
    }

    /// Whether a symbol of this name is exported.
    pub(crate) fn defines(&self, name: &str) -> bool {
        let mut exported = self
            .symbols
            .iter()
            .filter(|it| it.is_defined && it.is_global);
        exported.any(|symbol| {
            let rest = self.names_from(symbol);
            let rest = rest.and_then(|rest| rest.strip_prefix(name.as_bytes()));
            rest.is_some_and(|rest| rest.first() == Some(&0))
        })
    }

    /// Returns the name of the first wanted undefined symbol.
    pub(crate) fn refers_to(&self, is_wanted: impl Fn(&[u8]) -> bool) -> Option<&[u8]> {
        let undefined = self.symbols.iter().filter(|symbol| !symbol.is_defined);
        let strings = undefined.filter_map(|symbol| self.names_from(symbol));
        let mut names = strings.filter_map(|strings| strings.split(|byte| *byte == 0).next());
        names.find(|name| is_wanted(name))
    }

    /// Returns the string table from the symbol's name on.
    fn names_from(&self, symbol: &Symbol) -> Option<&[u8]> {
        self.strings.get(usize::try_from(symbol.name).ok()?..)
    }
}

fn decode<Y: Sym<Endian = Endianness>>(bytes: &[u8], endian: Endianness) -> Vec<Symbol> {
    let count = bytes.len() / size_of::<Y>();
    let Ok((symbols, _)) = pod::slice_from_bytes::<Y>(bytes, count) else {
        return Vec::new();
    };
    let symbol = |symbol: &Y| Symbol {
        name: symbol.st_name(endian),
        is_defined: symbol.st_shndx(endian) != elf::SHN_UNDEF,
        is_global: symbol.st_bind() != elf::STB_LOCAL,
    };
    symbols.iter().map(symbol).collect()
}
