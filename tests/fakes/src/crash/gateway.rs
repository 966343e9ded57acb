//! The processes of the gateway: started, killed and stopped.

use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::process::{Child, Command};

use super::Result;

/// What a process prints when it is ready.
const GREETING: &str = "Countersign is running";
/// How long a process may need for an orderly stop.
const STOPS_WITHIN: Duration = Duration::from_secs(30);

/// One node: a process that is started again and again with the same configuration.
struct Node {
    child: Option<Child>,
    starts: usize,
}

/// All nodes of one gateway.
pub struct Gateway {
    binary: PathBuf,
    folder: PathBuf,
    variables: Vec<(String, String)>,
    nodes: Vec<Node>,
}

impl Gateway {
    /// The configuration of node n is `node<n>.toml` in the folder.
    pub fn new(binary: &Path, folder: &Path, nodes: usize) -> Self {
        let nodes = (0..nodes).map(|_| Node { child: None, starts: 0 }).collect();
        Self { binary: binary.to_owned(), folder: folder.to_owned(), variables: vec![], nodes }
    }

    /// A variable of every process. They have no others.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many there are.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub fn start(&mut self, node: usize) -> Result<()> {
        self.nodes[node].starts += 1;
        let log = OpenOptions::new().create(true).append(true).open(self.log(node))?;
        let child = Command::new(&self.binary)
            .args(["serve", "--log", "info", "--config", &format!("node{node}.toml")])
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(File::create(self.output(node))?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{} cannot be started: {error}", self.binary.display()))?;
        self.nodes[node].child = Some(child);
        Ok(())
    }

    fn log(&self, node: usize) -> PathBuf {
        self.folder.join(format!("node{node}.log"))
    }

    fn output(&self, node: usize) -> PathBuf {
        self.folder.join(format!("node{node}.out"))
    }

    /// Whether the process has said that it is ready.
    pub fn is_ready(&self, node: usize) -> bool {
        fs::read_to_string(self.output(node)).is_ok_and(|said| said.contains(GREETING))
    }

    pub fn runs(&self, node: usize) -> bool {
        self.nodes[node].child.is_some()
    }

    /// `kill -9`
    pub async fn kill(&mut self, node: usize) -> Result<()> {
        if let Some(mut child) = self.nodes[node].child.take() {
            child.kill().await?;
        }
        Ok(())
    }

    /// The nodes whose process has ended by itself since the last call, and how.
    pub fn ended(&mut self) -> Result<Vec<(usize, ExitStatus)>> {
        let mut ended = Vec::new();
        for (number, node) in self.nodes.iter_mut().enumerate() {
            if let Some(child) = &mut node.child
                && let Some(status) = child.try_wait()?
            {
                ended.push((number, status));
                node.child = None;
            }
        }
        Ok(ended)
    }

    /// Stops every process in good order, all at once; what went wrong with it.
    pub async fn stop(&mut self) -> Result<Vec<String>> {
        for child in self.nodes.iter().filter_map(|node| node.child.as_ref()) {
            if let Some(id) = child.id() {
                Command::new("kill").args(["-TERM", &id.to_string()]).status().await?;
            }
        }
        let mut problems = Vec::new();
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let Some(mut child) = node.child.take() else { continue };
            match tokio::time::timeout(STOPS_WITHIN, child.wait()).await {
                Ok(status) => {
                    let status = status?;
                    if !status.success() {
                        problems.push(format!("node {number}, when it was to stop: {status}"));
                    }
                }
                Err(_) => problems.push(format!("node {number} did not stop in time")),
            }
        }
        Ok(problems)
    }
}
