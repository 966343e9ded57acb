//! What a run shows: a table with one row per database, and the events of the chats in which
//! something went wrong.

use std::{collections::BTreeSet, fmt::Write as _, time::Duration};

use super::{
    check::Kind,
    history::{ApprovalPurpose, Chat, History, Moment},
    run::Outcome,
};

/// The table, as Markdown.
pub fn table(outcomes: &[Outcome]) -> String {
    let mut heads = [
        "database",
        "kills",
        "outages",
        "turns",
        "failed turns",
        "approvals",
        "presses",
        "calls",
        "unknown outcomes",
        "orphans",
    ]
    .map(str::to_owned)
    .to_vec();
    heads.extend(Kind::ALL.map(|kind| kind.title().to_owned()));
    heads.extend(["drained in", "took"].map(str::to_owned));
    let rows: Vec<_> = outcomes.iter().map(cells).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..heads.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<_> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let lines = [line(&heads), line(&rule)].into_iter().chain(rows.iter().map(|row| line(row)));
    lines.collect()
}

fn cells(outcome: &Outcome) -> Vec<String> {
    let history = &outcome.history;
    let unknown = history.chats.iter().flat_map(|chat| &chat.questions);
    let unknown = unknown.filter(|question| question.asks == ApprovalPurpose::Retry).count();
    let counts = [
        history.kills.len(),
        history.outages.len(),
        outcome.turns(),
        outcome.failures(),
        outcome.approvals(),
        outcome.presses(),
        history.runs.len(),
        unknown,
        outcome.orphans(),
    ];
    let violations = Kind::ALL
        .map(|kind| outcome.violations.iter().filter(|violation| violation.kind == kind).count());
    let drained = outcome.drained_in.map_or("not in 60 s".to_owned(), seconds);
    let counts = counts.iter().chain(&violations).map(usize::to_string);
    [outcome.database.name().to_owned()]
        .into_iter()
        .chain(counts)
        .chain([drained, seconds(outcome.took)])
        .collect()
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Every violation, and what happened in the chats that they are about.
pub fn details(outcome: &Outcome) -> String {
    let mut text = String::new();
    for violation in &outcome.violations {
        let _ = writeln!(text, "{violation}");
    }
    let chats: BTreeSet<_> = outcome.violations.iter().filter_map(|found| found.chat).collect();
    let history = &outcome.history;
    for chat in history.chats.iter().filter(|chat| chats.contains(&chat.number)) {
        let _ = write!(text, "\nchat {}\n{}", chat.number, events(history, chat));
    }
    text
}

/// The events of a chat in order of time, and its final messages.
fn events(history: &History, chat: &Chat) -> String {
    let mut events: Vec<(Moment, String)> = Vec::new();
    for said in &chat.said {
        let word = said.request.word();
        events.push((said.at, format!("{} asks to {word} (message {})", said.tag, said.message)));
    }
    for question in &chat.questions {
        let (tag, asks) = (question.tag, question.asks);
        events
            .push((question.at, format!("{tag} is asked about: {asks:?} ({})", question.message)));
    }
    for press in &chat.presses {
        let what = format!("{} presses {:?} on {}", press.by, press.choice, press.message);
        events.push((press.at, what));
    }
    for run in history.runs.iter().filter(|run| run.tag.chat == chat.number) {
        events.push((run.began, format!("{} runs {} on node {}", run.tag, run.tool, run.node)));
        events.extend(run.ended.map(|ended| (ended, format!("{} has run", run.tag))));
    }
    let prompts = history.prompts.iter();
    for prompt in prompts.filter(|prompt| prompt.tags.iter().any(|tag| tag.chat == chat.number)) {
        let tags: Vec<_> = prompt.tags.iter().map(ToString::to_string).collect();
        events.push((prompt.at, format!("the model reads {}", tags.join(" "))));
    }
    let last = events.iter().map(|(at, _)| *at).max().unwrap_or_default();
    for kill in history.kills.iter().filter(|kill| kill.at >= chat.since && kill.at <= last) {
        events.push((kill.at, format!("--- node {} is killed", kill.node)));
    }
    for outage in history.outages.iter().filter(|o| o.to >= chat.since && o.from <= last) {
        events.push((outage.from, "--- the database stops".to_owned()));
        events.push((outage.to, "--- the database is back".to_owned()));
    }
    events.sort_by_key(|(at, _)| *at);
    let mut text = String::new();
    for (at, what) in events {
        let _ = writeln!(text, "{:>9.3}  {what}", at.as_secs_f64());
    }
    for shown in &chat.shown {
        let _ = writeln!(text, "   shown {}: {:?}", shown.message, shown.text);
    }
    text
}
