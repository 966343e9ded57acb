//! The builds of each conversation, in a folder of `data_dir`: the requirement, the best result so far
//! and the compiled program. A record outlives an interrupted call, and is removed by retention.

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{requirement::BuildRequirement, result::BuildResult};
use crate::{
    journal::ids::{CallId, ConversationId},
    tools::atomic_file,
};

/// The maximum number of builds of a conversation. The oldest is removed for a new one.
const MAX_BUILDS: usize = 20;
const RECORD: &str = "build.json";
const PROGRAM: &str = "program";
/// Locked while the build runs.
const LOCK: &str = "lock";

/// The folder with the builds of all conversations.
#[derive(Debug, Clone)]
pub struct BuildRecords {
    root: PathBuf,
}

/// A build as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// By which people and models name it.
    #[serde(alias = "code")]
    pub id: String,
    pub requirement: BuildRequirement,
    /// The best result so far.
    pub result: Option<BuildResult>,
    /// Whether the build has ended.
    pub ended: bool,
    pub began_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildState {
    Running,
    /// The gateway died or the call was stopped.
    Interrupted,
    Works,
    Fails,
}

/// A build that is under way. Its lock is released when this is dropped, or the process ends.
#[derive(Debug)]
pub struct OpenRecord {
    folder: PathBuf,
    _lock: File,
}

/// The last part of the call's id.
pub fn build_id(call: &CallId) -> String {
    let id: Vec<char> = call.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    id[id.len().saturating_sub(8)..].iter().collect()
}

impl BuildRecords {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn folder_of(&self, conversation: &ConversationId) -> PathBuf {
        self.root.join(conversation.as_str())
    }

