//! The bytes of a file, for the cache of the crate object.

use std::fs::File;
use std::os::unix::fs::FileExt;

use object::read::ReadCacheOps;

/// Bytes read at once from the front. They hold the program headers of nearly every file.
const FRONT: usize = 4096;

/// Largest part (bytes) that is read: files are not trusted. The largest real string tables have
/// about 10 MiB.
const MOST: usize = 64 << 20;

/// A file, or bytes in memory.
#[derive(Debug)]
pub struct Input {
    /// The front of the file, or all bytes.
    front: Vec<u8>,
    file: Option<File>,
    at: u64,
}

impl From<File> for Input {
    fn from(file: File) -> Input {
        let mut front = vec![0; FRONT];
        // A failed read is tried again, and reported, where the bytes are needed.
        let read = file.read_at(&mut front, 0).unwrap_or(0);
        front.truncate(read);
        Input {
            front,
            file: Some(file),
            at: 0,
        }
    }
}

impl From<&[u8]> for Input {
    fn from(bytes: &[u8]) -> Input {
        Input {
            front: bytes.to_vec(),
            file: None,
            at: 0,
        }
    }
}

impl ReadCacheOps for Input {
    fn len(&mut self) -> Result<u64, ()> {
        match &self.file {
            Some(file) => file.metadata().map(|it| it.len()).map_err(drop),
            None => Ok(self.front.len() as u64),
        }
    }

    fn seek(&mut self, at: u64) -> Result<u64, ()> {
        self.at = at;
        Ok(at)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ()> {
        let start = usize::try_from(self.at).map_err(drop)?;
        let front = self.front.get(start..).unwrap_or_default();
        let read = match &self.file {
            Some(file) if front.len() < buffer.len() => {
                file.read_at(buffer, self.at).map_err(drop)?
            }
            _ => {
                let len = front.len().min(buffer.len());
                buffer[..len].copy_from_slice(&front[..len]);
                len
            }
        };
        self.at += read as u64;
        Ok(read)
    }

    fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), ()> {
        if buffer.len() > MOST {
            return Err(());
        }
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..])? {
                0 => return Err(()),
                read => filled += read,
            }
        }
        Ok(())
    }
}
