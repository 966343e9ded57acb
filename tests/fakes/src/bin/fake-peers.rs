//! A fake Telegram and a fake language model, for scripts that walk through the program: `fake-peers`.
//!
//! Prints one line of JSON with their addresses and the bot's token. After that, each line of the
//! standard input is a message of Ann to the bot, and each message of the bot is printed as a line
//! of JSON, again when it is edited. The model calls `render_pdf` when it is asked for a report, and
//! `write_file` for a note.

use fakes::{
    llm::{Answer, FakeLlm, Request, text},
    telegram::{FakeTelegram, TOKEN},
};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead as _, Write as _},
    sync::Arc,
    time::Duration,
};

#[tokio::main]
async fn main() -> io::Result<()> {
    let (telegram, model) = (Arc::new(FakeTelegram::start().await), FakeLlm::start().await);
    model.answers(answer);
    let chat = telegram.private("Ann");
    let places = json!({ "telegram": telegram.url(), "token": TOKEN, "model": model.base_url() });
    writeln!(io::stdout(), "{places}")?;
    let ann = telegram.clone();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            ann.user_says(chat, "Ann", &line);
        }
    });
    let mut printed: Vec<String> = Vec::new();
    loop {
        let shown = telegram.messages(chat);
        printed.resize(shown.len(), String::new());
        for (message, printed) in shown.iter().zip(&mut printed) {
            if message.from_bot && *printed != message.text {
                printed.clone_from(&message.text);
                writeln!(io::stdout(), "{}", json!({ "text": message.text }))?;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn answer(request: &Request) -> Answer {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.last().cloned().unwrap_or(Value::Null);
    let asked = last["content"].to_string().to_lowercase();
    if last["role"] == "tool" {
        return text("Done.").into();
    }
    let call =
        |tool: &str, arguments: &Value| text("").call("call_1", tool, &arguments.to_string());
    if asked.contains("report") {
        let markdown = "# Rivers\n\nRivers carry water from the mountains to the sea.\n";
        return call("render_pdf", &json!({ "markdown": markdown, "fileName": "rivers" })).into();
    }
    if asked.contains("note") {
        return call(
            "write_file",
            &json!({ "path": "notes/plants.md", "content": "Water them.\n" }),
        )
        .into();
    }
    text("Hello, this is the connected model.").into()
}
