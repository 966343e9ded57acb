//! Shows and changes the configuration file on behalf of the console: validates the result as a
//! whole, tests it, and writes it with a backup.

use anyhow::{Context as _, Result, ensure};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use similar::TextDiff;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::sync::Mutex;

use super::{
    channels, models,
    secret_files::{self, NewSecretFiles},
};
use crate::{
    admin::settings_file::{EntryChange, EntryList, FileAction, FileChange, FileRequest, FileView},
    agent::redact::Redactor,
    clock::{Clock as _, SystemClock},
    config::{
        Config, DEFAULT_FILE,
        edit::{self, NewValue},
    },
    store::{
        Store,
        audit::{AuditKind, Fact},
    },
    texts::SettingsError,
};

/// How long a model or a platform may take to answer a test.
const TEST_WITHIN: Duration = Duration::from_secs(30);
/// How many backups are kept.
const BACKUPS: usize = 10;
/// Stands for a typed secret in the environment of a test.
const TYPED: &str = "COUNTERSIGN_TYPED_SECRET";

/// The configuration file and the variables that override it.
pub struct SettingsFile {
    file: Option<PathBuf>,
    variables: BTreeMap<String, String>,
    /// One change at a time.
    changing: Mutex<()>,
}

/// The new text of the file, and the secrets that it refers to.
struct NewText {
    text: String,
    /// By their names relative to the file.
    secrets: BTreeMap<String, SecretString>,
}

impl SettingsFile {
    pub fn new(file: Option<PathBuf>, variables: BTreeMap<String, String>) -> Self {
        Self { file, variables, changing: Mutex::default() }
    }

    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    pub fn path(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Reads the configuration again.
    pub fn load(&self) -> Result<Config> {
        Config::load(self.path(), &self.variables)
    }

    pub async fn answer(&self, request: FileRequest, store: &Store) {
        match request {
            FileRequest::View { answer } => {
                let _ = answer.send(self.view());
            }
            FileRequest::Change { change, action, answer } => {
                let changing = self.changing.lock().await;
                let redactor = self.redactor(&change.secrets);
                let changed = self.change(&change, action, store).await;
                // Errors of models and platforms may quote what was sent.
                let _ = answer.send(changed.map_err(|problem| {
                    if problem.is::<SettingsError>() {
                        return problem;
                    }
                    anyhow::anyhow!("{}", redactor.own(&format!("{problem:#}")))
                }));
                drop(changing);
            }
        }
    }

    /// The file itself, behind any link.
    fn target(&self) -> PathBuf {
        let path = self.path().unwrap_or(Path::new(DEFAULT_FILE));
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    }

    fn folder(&self) -> PathBuf {
        let target = self.target();
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).to_owned()
    }

    fn read(&self) -> Result<String> {
        let target = self.target();
        match fs::read_to_string(&target) {
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            read => read.with_context(|| format!("reading {}", target.display())),
        }
    }

    fn view(&self) -> Result<FileView> {
        let text = self.read()?;
        let fields = EntryList::ALL.map(|list| (list.as_str(), edit::fields(list)));
        Ok(FileView {
            path: self.target().display().to_string(),
            exists: self.target().exists(),
            version: version(&text),
            entries: edit::entries(&text)?,
            fields: fields.into(),
        })
    }

    /// Hides the secrets of the current configuration and those that were typed.
    fn redactor(&self, typed: &BTreeMap<String, SecretString>) -> Redactor {
        let known = self.load().map(|config| super::secrets(&config, &self.variables));
        let typed = typed.values().map(|secret| secret.expose_secret().trim().to_owned());
        let all: Vec<_> = known.unwrap_or_default().into_iter().chain(typed).collect();
        Redactor::new(all.iter().map(String::as_str))
    }

