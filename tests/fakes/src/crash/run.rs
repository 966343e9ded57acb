//! One run on one database: the world is set up, processes are killed, everything comes to its end,
//! and what was recorded is checked.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{task::JoinSet, time::Instant};

use super::{
    Database, Options, Result,
    check::{self, Violation},
    database::{self, Server},
    faults,
    gateway::Gateway,
    history::{Choice, History, Request, Run, Shown, tags},
    model,
    people::{OUTSIDER, Slot},
    random::Random,
    record::{Record, unanswered},
    report,
    trial::Trial,
};
use crate::{
    llm::FakeLlm,
    telegram::{FakeTelegram, TOKEN},
    tools::{ToolServer, tool},
};

/// Everything must have come to its end so long after the last kill.
pub const DRAINS_WITHIN: Duration = Duration::from_mins(1);
/// What has not come to its end even then is given up, and counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// As short as the gateway takes it.
pub(super) const LEASE: Duration = Duration::from_secs(6);
/// So long the run looks for what comes late: what a dead process held is free again by then.
const QUIET: Duration = Duration::from_secs(8);
/// Looked for in everything that the gateway writes.
const KEY: &str = "sk-crash-test-secret";
/// Ids that people of the platform get; the first one is the outsider's.
const PEOPLE: std::ops::Range<i64> = 501..6_000;

/// What came of a run.
pub struct Outcome {
    pub database: Database,
    pub history: History,
    pub violations: Vec<Violation>,
    /// From the last kill until everything had come to its end.
    pub drained_in: Option<Duration>,
    pub took: Duration,
    /// Where databases and logs are.
    pub folder: PathBuf,
}

/// Choices of different parts of a run do not depend on each other.
#[derive(Clone, Copy)]
enum Stream {
    Kills = 1,
    Platform,
    Model,
    Tools,
    /// And one more for each conversation.
    People,
}

pub async fn run(options: &Options, database: Database, folder: PathBuf) -> Result<Outcome> {
    let started = Instant::now();
    fs::create_dir_all(&folder)?;
    let mut world = World::set_up(options, database, &folder).await?;
    world.trial.start().await?;
    let mut people = world.people(options.people);
    world.trial.kill_all(options.kills, |trial| progress(database, options.kills, trial)).await?;
    let last_kill = Instant::now();
    world.record.close();
    let drained = world.finish(&mut people, DRAINS_WITHIN).await?;
    let drained_in = drained.then(|| last_kill.elapsed());
    let mut undrained = Vec::new();
    if drained {
        world.rest(QUIET).await?;
    } else {
        undrained = world.unfinished();
        world.finish(&mut people, LOST_AFTER).await?;
    }
    let history = world.end(undrained).await?;
    let violations = check::violations(&history);
    Ok(Outcome { database, history, violations, drained_in, took: started.elapsed(), folder })
}

/// The gateway and everything that it talks to.
pub struct World {
    random: Box<dyn Fn(Stream, usize) -> Random + Send + Sync>,
    record: Arc<Record>,
    pub telegram: FakeTelegram,
    pub llm: FakeLlm,
    pub tools: Arc<ToolServer>,
    url: String,
    pub trial: Trial,
}

