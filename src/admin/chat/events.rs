//! The event stream of an open page: the history first, then live events.
//!
//! Recorded messages are read from the database. The hub of the web channel says when to read, and
//! carries what is not recorded (growing text, typing indicators). Since another node may have
//! delivered a message, the stream also polls.

use anyhow::Result;
use axum::{
    Json,
    extract::{Query, State},
    http::HeaderMap,
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use channels::{Outgoing, web::WebShown};
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Interval, MissedTickBehavior, interval_at},
};

use super::{
    activity::Activity,
    participant::Participant,
    timeline::{OlderPage, Timeline},
    timeline_item::{ShownItem, TimelineItem},
};
use crate::{
    admin::{
        Admin,
        auth::rate_limit::Opened,
        code_html::CodeBudget,
        language,
        markdown_html::{self, from_markdown},
        problem::Problem,
    },
    journal::event::Seq,
};

/// How often a page polls.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The interval of keep-alive messages, so that proxies keep the connection open.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

pub async fn events(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut polls = interval_at(tokio::time::Instant::now() + POLL_INTERVAL, POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut page = Page {
        timeline: Timeline::new(&participant, language::of(&headers)),
        last_activity: None,
        // Subscribe before the past is read, so that nothing is missed.
        shown: participant.web.subscribe(),
        changed: admin.changed.subscribe(),
        polls,
        out: VecDeque::new(),
        ended: false,
        _open: participant.open(&admin)?,
        participant,
        admin: admin.clone(),
    };
    page.send_history().await?;
    let stream = stream::unfold(page, |mut page| async move {
        let event = page.next().await?;
        Some((Ok::<_, Infallible>(event), page))
    });
    let stream = stream.take_until(admin.stop.clone().cancelled_owned());
    let sse = Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE_EVERY));
    // Tells proxies not to buffer the response.
    Ok(([("x-accel-buffering", "no")], sse).into_response())
}

#[derive(Deserialize)]
pub struct OlderQuery {
    before: Seq,
}

/// The items before an event, for a page on which a person scrolls back.
pub async fn older(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    headers: HeaderMap,
    Query(OlderQuery { before }): Query<OlderQuery>,
) -> Result<Json<OlderPage>, Problem> {
    let timeline = Timeline::new(&participant, language::of(&headers));
    Ok(Json(timeline.older(&admin, before).await?))
}

/// One open page.
struct Page {
    admin: Arc<Admin>,
    participant: Participant,
    timeline: Timeline,
    /// The activity that the page was sent last.
    last_activity: Option<Activity>,
    shown: Receiver<WebShown>,
    changed: Receiver<String>,
    polls: Interval,
    out: VecDeque<Event>,
    ended: bool,
    _open: Option<Opened>,
}

impl Page {
    async fn send_history(&mut self) -> Result<()> {
        let items = self.timeline.new_items(&self.admin).await?;
        let before = self.timeline.before;
        self.push("past", &json!({ "items": items, "before": before }));
        self.send_activity();
        Ok(())
    }

