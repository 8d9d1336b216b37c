//! The bytes of a file, for the cache of the crate object.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

use object::read::ReadCacheOps;

/// Largest part (bytes) that is read: files are not trusted. The largest real string tables have
/// about 10 MiB.
const MOST: usize = 64 << 20;

/// A file, or bytes in memory.
#[derive(Debug)]
pub struct Input {
    source: Source,
    at: u64,
}

#[derive(Debug)]
enum Source {
    File(File),
    Bytes(Vec<u8>),
}

impl From<File> for Input {
    fn from(file: File) -> Input {
        let source = Source::File(file);
        Input { source, at: 0 }
    }
}

impl From<&[u8]> for Input {
    fn from(bytes: &[u8]) -> Input {
        let source = Source::Bytes(bytes.to_vec());
        Input { source, at: 0 }
    }
}

impl ReadCacheOps for Input {
    fn len(&mut self) -> Result<u64, ()> {
        match &self.source {
            Source::File(file) => file.metadata().map(|it| it.len()).map_err(drop),
            Source::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    fn seek(&mut self, at: u64) -> Result<u64, ()> {
        self.at = at;
        Ok(at)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ()> {
        let read = match &self.source {
            Source::File(file) => file.read_at(buffer, self.at),
            Source::Bytes(bytes) => {
                let start = usize::try_from(self.at).map_err(drop)?;
                bytes.get(start..).unwrap_or_default().read(buffer)
            }
        };
        let read = read.map_err(drop)?;
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
