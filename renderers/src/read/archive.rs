//! The parts of a package, unpacked one at a time and within limits. Declared sizes are not
//! trusted; the limits apply to the unpacked bytes.

use std::io::{Cursor, Read as _};
use zip::ZipArchive;

use super::{limits, reading::ReadError};

pub struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    left_bytes: u64,
}

impl<'a> Archive<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Self, ReadError> {
        Self::open_within(bytes, limits::UNPACKED_BYTES)
    }

    /// Opens a package that unpacks to at most `left_bytes`. A part that is read twice counts twice.
    pub fn open_within(bytes: &'a [u8], left_bytes: u64) -> Result<Self, ReadError> {
        let zip = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| ReadError::Damaged(format!("The package is damaged: {error}.")))?;
        limits::within(zip.len() as u64, limits::ENTRIES as u64, "parts")?;
        Ok(Self { zip, left_bytes })
    }

    pub fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(name).is_some()
    }

    pub fn names(&self) -> Vec<String> {
        self.zip.file_names().map(str::to_owned).collect()
    }

    /// The parts that start with a name: `word/header` finds `word/header1.xml` and so on, in
    /// order.
    pub fn numbered(&self, start: &str) -> Vec<String> {
        let number = |name: &str| {
            let number = name.strip_prefix(start)?.strip_suffix(".xml")?;
            if number.is_empty() { Some(0) } else { number.parse::<u32>().ok() }
        };
        let mut parts: Vec<_> =
            self.names().into_iter().filter_map(|name| Some((number(&name)?, name))).collect();
        parts.sort();
        parts.into_iter().map(|(_, name)| name).collect()
    }

    /// The bytes of a part, if it exists.
    pub fn part(&mut self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(at) = self.zip.index_for_name(name) else { return Ok(None) };
        let broken = |error: String| ReadError::Damaged(format!("{name} is damaged: {error}."));
        let file = self.zip.by_index(at).map_err(|error| broken(error.to_string()))?;
        let packed = file.compressed_size().max(1);
        let by_ratio = packed.saturating_mul(limits::RATIO).max(limits::SMALL_BYTES);
        let limit = by_ratio.min(self.left_bytes);
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| broken(error.to_string()))?;
        if bytes.len() as u64 > limit {
            return Err(ReadError::TooLarge(format!(
                "{name} unpacks to more than {limit} bytes out of {packed}: this is no ordinary \
                 document."
            )));
        }
        self.left_bytes -= bytes.len() as u64;
        Ok(Some(bytes))
    }

    /// Unpacks everything once to check the limits, for parsers that unpack by themselves.
    pub fn check_all(&mut self) -> Result<(), ReadError> {
        self.names().iter().try_for_each(|name| self.part(name).map(drop))
    }
}
