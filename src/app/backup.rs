//! Backup of all data into one file, and restore.
//!
//! The database is copied first, then the files. Artifacts never change, so those that the copied
//! database refers to are in the backup.

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use super::tools::LOGINS;
use crate::{
    config::{Config, DATABASE},
    store::{
        db::{backup, modes},
        files,
    },
};

/// The folders in `data_dir` that a backup includes.
pub const FOLDERS: [&str; 6] = [ARTIFACTS, "workspaces", "builds", "skills", "mcp_servers", LOGINS];
const ARTIFACTS: &str = "artifacts";
const CONTENTS: &str = "backup.json";
const FORMAT: u32 = 1;

/// The first entry of a backup, which describes it.
#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    format: u32,
    version: String,
    /// `false` if the database is PostgreSQL, which has to be backed up separately.
    database: bool,
}

/// Whether the backup contains the database besides the files. PostgreSQL has to be dumped with its
/// own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupScope {
    Everything,
    OnlyFiles,
}

/// Writes a backup. The gateway may be running.
pub async fn back_up(config: &Config, to: &Path) -> Result<BackupScope> {
    ensure!(!to.exists(), "{} already exists", to.display());
    // In the same folder, so that the file can be completed by an atomic rename.
    let scratch = Scratch::new(folder_of(to))?;
    let database = match backup::file_of(&config.store_url()) {
        Some(file) => {
            let copied = scratch.0.join(DATABASE);
            backup::copy(&file, &copied).await?;
            Some(copied)
        }
        None => None,
    };
    let (data, to, whole) = (config.data_dir.clone(), to.to_owned(), scratch.0.join("whole"));
    let holds = if database.is_some() { BackupScope::Everything } else { BackupScope::OnlyFiles };
    tokio::task::spawn_blocking(move || -> Result<()> {
        pack(&data, database.as_deref(), &whole)?;
        fs::rename(&whole, &to).with_context(|| format!("writing {}", to.display()))
    })
    .await??;
    Ok(holds)
}

/// Restores a backup to the locations that the configuration names. Everything is unpacked and
/// checked first, and existing data is never overwritten.
pub async fn restore(config: &Config, from: &Path) -> Result<BackupScope> {
    let data = &config.data_dir;
    let place = backup::file_of(&config.store_url());
    refuse_existing(data, place.as_deref())?;
    modes::create_folder(data)?;
    let scratch = Scratch::new(data)?;
    let (archive, unpacked) = (from.to_owned(), scratch.0.clone());
    let contents = tokio::task::spawn_blocking(move || unpack(&archive, &unpacked))
        .await?
        .with_context(|| format!("{} is not a complete backup", from.display()))?;
    let database = scratch.0.join(DATABASE);
    match (&place, contents.database) {
        (Some(_), true) => backup::check(&database).await?,
        (None, false) => {}
        (Some(_), false) => bail!("the backup is of a gateway on PostgreSQL; store.url is SQLite"),
        (None, true) => bail!("the backup is of a gateway on SQLite; store.url is PostgreSQL"),
    }
    let (data, folders) = (data.clone(), scratch.0.clone());
    tokio::task::spawn_blocking(move || place_all(&folders, &data, place.as_deref())).await??;
    Ok(if contents.database { BackupScope::Everything } else { BackupScope::OnlyFiles })
}

fn refuse_existing(data: &Path, database: Option<&Path>) -> Result<()> {
    // SQLite would apply the log of a database that was here before to the restored one.
    let files = database.into_iter().flat_map(modes::database_files);
    for path in FOLDERS.into_iter().map(|folder| data.join(folder)).chain(files) {
        ensure!(!path.exists(), "{} already exists", path.display());
    }
    Ok(())
}

/// Moves the unpacked files to their places. The database is the last of them, so that no gateway
/// starts with a part of its files.
fn place_all(unpacked: &Path, data: &Path, database: Option<&Path>) -> Result<()> {
    let near = database.map(|place| copied_near(&unpacked.join(DATABASE), place));
    let near = near.transpose().context("copying the database")?;
    // A gateway may have been started in the meantime.
    refuse_existing(data, database)?;
    for folder in FOLDERS.into_iter().filter(|folder| unpacked.join(folder).exists()) {
        fs::rename(unpacked.join(folder), data.join(folder))
            .with_context(|| format!("placing {folder}"))?;
    }
    File::open(data)?.sync_all()?;
    if let (Some(place), Some(near)) = (database, near) {
        fs::rename(near.0.join(DATABASE), place).context("placing the database")?;
        File::open(folder_of(place))?.sync_all()?;
    }
    Ok(())
}

