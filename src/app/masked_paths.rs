//! Paths that are hidden from sandboxed programs: the gateway's own files, and credentials in home
//! folders.

use std::path::{Path, PathBuf};

use super::{secret_files::SECRETS, settings_file};
use crate::{
    config::{Config, secret::Secret},
    store::db::{backup, modes},
};

/// Credentials and shell histories in home folders.
const HOME_PATHS: [&str; 28] = [
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/google-chrome",
    ".config/op",
    ".config/rclone",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".mysql_history",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".psql_history",
    ".pypirc",
    ".python_history",
    ".ssh",
    ".terraform.d",
    ".thunderbird",
    ".vault-token",
    ".zsh_history",
];

/// The paths to hide, if they exist when a program starts.
pub(super) fn hidden(config: &Config) -> Vec<PathBuf> {
    let secrets = config.secrets().filter_map(|secret| match secret {
        Secret::File { file } => Some(file.clone()),
        Secret::Plain(_) | Secret::Env { .. } => None,
    });
    let workspaces = config.agents.iter().filter_map(|agent| agent.workspace.clone());
    let database = backup::file_of(&config.store_url());
    let database = database.into_iter().flat_map(|file| modes::database_files(&file));
    let beside = config.file.parent().unwrap_or(Path::new("")).join(".env");
    // Secrets that are not used any more, and earlier versions of the file.
    let file = absolute(&config.file);
    let earlier = settings_file::backups(&file).unwrap_or_default();
    let unused = file.parent().unwrap_or(Path::new("")).join(SECRETS);
    let home = std::env::home_dir();
    let at_home = home.iter().flat_map(|home| HOME_PATHS.iter().map(|name| home.join(name)));
    [config.data_dir.clone(), config.file.clone(), beside, ".env".into(), unused]
        .into_iter()
        .chain(earlier)
        .chain(secrets)
        .chain(workspaces)
        .chain(database)
        .chain(at_home)
        .map(|path| absolute(&path))
        .collect()
}

pub(super) fn absolute(path: &Path) -> PathBuf {
    let real = path.canonicalize().or_else(|_| std::path::absolute(path));
    real.unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hides the configuration, its secret files, other agents' folders and the database.
    /// Proves S16.
    #[test]
    fn files_of_the_gateway_are_hidden_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let text = format!(
            "data_dir = {:?}\nstore.url = \"sqlite://{}?mode=rwc\"\n\
             [[models]]\nid = \"m\"\nprovider = \"demo\"\nmodel = \"demo\"\n\
             api_key = {{ file = {:?} }}\n\
             [[agents]]\nid = \"a\"\nmodel = \"m\"\nworkspace = {:?}\n",
            at("data"),
            at("elsewhere.db").display(),
            at("key"),
            at("work"),
        );
        let file = at("countersign.toml");
        std::fs::write(&file, text).unwrap();
        let config = Config::load(Some(&file), &<_>::default()).unwrap();
        let hidden = hidden(&config);
        for name in
            ["data", "elsewhere.db", "elsewhere.db-wal", "key", "work", "countersign.toml", ".env"]
        {
            assert!(hidden.contains(&at(name)), "{name} is not among {hidden:?}");
        }
        let ssh = std::env::home_dir().unwrap().join(".ssh");
        assert!(hidden.contains(&absolute(&ssh)));
    }

    #[test]
    fn a_database_is_hidden_however_its_address_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("other.db");
        let shown = file.display();
        for url in [format!("sqlite:{shown}"), format!("sqlite://{shown}?mode=rwc")] {
            let variables = [("COUNTERSIGN__STORE__URL".to_owned(), url.clone())].into();
            let hidden = hidden(&Config::load(None, &variables).unwrap());
            for path in modes::database_files(&file) {
                assert!(
                    hidden.contains(&path),
                    "{url}: {} is not among {hidden:?}",
                    path.display()
                );
            }
        }
    }

    #[test]
    fn earlier_versions_and_secrets_of_the_configuration_are_hidden() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let (file, backup) = (at("cs.toml"), at("cs.toml.backup-20260504-100000-000"));
        for file in [&file, &backup] {
            std::fs::write(file, "").unwrap();
        }
        let hidden = hidden(&Config::load(Some(&file), &<_>::default()).unwrap());
        for path in [file, backup, at("secrets")] {
            assert!(hidden.contains(&path), "{} is not among {hidden:?}", path.display());
        }
    }
}
