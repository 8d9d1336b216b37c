//! Reads functions from an ELF symbol table. The file may have been stripped, packed or damaged,
//! so nothing in it is trusted.

/// A function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function<'a> {
    /// `st_value`, an address without load bias.
    pub addr: u64,
    /// Length in bytes, not 0.
    pub size: u64,
    /// Name, not empty.
    pub name: &'a [u8],
}

const SHT_SYMTAB: u32 = 2;
const SHT_DYNSYM: u32 = 11;

/// Sizes of structures in a 64-bit file.
const FILE_HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;

/// Yields the functions of a native 64-bit file, from its symbol table or, if stripped, from its
/// dynamic symbols.
pub fn functions(file: &[u8]) -> impl Iterator<Item = Function<'_>> {
    let (symbols, names) = tables(file).unwrap_or_default();
    let symbols = symbols.chunks_exact(SYMBOL);
    symbols.filter_map(move |symbol| function(symbol, names))
}

/// The symbol table and its string table.
fn tables(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let native = if cfg!(target_endian = "big") { 2 } else { 1 };
    if !file.starts_with(&[0x7f, b'E', b'L', b'F', 2, native]) || file.len() < FILE_HEADER {
        return None;
    }
    let at = usize::try_from(u64_at(file, 0x28)?).ok()?;
    let count = usize::from(u16_at(file, 0x3c)?);
    let headers = file.get(at..at.checked_add(count * SECTION_HEADER)?)?;
    let of_kind = |kind: u32| {
        let mut headers = headers.chunks_exact(SECTION_HEADER);
        headers.find(|header| u32_at(header, 4) == Some(kind))
    };
    let symbols = of_kind(SHT_SYMTAB).or_else(|| of_kind(SHT_DYNSYM))?;
    let link = usize::try_from(u32_at(symbols, 0x28)?).ok()?;
    let names = headers.chunks_exact(SECTION_HEADER).nth(link)?;
    Some((contents(file, symbols)?, contents(file, names)?))
}

fn contents<'a>(file: &'a [u8], header: &[u8]) -> Option<&'a [u8]> {
    let start = usize::try_from(u64_at(header, 0x18)?).ok()?;
    let len = usize::try_from(u64_at(header, 0x20)?).ok()?;
    file.get(start..start.checked_add(len)?)
}

fn function<'a>(symbol: &[u8], names: &'a [u8]) -> Option<Function<'a>> {
    const STT_FUNC: u8 = 2;
    const STT_GNU_IFUNC: u8 = 10;
    let is_code = matches!(symbol[4] & 0xf, STT_FUNC | STT_GNU_IFUNC);
    let is_defined = u16_at(symbol, 6)? != 0;
    let name = names.get(usize::try_from(u32_at(symbol, 0)?).ok()?..)?;
    let name = &name[..name.iter().position(|byte| *byte == 0)?];
    let function = Function {
        addr: u64_at(symbol, 8)?,
        size: u64_at(symbol, 16)?,
        name,
    };
    (is_code && is_defined && function.size > 0 && !name.is_empty()).then_some(function)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_ne_bytes)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "reads the test itself")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn this_program() -> Vec<u8> {
        std::fs::read("/proc/self/exe").unwrap()
    }

    #[test]
    fn a_program_finds_a_function_of_its_own() {
        let file = this_program();
        let all: Vec<_> = functions(&file).collect();
        let ours = all.iter().find(|function| {
            let name = std::string::String::from_utf8_lossy(function.name);
            name.contains("a_program_finds_a_function_of_its_own")
        });
        let ours = ours.unwrap();
        assert!(ours.addr > 0 && ours.size > 0);
    }

    #[test]
    fn other_files_have_none() {
        assert_eq!(functions(b"").count(), 0);
        assert_eq!(functions(b"#!/bin/sh\n").count(), 0);
        let file = this_program();
        assert_eq!(functions(&file[..64]).count(), 0);
        assert_eq!(functions(&file[..file.len() / 2]).count(), 0);
    }

    proptest! {
        #[test]
        fn damage_is_no_reason_to_panic(
            at in 0usize..4096,
            value in any::<u64>(),
            cut in 0usize..4096,
        ) {
            let mut file = this_program();
            let headers = usize::try_from(u64_at(&file, 0x28).unwrap()).unwrap();
            for start in [0, headers] {
                let place = start + at;
                if let Some(bytes) = file.get_mut(place..place + 8) {
                    bytes.copy_from_slice(&value.to_ne_bytes());
                }
            }
            file.truncate(file.len() - cut);
            functions(&file).for_each(drop);
        }
    }
}
