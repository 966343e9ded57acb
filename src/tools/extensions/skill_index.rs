//! Indexes of skills by version 0.2 of *Agent Skills Discovery via Well-Known URIs*: each entry
//! names one file, a `SKILL.md` or an archive, with its SHA-256.

use anyhow::{Context as _, Result, ensure};
use flate2::read::GzDecoder;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::{
    io::{Cursor, Read},
    path::Path,
};
use url::Url;

use super::{download, json};
use crate::tools::{
    ToolError, contract::blocking, skills::package::Package, web::client::WebClient,
};

/// Where a website has its index.
const WELL_KNOWN: &str = "/.well-known/agent-skills/index.json";
/// The maximum number of entries of an index that are read.
const MAX_ENTRIES: usize = 5_000;
/// The maximum size of an archive, and of everything in it.
const ARCHIVE_BYTES: usize = 20_000_000;
const UNPACKED_BYTES: u64 = 40_000_000;
/// The schemas that are understood.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SkillEntry {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: ArtifactKind,
    #[serde(default)]
    pub description: String,
    /// Absolute, or relative to the index.
    pub url: String,
    /// `sha256:…`
    pub digest: String,
    /// The index that it comes from.
    #[serde(skip)]
    pub index: Option<Url>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactKind {
    /// The `SKILL.md` is the whole skill.
    SkillMd,
    /// A `.zip` or `.tar.gz` file with the files of the skill.
    Archive,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct SkillIndex {
    #[serde(rename = "$schema", default)]
    schema: String,
    skills: Vec<serde_json::Value>,
}

/// The URL of the index: that of a website stands for its well-known one.
pub fn index_url(url: &Url) -> Url {
    let mut index = url.clone();
    let ending = Path::new(url.path()).extension();
    if ending.is_none_or(|ending| ending != "json") {
        index.set_path(&format!("{}{WELL_KNOWN}", url.path().trim_end_matches('/')));
    }
    index
}

/// The entries of an index. Invalid ones are skipped.
pub async fn entries(web_client: &WebClient, url: &Url) -> Result<Vec<SkillEntry>, ToolError> {
    let url = index_url(url);
    let index: SkillIndex = json(web_client, url.clone()).await?;
    if !index.schema.starts_with(SCHEMA) {
        return Err(ToolError::ExternalService(format!(
            "{url} is not an index of skills of version 0.2: its $schema is `{}`",
            index.schema
        )));
    }
    let entries = index.skills.into_iter().take(MAX_ENTRIES);
    let entries = entries.filter_map(|entry| serde_json::from_value::<SkillEntry>(entry).ok());
    Ok(entries.map(|entry| SkillEntry { index: Some(url.clone()), ..entry }).collect())
}

/// Downloads a skill, and compares it with the digest of the index.
pub async fn fetch(web_client: &WebClient, entry: &SkillEntry) -> Result<Package, ToolError> {
    let name = &entry.name;
    let refused = |why: String| ToolError::ExternalService(format!("the skill `{name}`: {why}"));
    let base = entry.index.as_ref().ok_or_else(|| refused("it has no index".into()))?;
    let url = base.join(&entry.url).map_err(|problem| refused(problem.to_string()))?;
    let bytes = download(web_client, url, ARCHIVE_BYTES).await?;
    let wanted = entry.digest.strip_prefix("sha256:").map(str::to_ascii_lowercase);
    let digest = hex::encode(Sha256::digest(&bytes));
    if wanted.as_ref() != Some(&digest) {
        return Err(refused("the file does not have the digest that the index states".into()));
    }
    let kind = entry.kind;
    let unpacked = blocking(move || unpack(kind, bytes)).await?;
    unpacked.map_err(|problem| refused(format!("{problem:#}")))
}

fn unpack(kind: ArtifactKind, bytes: Vec<u8>) -> Result<Package> {
    let mut package = Package::default();
    match kind {
        ArtifactKind::SkillMd => package.add("SKILL.md", bytes.as_slice(), false)?,
        ArtifactKind::Archive if bytes.starts_with(b"PK") => unzip(&mut package, bytes)?,
        ArtifactKind::Archive => untar(&mut package, &bytes)?,
        ArtifactKind::Unknown => anyhow::bail!("this type of entry is not supported"),
    }
    let package = within_its_folder(package)?;
    ensure!(package.text("SKILL.md").is_some(), "it contains no SKILL.md");
    Ok(package)
}

fn unzip(package: &mut Package, bytes: Vec<u8>) -> Result<()> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).context("not a zip file")?;
    for place in 0..archive.len() {
        let entry = archive.by_index(place)?;
        let name = entry.name().to_owned();
        ensure!(!entry.is_symlink(), "{name} is a link: a skill contains only files");
        let executable = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
        if !entry.is_dir() {
            package.add(&name, entry, executable)?;
        }
    }
    Ok(())
}

