//! The databases: SQLite in a file, and a PostgreSQL server of the run's own that can be stopped
//! and started again.

use sqlx::{Connection as _, PgConnection, SqliteConnection};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::process::{Child, Command};

use super::Result;

/// Where Debian has the programs of the server.
const DEBIAN: &str = "/usr/lib/postgresql";
const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// The database's integrity report: `ok`.
pub async fn integrity(url: &str) -> String {
    let checked = if url.starts_with("sqlite:") { sqlite(url).await } else { postgres(url).await };
    checked.unwrap_or_else(|error| error.to_string())
}

async fn sqlite(url: &str) -> sqlx::Result<String> {
    let mut connection = SqliteConnection::connect(url).await?;
    let said: Vec<String> =
        sqlx::query_scalar("PRAGMA integrity_check").fetch_all(&mut connection).await?;
    connection.close().await?;
    Ok(said.join("; "))
}

/// Every index against its table.
async fn postgres(url: &str) -> sqlx::Result<String> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::query("CREATE EXTENSION IF NOT EXISTS amcheck").execute(&mut connection).await?;
    sqlx::query(
        "SELECT bt_index_check(c.oid, true)
        FROM pg_class c
        JOIN pg_am a ON a.oid = c.relam
        WHERE a.amname = 'btree' AND c.relkind = 'i' AND c.relpersistence = 'p'",
    )
    .execute(&mut connection)
    .await?;
    connection.close().await?;
    Ok("ok".to_owned())
}

/// A PostgreSQL server. Dropping it kills it.
pub struct Server {
    programs: PathBuf,
    data: PathBuf,
    port: u16,
    process: Option<Child>,
}

impl Server {
    /// Creates an empty server in the folder and starts it.
    pub async fn create(folder: &Path) -> Result<Self> {
        let programs = programs()?;
        let data = folder.join("postgres");
        fs::create_dir(&data)?;
        if is_root()? {
            let status = Command::new("chown").arg("postgres").arg(&data).status().await?;
            if !status.success() {
                return Err("the server's folder cannot be given to the user postgres".into());
            }
        }
        let initdb = as_postgres(&programs.join("initdb"))?
            .arg("-D")
            .arg(&data)
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8"])
            .output()
            .await?;
        if !initdb.status.success() {
            return Err(format!("initdb: {}", String::from_utf8_lossy(&initdb.stderr)).into());
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut server = Self { programs, data, port, process: None };
        server.start().await?;
        Ok(server)
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns when the server takes connections.
    pub async fn start(&mut self) -> Result<()> {
        let log = self.data.with_extension("log");
        let log = fs::OpenOptions::new().create(true).append(true).open(log)?;
        let port = self.port.to_string();
        // The processes crash, the machine does not: nothing has to reach the disk.
        let settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"];
        let process = as_postgres(&self.programs.join("postgres"))?
            .arg("-D")
            .arg(&self.data)
            .args(["-p", &port])
            .args(settings.iter().flat_map(|setting| ["-c", setting]))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        self.process = Some(process);
        let answers = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(50));
            loop {
                ticks.tick().await;
                if let Ok(connection) = PgConnection::connect(&self.url()).await {
                    return connection.close().await;
                }
            }
        };
        tokio::time::timeout(STARTS_WITHIN, answers).await.map_err(|_| {
            format!("PostgreSQL does not start; see {}", self.data.with_extension("log").display())
        })??;
        Ok(())
    }

    /// An immediate shutdown: all connections are cut, and the next start recovers from the log.
    pub async fn stop(&mut self) -> Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        if let Some(id) = process.id() {
            Command::new("kill").args(["-QUIT", &id.to_string()]).status().await?;
        }
        process.wait().await?;
        Ok(())
    }
}

fn programs() -> Result<PathBuf> {
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().filter_map(std::result::Result::ok);
    let newest = versions
        .map(|entry| entry.path().join("bin"))
        .filter(|bin| bin.join("postgres").exists() && bin.join("initdb").exists())
        .max_by_key(|bin| version(bin));
    if let Some(bin) = newest {
        return Ok(bin);
    }
    let asked = std::process::Command::new("pg_config").arg("--bindir").output();
    let bin = asked.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    match bin {
        Ok(bin) if !bin.is_empty() => Ok(PathBuf::from(bin)),
        _ => Err("PostgreSQL's server programs are not installed (Debian: postgresql)".into()),
    }
}

/// `/usr/lib/postgresql/17/bin` → 17
fn version(bin: &Path) -> u32 {
    let name = bin.parent().and_then(Path::file_name);
    name.and_then(|name| name.to_str()?.parse().ok()).unwrap_or_default()
}

/// PostgreSQL does not run as root. Unlike `runuser`, `setpriv` becomes the program, so that
/// signals reach it.
fn as_postgres(program: &Path) -> Result<Command> {
    if !is_root()? {
        return Ok(Command::new(program));
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
    // The caller's folder may be closed to that user.
    command.current_dir("/");
    Ok(command)
}

fn is_root() -> Result<bool> {
    let status = fs::read_to_string("/proc/self/status")?;
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    Ok(uid.and_then(|ids| ids.split_whitespace().next()) == Some("0"))
}