impl World {
    /// Starts everything but the gateway itself.
    pub async fn set_up(options: &Options, database: Database, folder: &Path) -> Result<Self> {
        let (seed, nodes) = (options.seed, database.nodes());
        let random = move |stream: Stream, more: usize| {
            Random::new(seed, (nodes * 1_000 + stream as usize + more) as u64)
        };
        let record = Arc::new(Record::new());
        let telegram = FakeTelegram::start().await;
        telegram.person(OUTSIDER);
        telegram.goes_wrong(faults::author(record.clone(), random(Stream::Platform, 0)));
        let llm = FakeLlm::start().await;
        llm.forgets_requests().answers(model::author(record.clone(), random(Stream::Model, 0)));
        let tools = Arc::new(tools(random(Stream::Tools, 0)).await);
        let server = match database {
            Database::Sqlite => None,
            Database::Postgres => Some(Server::create(folder).await?),
        };
        let url = match &server {
            None => format!("sqlite://{}", folder.join("countersign.db").display()),
            Some(server) => server.url(),
        };
        let gateway = Gateway::new(&options.binary, folder, nodes)
            .variable("TELEGRAM_BOT_TOKEN", TOKEN)
            .variable("OPENAI_API_KEY", KEY);
        for node in 0..nodes {
            let places = [url.as_str(), &llm.base_url(), &telegram.url(), &tools.url(node)];
            fs::write(folder.join(format!("node{node}.toml")), configuration(places))?;
        }
        let kills = random(Stream::Kills, 0);
        let trial = Trial::new(gateway, server, record.clone(), tools.clone(), kills);
        Ok(Self { random: Box::new(random), record, telegram, llm, tools, url, trial })
    }

    fn people(&self, count: usize) -> JoinSet<()> {
        let mut people = JoinSet::new();
        for number in 0..count {
            let random = (self.random)(Stream::People, number);
            let (telegram, record) = (self.telegram.clone(), self.record.clone());
            people.spawn(Slot { telegram, record, number, random }.live());
        }
        people
    }

    /// Whether everybody has got to an end in that time.
    async fn finish(&mut self, people: &mut JoinSet<()>, within: Duration) -> Result<bool> {
        let everybody = async { while people.join_next().await.is_some() {} };
        tokio::select! {
            finished = tokio::time::timeout(within, everybody) => Ok(finished.is_ok()),
            failed = self.trial.keep_running() => failed.map(|()| false),
        }
    }

    async fn rest(&mut self, time: Duration) -> Result<()> {
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            failed = self.trial.keep_running() => failed,
        }
    }

    /// Records the current messages of every chat.
    fn look(&self) {
        for chat in self.record.chats().iter_mut() {
            let shown = self.telegram.messages(chat.id).into_iter().filter(|m| m.from_bot);
            let shown = shown.map(|message| Shown { message: message.id, text: message.text });
            chat.shown = shown.collect();
        }
    }

    /// Records when the bot had each edit at the latest.
    fn date_edits(&self) {
        for chat in self.record.chats().iter_mut() {
            for said in chat.said.iter_mut().filter(|said| said.tag.edited) {
                let confirmed = self.telegram.edit_confirmed_at(chat.id, said.message);
                let confirmed = confirmed.map(|instant| self.record.moment_of(instant));
                said.arrived = said.arrived.max(confirmed.unwrap_or_default());
            }
        }
    }

    fn unfinished(&self) -> Vec<String> {
        self.look();
        let mut open: Vec<_> = self.record.chats().iter().flat_map(unanswered).collect();
        if open.is_empty() {
            open.push("a question that was decided is still shown as open".to_owned());
        }
        open
    }

    /// Stops the processes, and collects everything that was recorded.
    async fn end(mut self, undrained: Vec<String>) -> Result<History> {
        let mut exits = self.trial.gateway.stop().await?;
        exits.append(&mut self.trial.exits);
        let integrity = database::integrity(&self.url).await;
        if let Some(server) = &mut self.trial.server {
            server.stop().await?;
        }
        self.look();
        self.date_edits();
        let chats = self.record.chats().clone();
        Ok(History {
            chats,
            runs: runs(&self.record, &self.tools),
            prompts: self.record.prompts(),
            kills: self.trial.kills,
            outages: self.trial.outages,
            unconfirmed: self.record.unconfirmed.get(),
            undrained,
            exits,
            malformed: self.llm.problems(),
            secrets: secrets(self.trial.gateway.folder())?,
            integrity,
        })
    }
}

/// Both tools have effects; what they do takes a moment, now and then some seconds.
async fn tools(mut random: Random) -> ToolServer {
    let tools = [Request::Note, Request::Launch]
        .map(|request| tool(request.word(), "Does it", model::ARGUMENT));
    let takes = move || {
        if random.percent(10) { random.millis(2_000, 4_000) } else { random.millis(5, 800) }
    };
    ToolServer::start(tools.to_vec(), takes).await
}

