//! Turns per second of one, two and three nodes that share a PostgreSQL server.

use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{
    Fakes, Result,
    load::{TOOL, under_load},
    one_turn, scratch,
};

const NODES: usize = 3;

/// `server` is the URL of the server without a database, for example `postgres://postgres@127.0.0.1`.
pub async fn print(binary: &str, server: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "| nodes | plain turns/s | one-tool turns/s |")?;
    writeln!(out, "| ---: | ---: | ---: |")?;
    for count in 1..=NODES {
        let fakes = Fakes::start().await;
        let telegram = &fakes.telegram;
        let database = format!("bench_{}_{count}", std::process::id());
        run_sql(server, &format!("CREATE DATABASE {database}"))?;
        let store = format!("[store]\nurl = \"{server}/{database}\"\n");
        let nodes = Nodes::start(binary, count, &fakes, &store)?;
        one_turn(telegram, "First", 0).await;
        // The other nodes start meanwhile.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let plain = under_load(telegram, &nodes.children[0], "plain").await?;
        let with_tool = under_load(telegram, &nodes.children[0], TOOL).await?;
        let (plain, with_tool) = (plain.turns_per_second, with_tool.turns_per_second);
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
    /// Starts nodes whose configuration ends with `store`.
    fn start(binary: &str, count: usize, fakes: &Fakes, store: &str) -> Result<Self> {
        let folder = scratch("nodes")?;
        let config = folder.join("countersign.toml");
        fs::write(&config, crate::configuration(&folder, 0, fakes) + store)?;
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
