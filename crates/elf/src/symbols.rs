//! Looks up symbols that a file defines or refers to.

use object::elf::{self, Sym32, Sym64};
use object::read::elf::Sym;
use object::{Endianness, pod};

use crate::error::ElfError;
use crate::file::{Elf, Tables};
use crate::header::Place;
use crate::ident::Class;
use crate::source::Source;

const SYMBOLS: &str = "symbol table";
const STRINGS: &str = "string table";
const HASH: &str = "symbol hash table";

/// Maximum number of symbols. Only a malicious file has more.
const MAX_SYMBOLS: u64 = 1 << 22;

/// Maximum number of symbols in a hash chain; longer ones are an error.
const MAX_CHAIN: u32 = 1 << 14;

/// A decoded symbol.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    name: u32,
    defined: bool,
    global: bool,
}

impl<S: Source> Elf<S> {
    /// Whether the file exports the symbol.
    ///
    /// # Errors
    ///
    /// When the tables are invalid.
    pub fn defines(&self, name: &str) -> Result<bool, ElfError> {
        let Some(tables) = self.tables() else {
            return Ok(false);
        };
        let name = name.as_bytes();
        let found = match tables.gnu_hash {
            0 => {
                let mut all = self.all(&tables, self.count(&tables)?)?.into_iter();
                let is_it = |symbol: &Symbol| {
                    symbol.defined && self.is_named(&tables, *symbol, name).unwrap_or(false)
                };
                all.find(is_it)
            }
            gnu_hash => self.find_by_gnu_hash(&tables, gnu_hash, name)?,
        };
        Ok(found.is_some_and(|symbol| symbol.defined && symbol.global))
    }