/// A copy of the database in the folder of its place, which may be on another file system.
fn copied_near(database: &Path, place: &Path) -> Result<Scratch> {
    modes::create_folder(folder_of(place))?;
    let scratch = Scratch::new(folder_of(place))?;
    let near = scratch.0.join(DATABASE);
    fs::copy(database, &near)?;
    fs::set_permissions(&near, fs::Permissions::from_mode(0o600))?;
    File::open(&near)?.sync_all()?;
    Ok(scratch)
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary folder, deleted when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(beside: &Path) -> Result<Self> {
        let path = beside.join(format!(".countersign-{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir(&path).with_context(|| format!("creating {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If this fails, the folder's name shows that it is temporary.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn pack(data: &Path, database: Option<&Path>, to: &Path) -> Result<()> {
    // Files that people send must not be readable by other users.
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let mut archive = tar::Builder::new(BufWriter::new(file));
    archive.follow_symlinks(false);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let contents = Contents { format: FORMAT, version, database: database.is_some() };
    let json = serde_json::to_vec_pretty(&contents)?;
    let mut header = tar::Header::new_gnu();
    header.set_size(json.len() as u64);
    header.set_mode(0o600);
    archive.append_data(&mut header, CONTENTS, json.as_slice())?;
    if let Some(database) = database {
        archive.append_path_with_name(database, DATABASE).context("packing the database")?;
    }
    for folder in FOLDERS.into_iter().filter(|folder| data.join(folder).is_dir()) {
        add(&mut archive, data, Path::new(folder)).with_context(|| format!("packing {folder}"))?;
    }
    let file = archive.into_inner()?.into_inner()?;
    Ok(file.sync_all()?)
}

/// Adds regular files and folders. Those that agents delete in the meantime are left out.
fn add(archive: &mut tar::Builder<BufWriter<File>>, data: &Path, folder: &Path) -> Result<()> {
    let Some(entries) = unless_deleted(fs::read_dir(data.join(folder)))? else { return Ok(()) };
    if unless_deleted(archive.append_dir(folder, data.join(folder)))?.is_none() {
        return Ok(());
    }
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        let Some(kind) = unless_deleted(entry.file_type())? else { continue };
        if kind.is_dir() {
            add(archive, data, &path)?;
        } else if kind.is_file() {
            let opened = unless_deleted(File::open(entry.path()));
            let Some(file) = opened.with_context(|| path.display().to_string())? else { continue };
            let (mut header, known) = (tar::Header::new_gnu(), file.metadata()?);
            header.set_metadata(&known);
            // The length must match the header, even if an agent is writing to the file.
            let bytes = file.chain(io::repeat(0)).take(known.len());
            archive.append_data(&mut header, &path, bytes)?;
        }
    }
    Ok(())
}

/// The result; `None` if the file or folder does not exist any more.
fn unless_deleted<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

fn unpack(from: &Path, to: &Path) -> Result<Contents> {
    let mut archive = tar::Archive::new(BufReader::new(File::open(from)?));
    let mut contents = None;
    for entry in archive.entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        ensure!(
            kind.is_file() || kind.is_dir(),
            "it contains an entry that is neither a file nor a folder"
        );
        let path = entry.path()?.into_owned();
        if path == Path::new(CONTENTS) {
            contents = Some(serde_json::from_reader(&mut entry)?);
            continue;
        }
        ensure!(
            entry.unpack_in(to)?,
            "{} would be unpacked outside the target folder",
            path.display()
        );
        if kind.is_file() && path.starts_with(ARTIFACTS) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let whole = files::digest_of(&fs::read(to.join(&path))?) == name;
            ensure!(whole || name.starts_with('.'), "artifact {name} is damaged in the backup");
        }
    }
    let contents: Contents = contents.context("it was not written by Countersign")?;
    ensure!(contents.format == FORMAT, "it was written by version {}", contents.version);
    File::open(to)?.sync_all()?;
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder may be deleted after its parent was listed.
    #[test]
    fn a_folder_that_is_deleted_in_the_meantime_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let packed = folder.path().join("packed");
        let mut archive = tar::Builder::new(BufWriter::new(File::create(&packed).unwrap()));
        fs::create_dir(folder.path().join("kept")).unwrap();
        for name in ["deleted", "kept"] {
            add(&mut archive, folder.path(), Path::new(name)).unwrap();
        }
        archive.into_inner().unwrap().into_inner().unwrap().sync_all().unwrap();
        let mut archive = tar::Archive::new(File::open(&packed).unwrap());
        let entries = archive.entries().unwrap();
        let paths: Vec<_> =
            entries.map(|entry| entry.unwrap().path().unwrap().into_owned()).collect();
        assert_eq!(paths, [Path::new("kept")]);
    }
}
