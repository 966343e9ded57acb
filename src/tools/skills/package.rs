//! A package to install, in memory: from a folder, a zip file or a git repository, within limits.

use anyhow::{Context as _, Result, bail, ensure};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use super::front;

const FILES: usize = 500;
const FILE_BYTES: u64 = 5_000_000;
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
    /// A folder, a `.zip` file, or the URL of a git repository.
    pub fn of(source: &str, scratch: &Path) -> Result<Self> {
        let path = Path::new(source);
        if path.is_dir() {
            return Self::of_folder(path);
        }
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip")) {
            return Self::of_zip(path);
        }
        if ["https://", "ssh://", "file://"].iter().any(|scheme| source.starts_with(scheme)) {
            return Self::of_git(source, scratch);
        }
        bail!("`{source}` is neither a folder, nor a .zip file, nor https://, ssh:// or file://")
    }

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

    pub fn of_zip(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        let mut archive = zip::ZipArchive::new(file).context("this is not a zip file")?;
        let mut package = Self::default();
        for place in 0..archive.len() {
            let entry = archive.by_index(place)?;
            let name = entry.name().to_owned();
            ensure!(!entry.is_symlink(), "{name} is a link: a skill contains only files");
            if entry.is_dir() {
                checked(name.trim_end_matches('/'))?;
                continue;
            }
            let executable = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
            package.add(&name, entry, executable)?;
        }
        Ok(package)
    }

    /// Nothing of the repository runs: no hooks, no filters, no helpers, no submodules.
    fn of_git(address: &str, scratch: &Path) -> Result<Self> {
        let mut command = Command::new("git");
        command.env_clear().envs(std::env::vars_os().filter(|(n, _)| n == "PATH" || n == "HOME"));
        command.envs([
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ALLOW_PROTOCOL", "https:ssh:file"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
        ]);
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=true"]);
        command.args(["clone", "--quiet", "--depth", "1", "--no-recurse-submodules", "--"]);
        let output = command.arg(address).arg(scratch).stdin(Stdio::null()).output();
        let output = output.context("git cannot be started: install it (apt-get install git)")?;
        if !output.status.success() {
            bail!("git clone: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let package = Self::of_folder(scratch);
        fs::remove_dir_all(scratch)?;
        package
    }

    /// Adds a file, unless it is hidden, outside, or too large.
    pub fn add(&mut self, path: &str, content: impl std::io::Read, executable: bool) -> Result<()> {
        checked(path)?;
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

    /// The skills in it by name: the package itself, or its folders with a `SKILL.md`.
    pub fn skills(&self, fallback: &str) -> Result<BTreeMap<String, Self>> {
        let mut roots: Vec<&str> =
            self.files.keys().filter_map(|path| path.strip_suffix("SKILL.md")).collect();
        roots.retain(|root| root.is_empty() || root.ends_with('/'));
        roots.sort_unstable();
        let mut skills: BTreeMap<String, Self> = BTreeMap::new();
        let mut taken: Vec<&str> = Vec::new();
        for root in roots {
            // Folders within a skill belong to it.
            if taken.iter().any(|outer| root.starts_with(outer)) {
                continue;
            }
            taken.push(root);
            let skill = self.below(root);
            let main =
                skill.text("SKILL.md").with_context(|| format!("{root}SKILL.md is not text"))?;
            let front =
                front::parse(main).map_err(|problem| anyhow::anyhow!("{root}: {problem}"))?;
            let folder = root.trim_end_matches('/').rsplit('/').next().filter(|f| !f.is_empty());
            let name = front.name.filter(|name| front::is_valid(name));
            let name = name.unwrap_or_else(|| folder.unwrap_or(fallback).to_lowercase());
            ensure!(front::is_valid(&name), "`{name}` is not a name for a skill");
            ensure!(
                skills.insert(name.clone(), skill).is_none(),
                "two skills have the name `{name}`"
            );
        }
        ensure!(!skills.is_empty(), "it contains no SKILL.md");
        Ok(skills)
    }

    fn below(&self, root: &str) -> Self {
        let files = self
            .files
            .iter()
            .filter_map(|(path, file)| Some((path.strip_prefix(root)?.to_owned(), file.clone())));
        Self { files: files.collect(), total_bytes: self.total_bytes }
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

/// A path that stays within, on every system.
fn checked(path: &str) -> Result<()> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let within = !path.contains(['\\', ':']) && !path.chars().any(char::is_control);
    ensure!(within && path.split('/').all(plain), "{path:?} is not a path within a skill");
    Ok(())
}

#[cfg(test)]
#[path = "package_tests.rs"]
mod tests;