    /// Returns the first wanted symbol that the file refers to without defining it.
    ///
    /// # Errors
    ///
    /// When the tables are invalid.
    pub fn refers_to(
        &self,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Vec<u8>>, ElfError> {
        let Some(tables) = self.tables() else {
            return Ok(None);
        };
        let place = self.place(tables.strings, STRINGS)?;
        let len = tables.strings_len.min(place.len);
        let strings = self.reader.bytes(place.offset, len, STRINGS)?;
        let count = self.count(&tables)?;
        let symbols = self.all(&tables, count)?.into_iter();
        let undefined = symbols.filter(|symbol| !symbol.defined);
        let mut names = undefined.filter_map(|symbol| {
            let name = strings.get(symbol.name as usize..)?;
            name.split(|byte| *byte == 0).next()
        });
        Ok(names.find(|name| is_wanted(name)).map(<[u8]>::to_vec))
    }

    fn tables(&self) -> Option<Tables> {
        let tables = self.dynamic()?.tables;
        (tables.symbols != 0 && tables.strings != 0).then_some(tables)
    }

    fn place(&self, address: u64, what: &'static str) -> Result<Place, ElfError> {
        self.headers
            .place_of(address)
            .ok_or(ElfError::Invalid(what))
    }

    fn symbol_size(&self) -> u64 {
        match self.ident().class {
            Class::Elf32 => size_of::<Sym32<Endianness>>() as u64,
            Class::Elf64 => size_of::<Sym64<Endianness>>() as u64,
        }
    }

    fn word(&self, address: u64) -> Result<u32, ElfError> {
        let place = self.place(address, HASH)?;
        let bytes = self.reader.bytes(place.offset, 4, HASH)?;
        let bytes = bytes
            .try_into()
            .map_err(|_bytes| ElfError::Truncated(HASH))?;
        Ok(match self.endian() {
            Endianness::Little => u32::from_le_bytes(bytes),
            Endianness::Big => u32::from_be_bytes(bytes),
        })
    }

    /// The word `index` of an array of words.
    fn item(&self, array: u64, index: u64) -> Result<u32, ElfError> {
        let into = index.checked_mul(4).ok_or(ElfError::Invalid(HASH))?;
        self.word(array.checked_add(into).ok_or(ElfError::Invalid(HASH))?)
    }

    /// Reads `count` symbols. With a count of 0, reads up to the string table,
    /// because every linker places the symbols before it.
    fn all(&self, tables: &Tables, count: u64) -> Result<Vec<Symbol>, ElfError> {
        let size = self.symbol_size();
        let count = match count {
            0 => tables.strings.saturating_sub(tables.symbols) / size,
            count => count,
        };
        if count > MAX_SYMBOLS {
            return Err(ElfError::TooLarge(SYMBOLS));
        }
        let place = self.place(tables.symbols, SYMBOLS)?;
        let len = (count * size).min(place.len);
        let bytes = self.reader.up_to(place.offset, len, SYMBOLS)?;
        Ok(match self.ident().class {
            Class::Elf32 => plain::<Sym32<Endianness>>(&bytes, self.endian()),
            Class::Elf64 => plain::<Sym64<Endianness>>(&bytes, self.endian()),
        })
    }

    fn symbol(&self, tables: &Tables, index: u32) -> Result<Symbol, ElfError> {
        let into = u64::from(index) * self.symbol_size();
        let address = tables
            .symbols
            .checked_add(into)
            .ok_or(ElfError::Invalid(SYMBOLS))?;
        let at = Tables {
            symbols: address,
            ..*tables
        };
        let one = self.all(&at, 1)?;
        one.first().copied().ok_or(ElfError::Truncated(SYMBOLS))
    }

    fn is_named(&self, tables: &Tables, symbol: Symbol, name: &[u8]) -> Result<bool, ElfError> {
        let at = u64::from(symbol.name);
        let address = tables
            .strings
            .checked_add(at)
            .ok_or(ElfError::Invalid(STRINGS))?;
        let place = self.place(address, STRINGS)?;
        let found = self
            .reader
            .up_to(place.offset, name.len() as u64 + 1, STRINGS)?;
        Ok(found.split_last() == Some((&0, name)))
    }

    /// Looks up a name by `DT_GNU_HASH`: four words, a Bloom filter, buckets,
    /// chains.
    fn find_by_gnu_hash(
        &self,
        tables: &Tables,
        at: u64,
        name: &[u8],
    ) -> Result<Option<Symbol>, ElfError> {
        let gnu = self.gnu_hash(at)?;
        let hash = elf::gnu_hash(name);
        if gnu.buckets_len == 0 {
            return Ok(None);
        }
        let mut index = self.item(gnu.buckets, u64::from(hash % gnu.buckets_len))?;
        if index < gnu.first {
            return Ok(None);
        }
        for _ in 0..MAX_CHAIN {
            let chain = self.item(gnu.chains, u64::from(index - gnu.first))?;
            if chain | 1 == hash | 1 {
                let symbol = self.symbol(tables, index)?;
                if self.is_named(tables, symbol, name)? {
                    return Ok(Some(symbol));
                }
            }
            if chain & 1 == 1 {
                return Ok(None);
            }
            index = index.checked_add(1).ok_or(ElfError::Invalid(HASH))?;
        }
        Err(ElfError::Invalid(HASH))
    }

    fn gnu_hash(&self, at: u64) -> Result<GnuHash, ElfError> {
        let (buckets_len, first, bloom_len) =
            (self.item(at, 0)?, self.item(at, 1)?, self.item(at, 2)?);
        let bloom_word = match self.ident().class {
            Class::Elf32 => 4,
            Class::Elf64 => 8,
        };
        let invalid = ElfError::Invalid(HASH);
        let buckets = at.checked_add(16 + u64::from(bloom_len) * bloom_word);
        let chains = buckets.and_then(|buckets| buckets.checked_add(u64::from(buckets_len) * 4));
        match (buckets, chains) {
            (Some(buckets), Some(chains)) => Ok(GnuHash {
                buckets_len,
                first,
                buckets,
                chains,
            }),
            _ => Err(invalid),
        }
    }

    /// The number of symbols; 0 if no hash table tells.
    fn count(&self, tables: &Tables) -> Result<u64, ElfError> {
        if tables.hash != 0 {
            return Ok(u64::from(self.item(tables.hash, 1)?));
        }
        if tables.gnu_hash == 0 || tables.strings > tables.symbols {
            return Ok(0);
        }
        // Undefined symbols precede the hashed ones.
        let gnu = self.gnu_hash(tables.gnu_hash)?;
        Ok(u64::from(gnu.first))
    }
}

/// A parsed `DT_GNU_HASH` table.
#[derive(Debug, Clone, Copy)]
struct GnuHash {
    buckets_len: u32,
    /// The index of the first hashed symbol.
    first: u32,
    buckets: u64,
    chains: u64,
}

fn plain<Y: Sym<Endian = Endianness>>(bytes: &[u8], endian: Endianness) -> Vec<Symbol> {
    let count = bytes.len() / size_of::<Y>();
    let Ok((symbols, _)) = pod::slice_from_bytes::<Y>(bytes, count) else {
        return Vec::new();
    };
    let plain = |symbol: &Y| Symbol {
        name: symbol.st_name(endian),
        defined: symbol.st_shndx(endian) != elf::SHN_UNDEF,
        global: symbol.st_bind() != elf::STB_LOCAL,
    };
    symbols.iter().map(plain).collect()
}
