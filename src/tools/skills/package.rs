//! The files of one skill, in memory, within limits.

use anyhow::{Context as _, Result, ensure};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

pub(super) const FILES: usize = 500;
pub(super) const FILE_BYTES: u64 = 5_000_000;
const TOTAL_BYTES: u64 = 20_000_000;

/// Files by their paths, which stay within the package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    pub files: BTreeMap<String, Packed>,
    total_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    pub bytes: Vec<u8>,
    pub executable: bool,
}

/// Whether a file or folder with that name belongs to a skill. Hidden files do not, so that a
/// package cannot contain our own metadata.
pub fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.')
}

impl Package {
    pub fn of_folder(folder: &Path) -> Result<Self> {
        let mut package = Self::default();
        package.collect(folder, folder)?;
        Ok(package)
    }

    fn collect(&mut self, root: &Path, folder: &Path) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let entry = entry?;
            let (path, about) = (entry.path(), entry.metadata()?);
            if !is_plain(&entry.file_name().to_string_lossy()) {
                continue;
            }
            ensure!(
                !about.is_symlink(),
                "{} is a link: a skill contains only files",
                path.display()
            );
            if about.is_dir() {
                self.collect(root, &path)?;
            } else if about.is_file() {
                let name = path.strip_prefix(root).expect("found below").to_string_lossy();
                let executable = about.permissions().mode() & 0o111 != 0;
                self.add(&name, File::open(&path)?, executable)?;
            }
        }
        Ok(())
    }

    /// Adds a file, unless it is hidden, outside, or too large.
    pub fn add(&mut self, path: &str, content: impl std::io::Read, executable: bool) -> Result<()> {
        Self::check(path)?;
        if !path.split('/').all(is_plain) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        // The declared size may be wrong.
        content.take(FILE_BYTES + 1).read_to_end(&mut bytes).with_context(|| path.to_owned())?;
        let size = bytes.len() as u64;
        ensure!(size <= FILE_BYTES, "{path} is larger than {FILE_BYTES} bytes");
        self.total_bytes += size;
        ensure!(self.total_bytes <= TOTAL_BYTES, "it is larger than {TOTAL_BYTES} bytes");
        let before = self.files.insert(path.to_owned(), Packed { bytes, executable });
        ensure!(before.is_none(), "{path} is contained twice");
        ensure!(self.files.len() <= FILES, "it has more than {FILES} files");
        Ok(())
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(&self.files.get(path)?.bytes).ok()
    }

    /// Accepts a path that stays within, on every system.
    pub fn check(path: &str) -> Result<()> {
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        let within = !path.contains(['\\', ':']) && !path.chars().any(char::is_control);
        ensure!(within && path.split('/').all(plain), "{path:?} is not a path within a skill");
        Ok(())
    }

    /// Writes it into a new folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir(folder)?;
        for (path, file) in &self.files {
            let place = folder.join(path);
            fs::create_dir_all(place.parent().unwrap_or(folder))?;
            fs::write(&place, &file.bytes).with_context(|| path.clone())?;
            let mode = if file.executable { 0o755 } else { 0o644 };
            fs::set_permissions(&place, fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }
}
