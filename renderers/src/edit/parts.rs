//! A package whose parts can be replaced: unchanged parts keep their compressed bytes, their order
//! and their times.

use std::{
    collections::BTreeMap,
    io::{Cursor, Write as _},
};

use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::{
    EditError,
    tree::{self, Node, TreeElement},
};
use crate::read::{archive::Archive, limits, links};

/// The maximum size of a part that is edited.
const PART_BYTES: usize = 24 << 20;

/// An existing Office file.
pub struct PackageParts<'f> {
    file: &'f [u8],
    archive: Archive<'f>,
    /// The parts that differ from the file; `None` is removed.
    changed: BTreeMap<String, Option<Vec<u8>>>,
}

impl<'f> PackageParts<'f> {
    /// Opens a file. Macros and signatures would be lost or broken, so such files are rejected.
    pub fn open(file: &'f [u8]) -> Result<Self, EditError> {
        limits::input(file)?;
        if file.starts_with(b"\xd0\xcf\x11\xe0") {
            return Err(EditError::Invalid(
                "The file is protected by a password, or is from before 2007: save it as .docx, \
                 .xlsx or .pptx, without a password."
                    .into(),
            ));
        }
        let mut archive = Archive::open(file)?;
        let names = archive.names();
        if names.iter().any(|name| name.ends_with("vbaProject.bin")) {
            return Err(EditError::Invalid(
                "The file has macros, which are not edited: save it without macros first.".into(),
            ));
        }
        if names.iter().any(|name| name.starts_with("_xmlsignatures/")) {
            return Err(EditError::Invalid(
                "The file is signed, and an edit would break the signature: ask for a copy \
                 without it."
                    .into(),
            ));
        }
        archive.check_all()?;
        Ok(Self { file, archive: Archive::open(file)?, changed: BTreeMap::new() })
    }

    pub fn names(&self) -> Vec<String> {
        self.archive.names()
    }

    pub fn has(&self, name: &str) -> bool {
        self.changed.get(name).map_or_else(|| self.archive.has(name), Option::is_some)
    }

    /// The bytes of a part, if there is one.
    pub fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, EditError> {
        match self.changed.get(name) {
            Some(changed) => Ok(changed.clone()),
            None => Ok(self.archive.part(name)?),
        }
    }

    /// The tree of a part.
    pub fn tree(&mut self, name: &str) -> Result<Vec<Node>, EditError> {
        let bytes = self.bytes(name)?.ok_or_else(|| {
            EditError::Invalid(format!("The file is damaged: it has no part {name}."))
        })?;
        limits::within(bytes.len() as u64, PART_BYTES as u64, &format!("bytes in {name}"))?;
        tree::parse(name, &bytes)
    }

    /// The targets of a part's relationships, by id.
    pub fn relations(&mut self, part: &str) -> Result<BTreeMap<String, String>, EditError> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let name = format!("{folder}/_rels/{file}.rels");
        if !self.has(&name) {
            return Ok(BTreeMap::new());
        }
        let mut nodes = self.tree(&name)?;
        let rows = tree::root(&name, &mut nodes)?;
        let rows = rows.elements().filter_map(|row| {
            Some((row.attribute("Id")?, links::within(folder, &row.attribute("Target")?)))
        });
        Ok(rows.collect())
    }

    pub fn put(&mut self, name: &str, tree: &[Node]) -> Result<(), EditError> {
        let xml = tree::write(tree).into_bytes();
        limits::within(xml.len() as u64, PART_BYTES as u64, &format!("bytes in {name}"))?;
        self.changed.insert(name.to_owned(), Some(xml));
        Ok(())
    }

    /// Changes the root element of a part.
    pub fn edit<T>(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut TreeElement) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        let mut nodes = self.tree(name)?;
        let result = change(tree::root(name, &mut nodes)?)?;
        self.put(name, &nodes)?;
        Ok(result)
    }

    pub fn remove(&mut self, name: &str) {
        self.changed.insert(name.to_owned(), None);
    }

    /// Writes the file.
    pub fn finish(self) -> Result<Vec<u8>, EditError> {
        let failed = |error: zip::result::ZipError| {
            EditError::Invalid(format!("The file could not be written: {error}."))
        };
        if self.changed.is_empty() {
            return Ok(self.file.to_vec());
        }
        let mut from = ZipArchive::new(Cursor::new(self.file)).map_err(failed)?;
        let mut to = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(0o644);
        let mut changed = self.changed;
        let add = |to: &mut ZipWriter<_>, name: &str, bytes: &[u8]| {
            to.start_file(name, options)?;
            to.write_all(bytes).map_err(Into::into)
        };
        for at in 0..from.len() {
            let entry = from.by_index_raw(at).map_err(failed)?;
            match changed.remove(entry.name()) {
                None => to.raw_copy_file(entry).map_err(failed)?,
                Some(Some(bytes)) => {
                    let name = entry.name().to_owned();
                    add(&mut to, &name, &bytes).map_err(failed)?;
                }
                Some(None) => {}
            }
        }
        for (name, bytes) in changed {
            if let Some(bytes) = bytes {
                add(&mut to, &name, &bytes).map_err(failed)?;
            }
        }
        Ok(to.finish().map_err(failed)?.into_inner())
    }
}
