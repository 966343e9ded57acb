//! Turns per second of one, two and three nodes that share a PostgreSQL server.

use fakes::{llm::FakeLlm, telegram::FakeTelegram};
use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{
    Result, one_turn,
    table::{TOOL, author, under_load},
};

const NODES: usize = 3;

/// `server` is the URL of the server without a database, for example `postgres://postgres@127.0.0.1`.
pub async fn print(binary: &str, server: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "| nodes | plain turns/s | one-tool turns/s |")?;
    writeln!(out, "| ---: | ---: | ---: |")?;
    for count in 1..=NODES {
        let (telegram, model) = (FakeTelegram::start().await, FakeLlm::start().await);
        model.answers(author).forgets_requests();
        let database = format!("bench_{}_{count}", std::process::id());
        run_sql(server, &format!("CREATE DATABASE {database}"))?;
        let nodes = Nodes::start(binary, count, (&telegram, &model), |configuration| {
            configuration + &format!("[store]\nurl = \"{server}/{database}\"\n")
        })?;
        one_turn(&telegram, "First", 0).await;
        // The other nodes start meanwhile.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (plain, _) = under_load(&telegram, &nodes.children[0], "plain").await?;
        let (with_tool, _) = under_load(&telegram, &nodes.children[0], TOOL).await?;
        writeln!(out, "| {count} | {plain:.0} | {with_tool:.0} |")?;
        drop(nodes);
        run_sql(server, &format!("DROP DATABASE {database} WITH (FORCE)"))?;
    }
    Ok(())
}

fn run_sql(server: &str, sql: &str) -> Result<()> {
    let url = format!("{server}/postgres");
    let done = Command::new("psql").args(["-q", &url, "-c", sql]).status()?;
    if done.success() { Ok(()) } else { Err(format!("psql could not run {sql:?}").into()) }
}

/// Processes with one configuration and one folder, which end together.
struct Nodes {
    children: Vec<Child>,
    folder: PathBuf,
}

impl Nodes {
    fn start(
        binary: &str,
        count: usize,
        (telegram, model): (&FakeTelegram, &FakeLlm),
        completed: impl FnOnce(String) -> String,
    ) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("bench-nodes-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let config = folder.join("countersign.toml");
        fs::write(&config, completed(crate::configuration(&folder, 0, (telegram, model))))?;
        let mut nodes = Self { children: Vec::new(), folder };
        for number in 0..count {
            let log = fs::File::create(nodes.folder.join(format!("log{number}")))?;
            let mut command = Command::new(binary);
            command.args(["serve", "--log", "warn", "--config"]).arg(&config);
            nodes.children.push(command.stdout(Stdio::null()).stderr(log).spawn()?);
        }
        Ok(nodes)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = (child.kill(), child.wait());
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