fn untar(package: &mut Package, bytes: &[u8]) -> Result<()> {
    // The package is limited too, but a file that it skips is decompressed as well.
    let limited = GzDecoder::new(bytes).take(UNPACKED_BYTES);
    let mut archive = tar::Archive::new(limited);
    for entry in archive.entries().context("not a .tar.gz file")? {
        let entry = entry.context("the archive is damaged, or too large")?;
        let name = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
        let kind = entry.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() {
            continue;
        }
        ensure!(kind.is_file(), "{name} is a link: a skill contains only files");
        let executable = entry.header().mode()? & 0o111 != 0;
        package.add(&name, entry, executable)?;
    }
    Ok(())
}

/// The package without the one folder that contains all of it, if there is one.
fn within_its_folder(package: Package) -> Result<Package> {
    if package.files.contains_key("SKILL.md") {
        return Ok(package);
    }
    let main = package.files.keys().find(|path| path.ends_with("/SKILL.md"));
    let root = main.and_then(|path| path.strip_suffix("SKILL.md")).map(str::to_owned);
    let Some(root) = root else { return Ok(package) };
    let mut inner = Package::default();
    for (path, file) in &package.files {
        let path = path.strip_prefix(&root).with_context(|| format!("{path} is outside {root}"))?;
        inner.add(path, file.bytes.as_slice(), file.executable)?;
    }
    Ok(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const MAIN: &str = "---\nname: letters\ndescription: How we write\n---\nBegin with Dear.\n";

    fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in files {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn tarred(files: &[(&str, &str)], link: Option<&str>) -> Vec<u8> {
        let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut tar = tar::Builder::new(gzip);
        for (name, text) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o755);
            tar.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        if let Some(target) = link {
            let mut header = tar::Header::new_ustar();
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_size(0);
            tar.append_link(&mut header, "link", target).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn the_url_of_a_website_stands_for_its_index() {
        let index = |url: &str| index_url(&url.parse().unwrap()).to_string();
        let well_known = "https://example.org/.well-known/agent-skills/index.json";
        assert_eq!(index("https://example.org"), well_known);
        assert_eq!(index("https://example.org/"), well_known);
        assert_eq!(index("https://example.org/mine.json"), "https://example.org/mine.json");
    }

    #[test]
    fn both_kinds_of_archives_are_unpacked_with_and_without_a_folder() {
        let files = [("SKILL.md", MAIN), ("scripts/greet.sh", "echo Dear")];
        let folder = [("letters/SKILL.md", MAIN), ("letters/scripts/greet.sh", "echo Dear")];
        for archive in
            [zipped(&files), zipped(&folder), tarred(&files, None), tarred(&folder, None)]
        {
            let package = unpack(ArtifactKind::Archive, archive).unwrap();
            assert_eq!(package.text("SKILL.md"), Some(MAIN));
            assert_eq!(package.text("scripts/greet.sh"), Some("echo Dear"));
        }
        let single = unpack(ArtifactKind::SkillMd, MAIN.into()).unwrap();
        assert_eq!(single.files.len(), 1);
    }

    #[test]
    fn a_hostile_archive_is_refused() {
        let outside = zipped(&[("SKILL.md", MAIN), ("../evil.sh", "x")]);
        let beside = zipped(&[("letters/SKILL.md", MAIN), ("other.md", "x")]);
        let link = tarred(&[("SKILL.md", MAIN)], Some("/etc/passwd"));
        let nothing = zipped(&[("README.md", "x")]);
        for (archive, why) in [
            (outside, "not a path within a skill"),
            (beside, "is outside letters/"),
            (link, "is a link"),
            (nothing, "no SKILL.md"),
            (b"neither".to_vec(), ""),
        ] {
            let problem = unpack(ArtifactKind::Archive, archive).unwrap_err();
            assert!(format!("{problem:#}").contains(why), "{problem:#}");
        }
    }
}
