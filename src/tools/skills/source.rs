//! Finds the skills in a folder, a zip file or a git repository. Only files of skills are read, so
//! that whatever else is in a repository does not matter, and each skill is read on its own.

use anyhow::{Context as _, Result, bail, ensure};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    front,
    package::{Package, is_plain},
};

/// The maximum number of files and folders that are looked at.
const ENTRIES: usize = 100_000;
/// The maximum number of skills, and the maximum depth of their folders.
const SKILLS: usize = 500;
const DEPTH: usize = 16;
const MAIN: &str = "SKILL.md";

/// Where skills come from.
pub struct Source {
    place: SourceLocation,
    /// The folders with a `SKILL.md`, in order; the empty path is the source itself. Folders within
    /// a skill belong to it.
    pub roots: Vec<String>,
}

enum SourceLocation {
    Folder(PathBuf),
    Zip(PathBuf),
}

impl Source {
    /// Opens a folder, a `.zip` file, or the URL of a git repository, which is cloned into
    /// `scratch`.
    pub fn open(source: &str, scratch: &Path) -> Result<Self> {
        let path = Path::new(source);
        let (place, mut roots) = if path.is_dir() {
            (SourceLocation::Folder(path.into()), roots_of_folder(path)?)
        } else if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip")) {
            (SourceLocation::Zip(path.into()), roots_of_zip(path)?)
        } else if ["https://", "ssh://", "file://"].iter().any(|scheme| source.starts_with(scheme))
        {
            clone(source, scratch)?;
            (SourceLocation::Folder(scratch.into()), roots_of_folder(scratch)?)
        } else {
            bail!(
                "`{source}` is neither a folder, nor a .zip file, nor https://, ssh:// or file://"
            )
        };
        roots.sort_unstable();
        let mut outer: Vec<String> = Vec::new();
        for root in roots {
            if !outer.iter().any(|outer| is_within(&root, outer)) {
                outer.push(root);
            }
        }
        ensure!(!outer.is_empty(), "it contains no SKILL.md");
        ensure!(outer.len() <= SKILLS, "it contains more than {SKILLS} skills");
        Ok(Self { place, roots: outer })
    }

    /// Reads the skill with this root. Returns its name, which is that of its folder unless it has
    /// a valid one; `fallback` is the name of the source.
    pub fn skill(&self, root: &str, fallback: &str) -> Result<(String, Package)> {
        let package = match &self.place {
            SourceLocation::Folder(folder) => Package::of_folder(&folder.join(root))?,
            SourceLocation::Zip(file) => read_zip(file, root)?,
        };
        let main = package.text(MAIN).context("SKILL.md is not text")?;
        let front = front::parse(main).map_err(anyhow::Error::msg)?;
        let folder = root.rsplit('/').next().filter(|folder| !folder.is_empty());
        let name = front.name.filter(|name| front::is_valid(name));
        let name = name.unwrap_or_else(|| folder.unwrap_or(fallback).to_lowercase());
        ensure!(front::is_valid(&name), "`{name}` is not a name for a skill");
        Ok((name, package))
    }
}

fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Links are not followed, and hidden folders are not searched.
fn roots_of_folder(folder: &Path) -> Result<Vec<String>> {
    let (mut roots, mut open, mut seen) = (Vec::new(), vec![PathBuf::new()], 0);
    while let Some(relative) = open.pop() {
        let place = folder.join(&relative);
        if place.join(MAIN).symlink_metadata().is_ok_and(|about| about.is_file()) {
            roots.push(relative.to_string_lossy().into_owned());
            continue;
        }
        for entry in fs::read_dir(&place).with_context(|| place.display().to_string())? {
            let entry = entry?;
            seen += 1;
            ensure!(seen <= ENTRIES, "it contains more than {ENTRIES} files");
            let is_deep = relative.components().count() >= DEPTH;
            if !is_deep
                && entry.file_type()?.is_dir()
                && is_plain(&entry.file_name().to_string_lossy())
            {
                open.push(relative.join(entry.file_name()));
            }
        }
    }
    Ok(roots)
}

fn archive(path: &Path) -> Result<zip::ZipArchive<File>> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let archive = zip::ZipArchive::new(file).context("this is not a zip file")?;
    ensure!(archive.len() <= ENTRIES, "it contains more than {ENTRIES} files");
    Ok(archive)
}

fn roots_of_zip(path: &Path) -> Result<Vec<String>> {
    let archive = archive(path)?;
    let roots = archive.file_names().filter_map(|name| {
        let root = name.strip_suffix(MAIN)?;
        let root = if root.is_empty() { root } else { root.strip_suffix('/')? };
        let is_plain = root.is_empty() || root.split('/').all(is_plain);
        is_plain.then(|| root.to_owned())
    });
    Ok(roots.collect())
}

fn read_zip(path: &Path, root: &str) -> Result<Package> {
    let mut archive = archive(path)?;
    let mut package = Package::default();
    for place in 0..archive.len() {
        let entry = archive.by_index(place)?;
        let name = entry.name().to_owned();
        let Some(name) = (if root.is_empty() {
            Some(name.as_str())
        } else {
            name.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'))
        }) else {
            continue;
        };
        if name.is_empty() {
            continue;
        }
        ensure!(!entry.is_symlink(), "{name} is a link: a skill contains only files");
        let executable = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
        if entry.is_dir() {
            Package::check(name.trim_end_matches('/'))?;
        } else {
            let name = name.to_owned();
            package.add(&name, entry, executable)?;
        }
    }
    Ok(package)
}

/// Nothing of the repository runs: no hooks, no filters, no helpers, no submodules.
fn clone(address: &str, scratch: &Path) -> Result<()> {
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
    Ok(())
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