/// The configuration of one node: the database, the model, the platform and the tools are there.
fn configuration([url, model, platform, tools]: [&str; 4]) -> String {
    let allow: Vec<_> = PEOPLE.map(|id| format!("\"{id}\"")).collect();
    let (allow, lease, server) = (allow.join(", "), LEASE.as_secs(), model::SERVER);
    format!(
        r#"data_dir = "data"
[store]
url = "{url}"
lease_duration = "{lease}s"
[admin]
listen = "127.0.0.1:0"
[limits]
messages_per_minute = 0
[guard]
approvers = "members"
[[guard.rules]]
name = "notes"
tool = "{server}_note"
action = "allow"
[[models]]
id = "main"
provider = "openai"
base_url = "{model}"
api_key = {{ env = "OPENAI_API_KEY" }}
model = "gpt-5"
[[channels]]
id = "tg"
kind = "telegram"
token = {{ env = "TELEGRAM_BOT_TOKEN" }}
api_url = "{platform}"
allow = [{allow}]
[[mcp]]
name = "{server}"
url = "{tools}"
tier = "core"
"#
    )
}

fn runs(record: &Record, tools: &ToolServer) -> Vec<Run> {
    let runs = tools.executions().into_iter().filter_map(|execution| {
        let (tag, _) = *tags(execution.arguments[model::ARGUMENT].as_str()?).first()?;
        Some(Run {
            tag,
            tool: execution.tool,
            node: execution.caller,
            began: record.moment_of(execution.began),
            ended: execution.ended.map(|ended| record.moment_of(ended)),
        })
    });
    runs.collect()
}

/// The files below the folder that contain a secret of the configuration.
fn secrets(folder: &Path) -> Result<Vec<String>> {
    let (_, token) = TOKEN.split_once(':').expect("a bot token has two halves");
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            if text.contains(token) || text.contains(KEY) {
                found.push(path.display().to_string());
            }
        }
    }
    Ok(found)
}

fn progress(database: Database, kills: usize, trial: &Trial) {
    if trial.kills.len().is_multiple_of(10) {
        let (killed, answered) = (trial.kills.len(), trial.record.answered.get());
        let name = database.name();
        writeln!(std::io::stderr(), "{name}: {killed} of {kills} kills, {answered} answers").ok();
    }
}

impl Outcome {
    /// Questions that people have decided.
    pub fn approvals(&self) -> usize {
        let decided = |text: &str| text.contains("Allowed") || text.contains("Denied");
        let chats = self.history.chats.iter();
        let decided = chats.flat_map(|chat| {
            chat.questions.iter().filter(|question| decided(chat.text_of(question.message)))
        });
        decided.count()
    }

    pub fn turns(&self) -> usize {
        let chats = self.history.chats.iter();
        chats.map(|chat| chat.said.iter().filter(|said| !said.replaced).count()).sum()
    }

    /// Turns that ended with a notice of failure.
    pub fn failures(&self) -> usize {
        let chats = self.history.chats.iter();
        chats.map(|chat| chat.shown.iter().filter(|shown| shown.is_failure()).count()).sum()
    }

    /// Placeholders that were left behind.
    pub fn orphans(&self) -> usize {
        let chats = self.history.chats.iter();
        chats.map(|chat| chat.shown.iter().filter(|shown| shown.is_orphan()).count()).sum()
    }

    /// Presses of all kinds.
    pub fn presses(&self) -> usize {
        self.history.chats.iter().map(|chat| chat.presses.len()).sum()
    }

    /// Calls that were repeated with a person's consent.
    pub fn repeated(&self) -> usize {
        let chats = self.history.chats.iter();
        let again = chats.flat_map(|chat| &chat.presses);
        again.filter(|press| press.choice == Choice::Again).count()
    }

    /// Writes everything about the chats with violations into the folder.
    pub fn save(&self) -> Result<()> {
        fs::write(self.folder.join("violations.txt"), report::details(self))?;
        Ok(())
    }
}
