//! Waits for the answer to a request: text as it grows, until the turn ends or the time limit is
//! reached.
//!
//! Like an open page of the web chat, it reads recorded messages from the database. The hub of the
//! web channel says when to read, and carries drafts. It also polls, since another node may run the
//! turn. The turn does not depend on it: a client that disconnects stops nothing.

use anyhow::Result;
use axum::http::StatusCode;
use channels::{Outgoing, web::WebShown};
use chrono::{DateTime, TimeDelta, Utc};
use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};

use super::{
    claim::{self, message_of},
    error::CompletionError,
    progress::{SentText, TurnEnd, TurnProgress},
    request::{AnswerForm, CompletionRequest},
};
use crate::{
    admin::{Admin, auth::rate_limit::Opened},
    journal::{
        event::{Entry, Usage},
        ids::OutboxId,
    },
    store::{
        api::completions::{self, ClaimedCompletion},
        conversations::{
            history::{self, ShownRow},
            journal,
        },
    },
    texts::PageTexts,
};

/// How often a request polls.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How long a request waits. OpenAI's clients give up after ten minutes.
const WAITS_FOR: TimeDelta = TimeDelta::minutes(9);
/// The maximum number of messages of an answer.
const ROWS: usize = 500;

/// What a request waits for.
pub struct Awaited {
    pub request: CompletionRequest,
    pub claimed: ClaimedCompletion,
    /// The person, who is also the chat.
    pub person: String,
    /// What is shown in the channel, from before the message was stored.
    pub shown: Receiver<WebShown>,
    pub words: &'static PageTexts,
}

/// More of an answer.
pub enum AnswerPart {
    Text(String),
    End(Result<(), CompletionError>),
}

/// An answer that is awaited.
pub struct Answer {
    admin: Arc<Admin>,
    awaited: Awaited,
    polls: Interval,
    until: DateTime<Utc>,
    progress: TurnProgress,
    text: SentText,
    rows: BTreeSet<OutboxId>,
    out: VecDeque<String>,
    ended: Option<Result<(), CompletionError>>,
    /// Whether it has read what is recorded. Before that, a draft may be that of a later turn.
    has_looked: bool,
    _waiting: Opened,
}

impl Answer {
    /// `waiting` counts the waiting requests of the token.
    pub fn new(admin: Arc<Admin>, awaited: Awaited, waiting: Opened) -> Self {
        let mut polls = interval_at(Instant::now(), POLL_INTERVAL);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let claimed = &awaited.claimed;
        Self {
            until: admin.gateway.clock.now() + WAITS_FOR,
            progress: TurnProgress::of(&message_of(claimed), claimed.after),
            admin,
            awaited,
            polls,
            text: SentText::default(),
            rows: BTreeSet::new(),
            out: VecDeque::new(),
            ended: None,
            has_looked: false,
            _waiting: waiting,
        }
    }

    pub fn claimed(&self) -> &ClaimedCompletion {
        &self.awaited.claimed
    }

    pub fn request(&self) -> &CompletionRequest {
        &self.awaited.request
    }

    /// The tokens of the turn, if its model reports them.
    pub fn usage(&self) -> Option<Usage> {
        Some(self.progress.usage).filter(|usage| *usage != Usage::default())
    }

    /// The whole answer.
    pub async fn whole(&mut self) -> Result<String, CompletionError> {
        loop {
            if let AnswerPart::End(ended) = self.next().await {
                return ended.map(|()| self.text.as_str().to_owned());
            }
        }
    }

    /// Waits for more.
    pub async fn next(&mut self) -> AnswerPart {
        let stop = self.admin.stop.clone();
        loop {
            if let Some(text) = self.out.pop_front() {
                return AnswerPart::Text(text);
            }
            if let Some(ended) = self.ended.clone() {
                return AnswerPart::End(ended);
            }
            if !self.has_looked {
                self.has_looked = true;
                self.read_new().await;
                continue;
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => self.ended = Some(Err(CompletionError::stopping())),
                shown = self.awaited.shown.recv() => self.receive(shown).await,
                _ = self.polls.tick() => self.read_new().await,
            }
        }
    }

    async fn receive(&mut self, shown: Result<WebShown, RecvError>) {
        match shown {
            Ok(shown) if !self.is_here(&shown) => {}
            Ok(WebShown { what: Outgoing::Draft { markdown }, .. }) => self.grow(&markdown),
            Ok(WebShown { what: Outgoing::Typing | Outgoing::Toast { .. }, .. }) => {}
            Ok(_) | Err(RecvError::Lagged(_)) => self.read_new().await,
            Err(RecvError::Closed) => self.ended = Some(Err(CompletionError::stopping())),
        }
    }

    fn is_here(&self, shown: &WebShown) -> bool {
        let thread = shown.thread.as_deref().unwrap_or_default();
        shown.chat == self.awaited.person && thread == self.awaited.claimed.thread
    }