    /// Begins a build. One of the same call, which was interrupted, is replaced.
    pub fn begin(&self, conversation: &ConversationId, record: &BuildRecord) -> Result<OpenRecord> {
        let place = self.folder_of(conversation);
        let folder = place.join(&record.id);
        if folder.exists() {
            fs::remove_dir_all(&folder).context("replacing an interrupted build")?;
        }
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let lock = File::create(folder.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let open = OpenRecord { folder, _lock: lock };
        open.save(record)?;
        remove_oldest(&place)?;
        Ok(open)
    }

    /// The builds of a conversation, the oldest first. Damaged ones are left out.
    pub fn all(&self, conversation: &ConversationId) -> Vec<(BuildRecord, BuildState)> {
        read_all(&self.folder_of(conversation))
    }

    /// The build with that id, with its compiled program.
    pub fn find(
        &self,
        conversation: &ConversationId,
        id: &str,
    ) -> Option<(BuildRecord, BuildState)> {
        let (mut record, state) =
            self.all(conversation).into_iter().find(|(record, _)| record.id == id.trim())?;
        let program = self.folder_of(conversation).join(&record.id).join(PROGRAM);
        if let Some(result) = &mut record.result {
            result.program = fs::read(program).ok();
        }
        Some((record, state))
    }

    /// Removes the builds of a conversation.
    pub fn remove(&self, conversation: &ConversationId) -> std::io::Result<()> {
        gone(fs::remove_dir_all(self.folder_of(conversation)))
    }

    /// Removes the builds that have not changed since.
    pub fn remove_before(&self, before: SystemTime) -> Result<()> {
        for place in folders(&self.root) {
            for folder in folders(&place) {
                let record = fs::metadata(folder.join(RECORD)).or_else(|_| fs::metadata(&folder));
                let is_old = record.and_then(|about| about.modified()).is_ok_and(|at| at < before);
                if is_old && !is_locked(&folder) {
                    gone(fs::remove_dir_all(&folder))
                        .with_context(|| folder.display().to_string())?;
                }
            }
            // Fails while there are builds in it.
            let _ = fs::remove_dir(&place);
        }
        Ok(())
    }
}

impl OpenRecord {
    /// The folder in which the build works.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Replaces the record at once.
    pub fn save(&self, record: &BuildRecord) -> Result<()> {
        if let Some(program) = record.result.as_ref().and_then(|result| result.program.as_ref()) {
            self.replace(PROGRAM, program)?;
        }
        self.replace(RECORD, &serde_json::to_vec_pretty(record)?)
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        atomic_file::replace(&path, bytes).with_context(|| path.display().to_string())
    }
}

fn read_all(place: &Path) -> Vec<(BuildRecord, BuildState)> {
    let read = |folder: PathBuf| {
        let record: BuildRecord =
            serde_json::from_slice(&fs::read(folder.join(RECORD)).ok()?).ok()?;
        let works = record.result.as_ref().is_some_and(BuildResult::works);
        let state = match (record.ended, works) {
            (true, true) => BuildState::Works,
            (true, false) => BuildState::Fails,
            (false, _) if is_locked(&folder) => BuildState::Running,
            (false, _) => BuildState::Interrupted,
        };
        Some((record, state))
    };
    let mut all: Vec<_> = folders(place).into_iter().filter_map(read).collect();
    all.sort_by_key(|(record, _)| record.began_at);
    all
}

fn remove_oldest(place: &Path) -> Result<()> {
    let all = read_all(place);
    let ended = all.iter().filter(|(_, state)| *state != BuildState::Running);
    for (record, _) in ended.take(all.len().saturating_sub(MAX_BUILDS)) {
        gone(fs::remove_dir_all(place.join(&record.id)))?;
    }
    Ok(())
}

fn is_locked(folder: &Path) -> bool {
    let Ok(lock) = File::open(folder.join(LOCK)) else { return false };
    flock(&lock, FlockOperation::NonBlockingLockShared).is_err()
}

fn folders(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn gone(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(problem) if problem.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock as _, SystemClock};
    use chrono::TimeDelta;
    use serde_json::json;
    use std::time::Duration;

    fn record(id: &str, began_at: DateTime<Utc>) -> BuildRecord {
        let requirement = json!({ "name": "a", "description": "d", "language": "shell",
            "testCases": [{ "name": "t" }] });
        let requirement = serde_json::from_value(requirement).unwrap();
        BuildRecord { id: id.into(), requirement, result: None, ended: false, began_at }
    }

    #[test]
    fn a_build_without_its_process_is_interrupted_and_kept() {
        let (home, own) = (tempfile::tempdir().unwrap(), ConversationId::from("c1"));
        let records = BuildRecords::new(home.path());
        let first = record("one", DateTime::UNIX_EPOCH);
        let open = records.begin(&own, &first).unwrap();
        assert_eq!(records.find(&own, "one").unwrap(), (first.clone(), BuildState::Running));
        assert!(records.find(&ConversationId::from("c2"), "one").is_none());
        drop(open);
        assert_eq!(records.find(&own, " one ").unwrap().1, BuildState::Interrupted);
        let open = records.begin(&own, &first).unwrap();
        open.save(&BuildRecord { ended: true, ..first }).unwrap();
        assert_eq!(records.all(&own)[0].1, BuildState::Fails);
    }

    #[test]
    fn builds_are_removed_by_number_age_and_conversation() {
        let (home, own) = (tempfile::tempdir().unwrap(), ConversationId::from("c1"));
        let records = BuildRecords::new(home.path());
        let id = |n: usize| format!("b{n}");
        for n in 0..MAX_BUILDS + 3 {
            let began_at = DateTime::UNIX_EPOCH + TimeDelta::minutes(n as i64);
            records.begin(&own, &record(&id(n), began_at)).unwrap();
        }
        let kept: Vec<_> = records.all(&own).into_iter().map(|(kept, _)| kept.id).collect();
        assert_eq!((kept.len(), kept.first()), (MAX_BUILDS, Some(&id(3))));
        records
            .remove_before(SystemTime::from(SystemClock.now()) - Duration::from_hours(1))
            .unwrap();
        assert_eq!(records.all(&own).len(), MAX_BUILDS);
        let running = records.begin(&own, &record("now", DateTime::UNIX_EPOCH)).unwrap();
        records
            .remove_before(SystemTime::from(SystemClock.now()) + Duration::from_hours(1))
            .unwrap();
        let kept: Vec<_> = records.all(&own).into_iter().map(|(kept, _)| kept.id).collect();
        assert_eq!(kept, ["now"], "a running build is never removed by age");
        drop(running);
        records.remove(&own).unwrap();
        records.remove(&own).unwrap();
        assert!(records.all(&own).is_empty());
    }
}