    async fn change(
        &self,
        change: &EntryChange,
        action: FileAction,
        store: &Store,
    ) -> Result<FileChange> {
        let before = self.read()?;
        ensure!(
            change.version.as_ref().is_none_or(|seen| *seen == version(&before)),
            SettingsError::FileChanged
        );
        let new = self.new_text(&before, change)?;
        let draft = self.draft(&before, change)?;
        let shown = difference(&edit::masked(&before)?, &edit::masked(&new.text)?);
        let diff = self.redactor(&change.secrets).text(&shown).into_owned();
        match action {
            FileAction::Preview => Ok(FileChange { diff, backup: None }),
            FileAction::Test => {
                let tested = tokio::time::timeout(TEST_WITHIN, draft.test(change.list, &change.id));
                tested.await.context(SettingsError::NoAnswer)??;
                Ok(FileChange { diff, backup: None })
            }
            FileAction::Write(fact) => {
                let fact = fact.with("list", change.list.as_str()).with("id", change.id.as_str());
                let fact = fact.with("diff", diff.as_str()).with("version", version(&new.text));
                let backup = self.write_recorded(&before, &new, fact, store).await?;
                Ok(FileChange { diff, backup })
            }
        }
    }

    /// The text to write. Typed secrets are in files beside it.
    fn new_text(&self, before: &str, change: &EntryChange) -> Result<NewText> {
        let mut secrets = BTreeMap::new();
        let folder = self.folder();
        let text = changed(before, change, |key, secret| {
            let name = format!("{}-{}-{key}", change.list.as_str(), change.id);
            let file = secret_files::unused_name(&folder, &name);
            secrets.insert(file.clone(), secret.clone());
            NewValue::SecretFile(file)
        })?;
        Ok(NewText { text, secrets })
    }

    /// The same configuration with typed secrets in variables, loaded. Fails if it is invalid.
    fn draft(&self, before: &str, change: &EntryChange) -> Result<Draft> {
        let mut variables = self.variables.clone();
        let text = changed(before, change, |key, secret| {
            let variable = format!("{TYPED}_{}", key.to_uppercase());
            variables.insert(variable.clone(), secret.expose_secret().trim().to_owned());
            NewValue::SecretVariable(variable)
        })?;
        // In the same folder, because paths in the file are relative to it.
        let folder = self.folder();
        let file = tempfile::Builder::new()
            .prefix(".countersign-draft-")
            .suffix(".toml")
            .tempfile_in(&folder)
            .with_context(|| SettingsError::NotWritable { folder: folder.display().to_string() })?;
        fs::write(file.path(), text).context("writing the draft")?;
        let config = Config::load(Some(file.path()), &variables).map_err(|problem| {
            let draft = file.path().display().to_string();
            anyhow::anyhow!("{}", format!("{problem:#}").replace(&draft, &self.shown()))
        })?;
        Ok(Draft { config, variables })
    }

    fn shown(&self) -> String {
        self.path().unwrap_or(Path::new(DEFAULT_FILE)).display().to_string()
    }

    /// Writes the file between two audit records, so that it never changes without one. A first
    /// record without a second one means that the outcome is unknown: the digest of the file tells.
    async fn write_recorded(
        &self,
        before: &str,
        new: &NewText,
        fact: Fact,
        store: &Store,
    ) -> Result<Option<String>> {
        let about = |kind| Fact { kind, ..fact.clone() };
        record(store, about(AuditKind::ConfigurationWriteBegun)).await?;
        let written = self.write(before, new);
        let end = match &written {
            Ok(_) => about(AuditKind::ConfigurationWritten),
            Err(problem) => about(AuditKind::ConfigurationWriteFailed)
                .with("problem", format!("{problem:#}").as_str()),
        };
        if let Err(problem) = record(store, end).await {
            let problem = format!("{problem:#}");
            tracing::error!(problem, "could not record the outcome of a change of the file");
        }
        written
    }

    /// Writes the secrets, a backup and then the file. Returns the name of the backup. If it fails,
    /// no new secret is left behind.
    fn write(&self, before: &str, new: &NewText) -> Result<Option<String>> {
        if new.text == before {
            return Ok(None);
        }
        let (target, folder) = (self.target(), self.folder());
        let mut secrets = NewSecretFiles::default();
        for (name, secret) in &new.secrets {
            secrets.create(&folder, name, secret.expose_secret().trim())?;
        }
        let backup = if target.exists() { Some(back_up(&target)?) } else { None };
        replace(&target, &new.text)?;
        secrets.keep();
        Ok(backup)
    }
}

