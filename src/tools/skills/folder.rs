//! The installed skills, their origin, and whether they are trusted.

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{
    front,
    package::{Package, is_plain},
};
pub use crate::tools::folder_lock::{FolderLock, lock};
use crate::{agent::catalog::Skill, tools::atomic_file};

/// The maximum size of a file that a model can read.
const TEXT_BYTES: usize = 200_000;

/// Stored in a skill that was installed from elsewhere. A skill cannot contain one itself: see
/// [`is_plain`].
const ORIGIN: &str = ".origin.json";

/// The origin of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillOrigin {
    pub source: String,
    /// The digest of the contents that the operator trusts.
    #[serde(rename = "vouched")]
    pub trusted: Option<String>,
    /// Whether no conversation gets it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

/// One installed skill.
pub struct InstalledSkill {
    pub skill: Skill,
    pub origin: Option<SkillOrigin>,
    pub warnings: Vec<String>,
}

impl InstalledSkill {
    pub fn is_disabled(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.disabled)
    }
}

/// All valid and enabled skills.
pub fn all(folder: &Path) -> Vec<InstalledSkill> {
    let mut all = all_with_disabled(folder);
    all.retain(|one| !one.is_disabled());
    all
}

/// All valid skills. Others are logged with the reason.
pub fn all_with_disabled(folder: &Path) -> Vec<InstalledSkill> {
    let mut names = BTreeSet::new();
    let read = |path: PathBuf| match kept(&path) {
        Ok(kept) => Some((path, kept)),
        Err(problem) => {
            let problem = format!("{problem:#}");
            tracing::warn!(path = %path.display(), problem, "skipped a skill");
            None
        }
    };
    let all = places(folder).into_iter().filter_map(read);
    let all = all.filter(|(path, kept)| {
        for warning in &kept.warnings {
            tracing::warn!(path = %path.display(), warning, "a skill deviates from the standard");
        }
        let fresh = names.insert(kept.skill.name.clone());
        if !fresh {
            let name = &kept.skill.name;
            tracing::warn!(path = %path.display(), name, "another skill has the same name");
        }
        fresh
    });
    all.map(|(_, kept)| kept).collect()
}

/// Folders with a `SKILL.md`, in order. Empty if there is no folder.
fn places(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut places: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("SKILL.md").is_file() && !is_hidden(path))
        .collect();
    places.sort();
    places
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'))
}

/// The skill in this folder.
pub fn kept(place: &Path) -> Result<InstalledSkill> {
    let package = Package::of_folder(place)?;
    let main = package.text("SKILL.md").context("SKILL.md cannot be read")?;
    let mut front = front::parse(main).map_err(anyhow::Error::msg)?;
    let folder_name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if front.name.as_ref().is_some_and(|name| *name != folder_name) {
        front.warnings.push(format!("its folder is named `{folder_name}`"));
    }
    let origin = origin(place)?;
    let is_trusted = origin.as_ref().is_none_or(|o| o.trusted.as_ref() == Some(&digest(&package)));
    let texts = package.files.iter().filter(|(_, file)| file.bytes.len() <= TEXT_BYTES);
    let texts = texts.filter_map(|(path, _)| Some((path.clone(), package.text(path)?.to_owned())));
    let skill = Skill {
        name: front.name.unwrap_or(folder_name),
        description: front.description.split_whitespace().collect::<Vec<_>>().join(" "),
        files: texts.collect(),
        untrusted: !is_trusted,
    };
    Ok(InstalledSkill { skill, origin, warnings: front.warnings })
}

fn origin(place: &Path) -> Result<Option<SkillOrigin>> {
    match fs::read(place.join(ORIGIN)) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).context(ORIGIN)?)),
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(problem).context(ORIGIN),
    }
}

/// Whether the operator put it there: it has no recorded origin.
pub fn is_own(place: &Path) -> bool {
    origin(place).is_ok_and(|origin| origin.is_none())
}