    /// Waits for the next event; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.out.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            tokio::select! {
                biased;
                shown = self.shown.recv() => self.receive(shown).await,
                changed = self.changed.recv() => match changed {
                    Ok(person) if person != self.participant.speaker.id => {}
                    Ok(_) | Err(RecvError::Lagged(_)) => self.refresh_if_admitted().await,
                    Err(RecvError::Closed) => self.ended = true,
                },
                _ = self.polls.tick() => self.refresh_if_admitted().await,
            }
        }
    }

    async fn receive(&mut self, shown: Result<WebShown, RecvError>) {
        match shown {
            Ok(shown) if !self.is_here(&shown) => {}
            Ok(shown) => self.forward(shown).await,
            Err(RecvError::Lagged(_)) => self.refresh(Vec::new()).await,
            Err(RecvError::Closed) => self.ended = true,
        }
    }

    async fn forward(&mut self, shown: WebShown) {
        match shown.what {
            Outgoing::Draft { markdown } => self.push_markdown("draft", vec![markdown]).await,
            Outgoing::Typing => self.push("typing", &json!({})),
            Outgoing::Toast { text, .. } => self.push("toast", &json!({ "text": text })),
            _ => self.refresh(vec![shown]).await,
        }
    }

    async fn refresh_if_admitted(&mut self) {
        match self.participant.is_still_admitted(&self.admin).await {
            Ok(true) => self.refresh(Vec::new()).await,
            Ok(false) => {
                self.push("signed_out", &json!({}));
                self.ended = true;
            }
            Err(problem) => log_problem(&problem),
        }
    }

    /// Reads what is new. Messages that are not in the database (a reply to a stranger) are sent as
    /// they are.
    async fn refresh(&mut self, mut received: Vec<WebShown>) {
        loop {
            let items = match self.timeline.new_items(&self.admin).await {
                Ok(items) => items,
                Err(problem) => return log_problem(&problem),
            };
            // Before the items: a page keeps the beginning of an answer whose turn has failed.
            self.send_activity();
            let passing = |item: &TimelineItem| {
                matches!(item.what, ShownItem::Said { .. } | ShownItem::Call { .. })
            };
            let answers = items.iter().any(|item| !passing(item));
            if !items.is_empty() {
                self.push("items", &json!({ "items": items }));
            }
            let more = if answers { self.drain() } else { Vec::new() };
            if more.is_empty() {
                break;
            }
            received.extend(more);
        }
        let unrecorded = received.into_iter().filter_map(|shown| {
            let known = self.timeline.has(&shown.key) || shown.replaces.is_some();
            match shown.what {
                Outgoing::Text { markdown, .. } if !known => Some(markdown),
                _ => None,
            }
        });
        let unrecorded: Vec<_> = unrecorded.collect();
        if !unrecorded.is_empty() {
            self.push_markdown("aside", unrecorded).await;
        }
    }

    /// Takes what the hub has after an answer was found. Growing text is outdated then, because the
    /// answer is its final form.
    fn drain(&mut self) -> Vec<WebShown> {
        let mut rows = Vec::new();
        while let Ok(shown) = self.shown.try_recv() {
            let passing = matches!(shown.what, Outgoing::Draft { .. } | Outgoing::Typing);
            if !passing && self.is_here(&shown) {
                rows.push(shown);
            }
        }
        rows
    }

    fn is_here(&self, shown: &WebShown) -> bool {
        shown.chat == self.participant.speaker.id && shown.thread == self.participant.thread
    }

    /// Tells the page what the conversation does, if that has changed.
    fn send_activity(&mut self) {
        let activity = self.timeline.activity();
        if self.last_activity.as_ref() == Some(&activity) {
            return;
        }
        let now = self.admin.gateway.clock.now();
        let lasts = activity.since.map_or(0, |since| (now - since).num_milliseconds().max(0));
        let hides = self.participant.is_visitor();
        let tools = if hides { &[][..] } else { &activity.tools[..] };
        self.push(
            "activity",
            &json!({
                "state": activity.waits,
                "for_ms": lasts,
                "tools": tools,
                "failed": activity.failed,
            }),
        );
        self.last_activity = Some(activity);
    }

    /// Renders texts, and sends each as an event with this name.
    async fn push_markdown(&mut self, name: &str, texts: Vec<String>) {
        let render = move |budget: &mut CodeBudget| {
            texts.iter().map(|text| from_markdown(text, budget)).collect::<Vec<_>>()
        };
        match markdown_html::rendered(render).await {
            Ok(rendered) => {
                for html in rendered {
                    self.push(name, &json!({ "html": html }));
                }
            }
            Err(problem) => log_problem(&problem),
        }
    }

    fn push(&mut self, name: &str, what: &Value) {
        self.out.push_back(Event::default().event(name).data(what.to_string()));
    }
}

/// The page keeps what it has and polls again.
fn log_problem(problem: &anyhow::Error) {
    tracing::warn!(problem = format!("{problem:#}"), "could not poll for an open page");
}