fn version(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes())[..8])
}

/// The text after the change. `refer` decides how a typed secret is referred to.
fn changed(
    before: &str,
    change: &EntryChange,
    mut refer: impl FnMut(&str, &SecretString) -> NewValue,
) -> Result<String> {
    let id = change.id.trim();
    ensure!(!id.is_empty(), SettingsError::NoEntryId);
    let Some(values) = &change.values else { return edit::remove(before, change.list, id) };
    let texts = values.iter().map(|(key, text)| (key.clone(), NewValue::Text(text.clone())));
    let mut new: BTreeMap<_, _> = texts.collect();
    let typed =
        change.secrets.iter().filter(|(_, secret)| !secret.expose_secret().trim().is_empty());
    new.extend(typed.map(|(key, secret)| (key.clone(), refer(key, secret))));
    edit::put(before, change.list, id, &new)
}

fn difference(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(2).to_string()
}

/// A configuration that has been loaded, but not written.
struct Draft {
    config: Config,
    variables: BTreeMap<String, String>,
}

impl Draft {
    /// Sends a request to the model or the platform of the entry.
    async fn test(&self, list: EntryList, id: &str) -> Result<()> {
        match list {
            EntryList::Models => {
                let models = models::alone(&self.config, &self.variables)?;
                models::test(models.get(id).context("there is no such model")?.as_ref()).await
            }
            EntryList::Channels => {
                let entry = self.config.channels.iter().find(|entry| entry.id == id);
                let entry = entry.context("there is no such channel")?;
                channels::check(entry, &self.variables).await
            }
        }
    }
}

async fn record(store: &Store, fact: Fact) -> Result<()> {
    store.note(fact, SystemClock.now()).await
}

/// Copies the file, with its permissions, and removes the oldest backups.
fn back_up(target: &Path) -> Result<String> {
    let at = SystemClock.now().format("%Y%m%d-%H%M%S-%3f");
    let backup = target.with_file_name(format!("{}{at}", backup_prefix(target)));
    fs::copy(target, &backup).with_context(|| format!("writing {}", backup.display()))?;
    for old in backups(target)?.iter().rev().skip(BACKUPS) {
        fs::remove_file(old).with_context(|| format!("removing {}", old.display()))?;
    }
    Ok(backup.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// The beginning of the names of backups.
fn backup_prefix(target: &Path) -> String {
    format!("{}.backup-", target.file_name().unwrap_or_default().to_string_lossy())
}

/// The backups of the file, the oldest first. They may contain secrets.
pub(super) fn backups(target: &Path) -> io::Result<Vec<PathBuf>> {
    let prefix = backup_prefix(target);
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let there = fs::read_dir(folder.unwrap_or(Path::new(".")))?.flatten().map(|one| one.path());
    let is_backup = |path: &PathBuf| {
        path.file_name().is_some_and(|own| own.to_string_lossy().starts_with(&prefix))
    };
    let mut backups: Vec<_> = there.filter(is_backup).collect();
    backups.sort();
    Ok(backups)
}

/// Replaces the file in one step, with the same permissions; a new one is private.
fn replace(target: &Path, text: &str) -> Result<()> {
    let new = target.with_extension("toml.new");
    // May be left over from a crash.
    let _ = fs::remove_file(&new);
    secret_files::create(&new, text)?;
    let replaced = keep_permissions(target, &new).and_then(|()| fs::rename(&new, target));
    let replaced = replaced.inspect_err(|_| secret_files::remove(&new));
    replaced.with_context(|| format!("replacing {}", target.display()))
}

fn keep_permissions(of: &Path, new: &Path) -> io::Result<()> {
    match of.metadata() {
        Ok(before) => fs::set_permissions(new, before.permissions()),
        Err(_) => Ok(()),
    }
}
