//! Random access to the bytes of a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::error::ElfError;

/// Bytes readable at any offset.
pub trait Source {
    /// Fills `buffer` from `offset`. Returns the number of bytes read, which is smaller than the
    /// buffer only at the end of the file.
    ///
    /// # Errors
    /// Errors of the operating system.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl Source for File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let at = offset.saturating_add(filled as u64);
            // No file is that large, and pread(2) would return EINVAL.
            if i64::try_from(at).is_err() {
                break;
            }
            match FileExt::read_at(self, &mut buffer[filled..], at) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

impl<S: Source> Source for &S {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        S::read_at(self, offset, buffer)
    }
}

impl Source for &[u8] {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len(), |start| start.min(self.len()));
        let read = buffer.len().min(self.len() - start);
        buffer[..read].copy_from_slice(&self[start..start + read]);
        Ok(read)
    }
}

/// Bytes read at once from the front. They hold the program headers of nearly every file.
const FRONT: usize = 4096;

/// Size limit of a table (bytes). The largest real string tables have about 10 MiB.
const MAX_TABLE: u64 = 64 << 20;

/// A source with a copy of its front.
#[derive(Debug)]
pub(crate) struct Reader<S> {
    source: S,
    front: Vec<u8>,
}

impl<S: Source> Reader<S> {
    pub(crate) fn new(source: S) -> Result<Reader<S>, ElfError> {
        let mut front = vec![0; FRONT];
        let read = source.read_at(0, &mut front).map_err(ElfError::Io)?;
        front.truncate(read);
        Ok(Reader { source, front })
    }

    /// Reads exactly `len` bytes of the part `what`.
    pub(crate) fn bytes(
        &self,
        offset: u64,
        len: u64,
        what: &'static str,
    ) -> Result<Vec<u8>, ElfError> {
        if len > MAX_TABLE {
            return Err(ElfError::TooLarge(what));
        }
        let bytes = self.up_to(offset, len, what)?;
        match bytes.len() as u64 == len {
            true => Ok(bytes),
            false => Err(ElfError::Truncated(what)),
        }
    }

    /// Reads `len` bytes, at most [`MAX_TABLE`]; fewer only at the end of the file.
    pub(crate) fn up_to(
        &self,
        offset: u64,
        len: u64,
        what: &'static str,
    ) -> Result<Vec<u8>, ElfError> {
        let (start, len) = match (usize::try_from(offset), usize::try_from(len.min(MAX_TABLE))) {
            (Ok(start), Ok(len)) => (start, len),
            _ => return Err(ElfError::TooLarge(what)),
        };
        if let Some(bytes) = start
            .checked_add(len)
            .and_then(|end| self.front.get(start..end))
        {
            return Ok(bytes.to_vec());
        }
        let mut bytes = vec![0; len];
        let read = self.source.read_at(offset, &mut bytes);
        bytes.truncate(read.map_err(ElfError::Io)?);
        Ok(bytes)
    }
}