pub fn is_disabled(place: &Path) -> bool {
    origin(place).is_ok_and(|origin| origin.is_some_and(|origin| origin.disabled))
}

/// The digest of all files, with names and permissions.
pub fn digest(package: &Package) -> String {
    let mut hash = Sha256::new();
    for (path, file) in &package.files {
        hash.update(format!("{path}\0{}\0{}\0", file.executable, file.bytes.len()));
        hash.update(&file.bytes);
    }
    hex::encode(hash.finalize())
}

/// The current digest of the skill in that folder.
pub fn state_of(place: &Path) -> String {
    let package = Package::of_folder(place);
    package.map_or_else(|_| format!("{:?}", state(place)), |package| digest(&package))
}

/// The folder of the skill with that name.
pub fn find(folder: &Path, name: &str) -> Result<PathBuf> {
    let places = places(folder);
    let has_name =
        |place: &&PathBuf| place.file_name().is_some_and(|folder| folder.to_string_lossy() == name);
    let named = places.iter().find(has_name).or_else(|| {
        places.iter().find(|place| kept(place).is_ok_and(|kept| kept.skill.name == name))
    });
    let named = named.cloned();
    named.with_context(|| format!("there is no skill `{name}` in {}", folder.display()))
}

/// Installs a skill atomically; replaces an existing one if `origin` allows it.
pub fn put(lock: &FolderLock, name: &str, package: &Package, source: &str) -> Result<()> {
    let folder = lock.folder();
    ensure!(
        front::is_valid(name),
        "`{name}` is not a name for a skill: use letters, digits and hyphens"
    );
    let new = folder.join(format!(".new-{}", uuid::Uuid::new_v4().simple()));
    let written = package.write(&new).and_then(|()| {
        let origin = SkillOrigin { source: source.to_owned(), trusted: None, disabled: false };
        fs::write(new.join(ORIGIN), serde_json::to_vec_pretty(&origin)?)?;
        let place = folder.join(name);
        // At no time is the skill missing.
        if place.exists() {
            return Ok(renameat_with(CWD, &new, CWD, &place, RenameFlags::EXCHANGE)?);
        }
        Ok(fs::rename(&new, &place)?)
    });
    // An incomplete one, or the previous one.
    let _ = fs::remove_dir_all(&new);
    written.with_context(|| format!("writing the skill `{name}`"))
}

pub fn remove(lock: &FolderLock, name: &str) -> Result<()> {
    let place = find(lock.folder(), name)?;
    let old = lock.folder().join(format!(".old-{}", uuid::Uuid::new_v4().simple()));
    fs::rename(&place, &old)?;
    fs::remove_dir_all(&old).with_context(|| format!("removing {}", old.display()))
}

/// Records that the operator trusts the skill as it is now.
pub fn trust(lock: &FolderLock, name: &str) -> Result<()> {
    let place = find(lock.folder(), name)?;
    let Some(mut origin) = origin(&place)? else { bail!("`{name}` is your own already") };
    origin.trusted = Some(digest(&Package::of_folder(&place)?));
    write_origin(&place, &origin)
}

/// Enables or disables an installed skill.
pub fn enable(lock: &FolderLock, name: &str, enabled: bool) -> Result<()> {
    let place = find(lock.folder(), name)?;
    let Some(mut origin) = origin(&place)? else { bail!("`{name}` is the operator's own") };
    origin.disabled = !enabled;
    write_origin(&place, &origin)
}

fn write_origin(place: &Path, origin: &SkillOrigin) -> Result<()> {
    Ok(atomic_file::replace(&place.join(ORIGIN), &serde_json::to_vec_pretty(origin)?)?)
}

/// A value that changes when any skill does.
pub fn state(folder: &Path) -> Vec<(PathBuf, u64, Option<std::time::SystemTime>)> {
    let mut state = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() && is_plain(&entry.file_name().to_string_lossy()) {
                open.push(entry.path());
            }
            state.push((entry.path(), about.len(), about.modified().ok()));
        }
    }
    state.sort();
    state
}