    /// A whole answer consists of recorded messages only.
    fn grow(&mut self, draft: &str) {
        if matches!(self.awaited.request.form, AnswerForm::Stream { .. }) {
            self.out.extend(self.text.grow(draft));
        }
    }

    /// Reads what is new, until there is no more.
    async fn read_new(&mut self) {
        while self.look_once().await && self.ended.is_none() {}
    }

    /// Returns whether something was shown in the meantime.
    async fn look_once(&mut self) -> bool {
        let (entries, rows) = match self.read().await {
            Ok(read) => read,
            Err(problem) => {
                let problem = format!("{problem:#}");
                tracing::warn!(problem, "could not poll for the answer to a request");
                if self.admin.gateway.clock.now() >= self.until {
                    self.ended = Some(Err(CompletionError::unavailable()));
                }
                return false;
            }
        };
        for entry in &entries {
            self.progress.apply(entry);
        }
        let mut has_more = false;
        for row in rows {
            has_more |= self.show(row);
        }
        let now = self.admin.gateway.clock.now();
        match self.progress.ended.take() {
            Some((TurnEnd::Failed { reason }, _)) => self.fail(reason).await,
            Some(_) => self.end().await,
            None if now >= self.until => self.leave_pending().await,
            None => {}
        }
        has_more && self.drop_drafts()
    }

    /// The events before the rows: what was recorded together with an event is read after it.
    async fn read(&self) -> Result<(Vec<Entry>, Vec<ShownRow>)> {
        let ClaimedCompletion { conversation, after, .. } = self.awaited.claimed.clone();
        let seen = self.progress.seen;
        let read = self.admin.gateway.store.read(move |tx| {
            Box::pin(async move {
                let entries = journal::events_after(tx, conversation.clone(), seen).await?;
                let rows = history::after(tx, &conversation, after, ROWS).await?;
                Ok((entries, rows))
            })
        });
        read.await
    }

    /// Adds a message to the answer. Returns whether it is new.
    fn show(&mut self, row: ShownRow) -> bool {
        let is_failure = self.progress.failed.is_some_and(|failed| row.seq >= failed);
        // A row of an event that was not read yet is shown with the event.
        if row.seq > self.progress.seen || row.edits.is_some() || is_failure {
            return false;
        }
        if !self.rows.insert(row.id) {
            return false;
        }
        let Some(part) = self.part(row.what) else { return false };
        self.out.extend(self.text.complete(&part));
        true
    }

    fn part(&self, what: Outgoing) -> Option<String> {
        let words = self.awaited.words;
        match what {
            Outgoing::Text { markdown, .. } => Some(markdown),
            Outgoing::Approval { markdown, .. } => {
                let link = format!("{}/console/approvals", self.admin.completions.base);
                let decide = words.completions.decide_at.replace("{link}", &link);
                Some(format!("{markdown}\n\n{decide}"))
            }
            Outgoing::File { name, caption, .. } => {
                let caption = caption.map(|caption| format!("\n\n{caption}")).unwrap_or_default();
                Some(format!("{}: `{name}`{caption}", words.sent_file))
            }
            _ => None,
        }
    }

    /// Discards drafts of messages that were read in their final form. Returns whether other
    /// messages were shown in the meantime.
    fn drop_drafts(&mut self) -> bool {
        let mut has_more = false;
        while let Ok(shown) = self.awaited.shown.try_recv() {
            let passing = matches!(shown.what, Outgoing::Draft { .. } | Outgoing::Typing);
            has_more |= !passing && self.is_here(&shown);
        }
        has_more
    }

    async fn leave_pending(&mut self) {
        let words = &self.awaited.words.completions;
        let awaits_decision = self.progress.awaits_decision();
        let note = if awaits_decision { words.still_undecided } else { words.still_working };
        self.out.extend(self.text.complete(note));
        self.end().await;
    }

    /// Records the answer before the client has all of it, so that its next request finds the
    /// conversation.
    async fn end(&mut self) {
        let history = self.awaited.request.answered(self.text.as_str());
        let (id, seen) = (self.awaited.claimed.id.clone(), self.progress.seen);
        let recorded = self.admin.gateway.store.write("completion answered", move |tx| {
            Box::pin(async move { completions::answered(tx, &id, &history, seen).await })
        });
        if let Err(problem) = recorded.await {
            let problem = format!("{problem:#}");
            tracing::warn!(problem, "could not link a response to its conversation");
        }
        self.ended = Some(Ok(()));
    }

    async fn fail(&mut self, reason: String) {
        claim::release(&self.admin, &self.awaited.claimed, self.progress.seen).await;
        let failed = CompletionError::new(StatusCode::BAD_GATEWAY, "turn_failed", reason);
        self.ended = Some(Err(failed));
    }
}
