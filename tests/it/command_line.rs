//! The command line, as an operator uses it.

use insta::assert_snapshot;
use std::fs;

use crate::{
    process::{On, Site},
    shown::stable,
};

/// The same configuration means the same database, whatever the working directory.
#[tokio::test]
async fn the_data_folder_is_beside_the_configuration_file() {
    let (site, elsewhere) = (Site::new(On::Sqlite).await, tempfile::tempdir().unwrap());
    let file = site.path("countersign.toml");
    fs::write(&file, "[admin]\nlisten = \"127.0.0.1:0\"\n").unwrap();
    let file = file.to_str().unwrap();
    let archive = site.path("b.tar");
    for arguments in [
        &["migrate", "--config", file][..],
        &["token", "--config", file],
        &["backup", "--config", file, archive.to_str().unwrap()],
    ] {
        let (good, said) = site.run_in(elsewhere.path(), arguments).await;
        assert!(good, "{arguments:?}: {said}");
    }
    assert!(site.path("data/countersign.db").exists());
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "nothing is left here");
    let (good, said) = site.run(&["token", "list"]).await;
    assert!(good && said.contains("link of \"owner\""), "{said}");
    site.end().await;
}

/// A variable is relative to the working directory, like the arguments of a command.
#[tokio::test]
async fn a_path_in_a_variable_starts_at_the_working_directory() {
    let (mut site, elsewhere) = (Site::new(On::Sqlite).await, tempfile::tempdir().unwrap());
    fs::write(site.path("countersign.toml"), "data_dir = \"data\"\n").unwrap();
    site.variable("COUNTERSIGN__DATA_DIR", "mine");
    let file = site.path("countersign.toml");
    let arguments = ["migrate", "--config", file.to_str().unwrap()];
    let (good, said) = site.run_in(elsewhere.path(), &arguments).await;
    assert!(good, "{said}");
    assert!(elsewhere.path().join("mine/countersign.db").exists());
    assert!(!site.path("data").exists());
    site.end().await;
}

/// Only the commands that run a gateway or prepare one create a database.
#[tokio::test]
async fn a_database_that_does_not_exist_is_not_created_by_accident() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:0", "");
    let archive = site.path("b.tar");
    let archive = archive.to_str().unwrap();
    let files = || site.files().into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    let before = files();
    for arguments in [
        &["token"][..],
        &["token", "list"],
        &["pair"],
        &["backup", archive],
        &["check"],
        &["audit", "show"],
        &["audit", "verify"],
        &["guard", "export"],
        &["guard", "test", "shell", "{}"],
        &["mcp", "list"],
    ] {
        let (good, said) = site.run(arguments).await;
        assert!(!good, "{arguments:?}: {said}");
        let expected = "Error: there is no database at <folder>/countersign.db: pass the --config of \
             the gateway, or run `countersign migrate` for a new one";
        assert_eq!(stable(&said).trim(), expected, "{arguments:?}");
    }
    let (good, said) = site.run(&["doctor"]).await;
    assert!(good && said.contains("countersign.db does not exist yet"), "{said}");
    let (good, said) = site.run(&["guard", "list"]).await;
    assert!(good, "{said}");
    assert_eq!(files(), before, "nothing was created");
    assert!(!site.path("data").exists());
    site.end().await;
}

/// An earlier release took `data_dir` as relative to the working directory: a start does not silently
/// begin with an empty database.
#[tokio::test]
async fn data_of_an_earlier_release_is_not_forgotten() {
    let (site, elsewhere) = (Site::new(On::Sqlite).await, tempfile::tempdir().unwrap());
    fs::write(site.path("countersign.toml"), "").unwrap();
    fs::create_dir(elsewhere.path().join("data")).unwrap();
    fs::write(elsewhere.path().join("data/countersign.db"), "").unwrap();
    let file = site.path("countersign.toml");
    for command in ["serve", "migrate", "token"] {
        let arguments = [command, "--config", file.to_str().unwrap()];
        let (good, said) = site.run_in(elsewhere.path(), &arguments).await;
        assert!(!good, "{command}: {said}");
        let expected = "Error: there is no database at <folder>/data/countersign.db, but one in \
             <folder>/data: data_dir is relative to the configuration file now. Move that folder, or \
             set data_dir to it";
        assert_eq!(stable(&said).trim(), expected, "{command}");
    }
    assert!(!site.path("data").exists());
    site.end().await;
}

/// `--listen` replaces the configured address, and a port that is taken is reported with both ways to
/// choose another.
#[tokio::test]
async fn the_address_is_chosen_on_the_command_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let site = Site::new(On::Sqlite).await;
    site.configure(&address, "");
    let (good, said) = site.run(&["serve"]).await;
    assert!(!good && said.contains("--listen"), "{said}");
    assert!(said.contains("COUNTERSIGN__ADMIN__LISTEN"), "{said}");
    let mut running = site.asks(&["serve", "--listen", "localhost:0"]);
    running.greeted().await;
    assert!(running.url().starts_with("http://127.0.0.1:"), "{}", running.said());
    let ready = reqwest::get(format!("{}/readyz", running.url())).await.unwrap();
    assert_eq!(ready.status(), 200);
    running.stop().await;
    let (good, said) = site.run(&["serve", "--listen", "localhost"]).await;
    assert!(!good && said.contains("an address with a port such as 127.0.0.1:8642"), "{said}");
    site.end().await;
}

/// An error of the user is one sentence, also with RUST_BACKTRACE.
#[tokio::test]
async fn an_error_of_the_user_has_no_backtrace() {
    let mut site = Site::new(On::Sqlite).await;
    site.variable("RUST_BACKTRACE", "1");
    let (good, said) = site.run(&["render", "nothing.md", "--to", "pdf"]).await;
    assert!(!good, "{said}");
    assert_snapshot!(said, @"Error: reading nothing.md: No such file or directory (os error 2)");
    site.end().await;
}

/// `countersign pair | head -1`
#[tokio::test]
async fn output_that_nobody_reads_is_not_an_error() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:0", "");
    site.migrate().await;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ran = tokio::process::Command::new(crate::sandbox::BINARY)
        .arg("pair")
        .current_dir(site.path(""))
        .stdout(writer)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.is_empty(), "{said}");
    site.end().await;
}

/// `render` names the file that it wrote.
#[tokio::test]
async fn a_rendered_document_is_named() {
    let site = Site::new(On::Sqlite).await;
    fs::write(site.path("t.csv"), "a,b\n1,2\n").unwrap();
    let (good, said) = site.run(&["render", "t.csv", "--to", "xlsx"]).await;
    assert!(good, "{said}");
    assert_snapshot!(said, @"Wrote t.xlsx.");
    site.end().await;
}
