//! The floor: a loop without an agent that makes two durable commits per turn, grouped over all
//! conversations. It polls a Telegram, asks a model and sends the answer, and nothing else.

use serde_json::{Value, json};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::sync::{mpsc, oneshot};

use crate::Result;

/// The maximum number of rows per commit.
const GROUP: usize = 256;

/// A row, and who waits for its commit.
type Row = (String, oneshot::Sender<()>);

#[derive(Clone)]
struct Floor {
    client: reqwest::Client,
    /// The URL of the bot's methods.
    bot: String,
    model: String,
    rows: mpsc::Sender<Row>,
}

/// Never returns, unless a connection fails.
pub async fn run(bot: String, model: String, database: &str) -> Result<()> {
    let options = SqliteConnectOptions::new()
        .filename(database)
        .create_if_missing(true)
        .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal)
        .synchronous(sqlx::sqlite::SqliteSynchronous::Full);
    let mut conn = SqliteConnection::connect_with(&options).await?;
    sqlx::query("CREATE TABLE rows (body TEXT NOT NULL)").execute(&mut conn).await?;
    let (rows, to_write) = mpsc::channel(4_096);
    tokio::spawn(write(conn, to_write));
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder().build()?;
    let floor = Floor { client, bot, model, rows };
    let mut offset = 0;
    loop {
        let asked = json!({ "offset": offset, "timeout": 30 });
        let updates = floor.post(&format!("{}/getUpdates", floor.bot), &asked).await?;
        let updates = updates["result"].as_array().cloned().unwrap_or_default();
        let commits = updates.iter().map(|update| floor.commit(update.to_string()));
        futures::future::try_join_all(commits).await?;
        for update in updates {
            offset = update["update_id"].as_i64().unwrap_or_default() + 1;
            let chat = update["message"]["chat"]["id"].clone();
            let text = update["message"]["text"].as_str().unwrap_or_default().to_owned();
            let floor = floor.clone();
            tokio::spawn(async move { floor.turn(chat, text).await.expect("the fakes answer") });
        }
    }
}

impl Floor {
    async fn turn(&self, chat: Value, text: String) -> Result<()> {
        let mut messages = vec![json!({ "role": "user", "content": text })];
        if text.starts_with(crate::load::TOOL) {
            // A turn with a tool asks the model twice.
            self.ask(&messages).await?;
            let call = json!({ "name": "get_current_datetime", "arguments": "{}" });
            let call = json!({ "id": "c", "type": "function", "function": call });
            messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
            messages.push(json!({ "role": "tool", "tool_call_id": "c", "content": "noon" }));
        }
        self.ask(&messages).await?;
        self.commit("Noted.".to_owned()).await?;
        let message = json!({ "chat_id": chat, "text": "Noted." });
        self.post(&format!("{}/sendMessage", self.bot), &message).await.map(drop)
    }

    async fn ask(&self, messages: &[Value]) -> Result<()> {
        let asked = json!({ "model": "m", "stream": true, "messages": messages });
        let request = self.client.post(format!("{}/chat/completions", self.model));
        let request = request.bearer_auth("k").json(&asked);
        request.send().await?.error_for_status()?.text().await?;
        Ok(())
    }

    async fn post(&self, url: &str, body: &Value) -> Result<Value> {
        Ok(self.client.post(url).json(body).send().await?.json().await?)
    }

    async fn commit(&self, body: String) -> Result<()> {
        let (done, committed) = oneshot::channel();
        self.rows.send((body, done)).await.map_err(|_| "the writer has ended")?;
        Ok(committed.await?)
    }
}

async fn write(mut conn: SqliteConnection, mut rows: mpsc::Receiver<Row>) {
    let mut group = Vec::with_capacity(GROUP);
    while rows.recv_many(&mut group, GROUP).await > 0 {
        let mut open = conn.begin().await.expect("the disk works");
        let mut waiting = Vec::new();
        for (body, done) in group.drain(..) {
            let insert = sqlx::query("INSERT INTO rows (body) VALUES ($1)").bind(body);
            insert.execute(&mut *open).await.expect("the disk works");
            waiting.push(done);
        }
        open.commit().await.expect("the disk works");
        for done in waiting {
            let _ = done.send(());
        }
    }
}
