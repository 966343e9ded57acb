//! `countersign backup` and `restore`.

use std::fs;

use crate::support::process::{On, Site};

/// A gateway, and the archive with its backup.
async fn backed_up() -> (Site, String) {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:0", "");
    site.migrate().await;
    let archive = site.path("b.tar").display().to_string();
    let (good, said) = site.run(&["backup", &archive]).await;
    assert!(good, "{said}");
    (site, archive)
}

/// The folder of the database may be missing, too.
#[tokio::test]
async fn a_database_on_another_file_system_is_restored() {
    let (site, archive) = backed_up().await;
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let folder = memory.path().join("database");
    let url = format!("sqlite://{}", folder.join("own.db").display());
    let config = format!("data_dir = \"data\"\n[store]\nurl = {url:?}\n");
    fs::write(disk.path().join("countersign.toml"), config).unwrap();
    let (good, said) = site.run_in(disk.path(), &["restore", &archive]).await;
    assert!(good, "{said}");
    let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name());
    assert_eq!(files.collect::<Vec<_>>(), ["own.db"]);
    let (good, said) = site.run_in(disk.path(), &["backup", "again.tar"]).await;
    assert!(good, "{said}");
}

/// SQLite would apply the log of a database that was deleted to the restored one.
#[tokio::test]
async fn a_log_without_its_database_stops_a_restore() {
    let (site, archive) = backed_up().await;
    for end in ["-wal", "-journal"] {
        let home = site.elsewhere().await;
        home.configure("127.0.0.1:0", "");
        let log = home.path(&format!("countersign.db{end}"));
        fs::write(&log, "").unwrap();
        let (good, said) = home.run(&["restore", &archive]).await;
        assert!(!good && said.contains(&format!("countersign.db{end} already exists")), "{said}");
        assert!(!home.path("countersign.db").exists());
        fs::remove_file(log).unwrap();
        let (good, said) = home.run(&["restore", &archive]).await;
        assert!(good, "{said}");
    }
}

/// On PostgreSQL, the archive does not contain the database. Both commands say what to do about it,
/// and an archive does not fit a database of the other kind.
#[tokio::test]
async fn a_backup_on_postgres_contains_only_the_files() {
    let site = Site::new(On::Postgres).await;
    site.configure("127.0.0.1:0", "");
    let archive = site.path("b.tar").display().to_string();
    let (good, said) = site.run(&["backup", &archive]).await;
    let contents = "b.tar contains only these folders of data_dir: artifacts, workspaces, builds, \
        skills, mcp_servers, mcp_logins. It contains neither the configuration and its secrets, \
        nor WASM tools, nor folders outside of data_dir. The database is PostgreSQL: dump it with \
        pg_dump before the files, so that no artifact is missing.";
    assert!(good && said.contains(contents), "{said}");

    let (on_sqlite, archive_of_sqlite) = backed_up().await;
    let (home, other_home) = (site.elsewhere().await, on_sqlite.elsewhere().await);
    home.configure("127.0.0.1:0", "");
    other_home.configure("127.0.0.1:0", "");
    for (at, archive, reason) in [
        (&home, &archive_of_sqlite, "a gateway on SQLite; store.url is PostgreSQL"),
        (&other_home, &archive, "a gateway on PostgreSQL; store.url is SQLite"),
    ] {
        let (good, said) = at.run(&["restore", archive]).await;
        assert!(!good && said.contains(reason), "{said}");
    }
    let (good, said) = home.run(&["restore", &archive]).await;
    let restored = "The files of the backup were restored. Restore the database with pg_restore, \
        then start the gateway.";
    assert!(good && said.contains(restored), "{said}");
    home.end().await;
    site.end().await;
}
