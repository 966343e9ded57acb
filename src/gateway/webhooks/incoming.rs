//! Incoming webhooks: checks who sent a request and records it, once, as the next event of a
//! conversation, which starts a turn.

use anyhow::{Context as _, Result};
use channels::{Place, WebhookRequest};
use chrono::{DateTime, Utc};
use minijinja::{
    Environment, UndefinedBehavior, context,
    value::{Serde, Value},
};
use serde_json::Value as Json;
use std::{collections::BTreeMap, time::Duration};

use super::{
    body,
    signature::{SharedSecret, SignatureError, Verify, verified},
};
use crate::{
    gateway::Gateway,
    journal::event::{Event, Speaker},
    store::{Tx, channels::inbox, conversations::journal, metrics::committed, usage},
};

/// The maximum number of template instructions that are executed.
const FUEL: u64 = 50_000;
/// The maximum length of the rendered text, in characters; the rest is cut off.
const LONGEST: usize = 20_000;
const TEMPLATE: &str = "template";
/// The request headers that a template can use besides the body.
const HEADERS: &[&str] = &["x-github-event", "x-gitlab-event", "user-agent", "content-type"];

/// The configuration of one incoming webhook.
#[derive(Debug, Clone)]
pub struct IncomingWebhook {
    pub name: String,
    pub verify: Verify,
    /// The current key and, during rotation, the previous one.
    pub keys: Vec<SharedSecret>,
    pub channel: String,
    pub place: Place,
    /// The requester on whose behalf the agent acts.
    pub by: Speaker,
    template: Environment<'static>,
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// The request is stored.
    Accepted,
    /// A request with the same id was stored before.
    Repeated,
    /// Slack's URL verification, which has to be echoed.
    Challenged(String),
    Refused(SignatureError),
    /// The template failed, which the sender cannot fix.
    TemplateFailed(String),
    RateLimited(Duration),
}

/// Who sends requests, and how they are verified.
pub struct WebhookSource {
    pub name: String,
    pub verify: Verify,
    pub keys: Vec<SharedSecret>,
}

/// The conversation in which the agent receives a request.
pub struct Target {
    pub channel: String,
    pub place: Place,
    /// The requester on whose behalf the agent acts.
    pub by: Speaker,
}

impl IncomingWebhook {
    /// Uses the given template or, by default, passes the whole body to the agent.
    pub fn with_template(sender: WebhookSource, target: Target, template: &str) -> Result<Self> {
        let WebhookSource { name, verify, keys } = sender;
        let Target { channel, place, by } = target;
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        environment.add_template_owned(TEMPLATE, template.to_owned()).context("template")?;
        Ok(Self { name, verify, keys, channel, place, by, template: environment })
    }

    fn render_text(&self, request: &WebhookRequest) -> Result<String, minijinja::Error> {
        let payload = body::payload(request);
        let headers: BTreeMap<_, _> =
            HEADERS.iter().filter_map(|name| Some((*name, request.header(name)?))).collect();
        let template = self.template.get_template(TEMPLATE).expect("the template was added above");
        let (payload, headers) = (Value::from(Serde(payload)), Value::from(Serde(headers)));
        let mut text =
            template.render(context! { name => self.name.as_str(), payload, headers })?;
        if let Some((at, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(at);
            text.push_str("\n[cut]");
        }
        Ok(text)
    }
}

/// Stores the request if it is signed with one of the keys.
pub async fn take(
    gateway: &Gateway,
    webhook: &IncomingWebhook,
    request: &WebhookRequest,
) -> Result<WebhookOutcome> {
    let taken = taken(gateway, webhook, request).await?;
    let outcome = match &taken {
        WebhookOutcome::Accepted | WebhookOutcome::Challenged(_) => "accepted",
        WebhookOutcome::Repeated => {
            tracing::info!(webhook.name = webhook.name, "a repeated webhook starts no turn");
            "repeated"
        }
        WebhookOutcome::Refused(_) => "refused",
        WebhookOutcome::TemplateFailed(_) => "invalid",
        WebhookOutcome::RateLimited(_) => "rate_limited",
    };
    metrics::counter!(committed::WEBHOOKS_IN, "outcome" => outcome).increment(1);
    Ok(taken)
}

async fn taken(
    gateway: &Gateway,
    webhook: &IncomingWebhook,
    request: &WebhookRequest,
) -> Result<WebhookOutcome> {
    let now = gateway.clock.now();
    let id = match verified(webhook.verify, &webhook.keys, request, now) {
        Ok(id) => id,
        Err(refused) => return Ok(WebhookOutcome::Refused(refused)),
    };
    if let Some(challenge) = challenge(request).filter(|_| webhook.verify == Verify::Slack) {
        return Ok(WebhookOutcome::Challenged(challenge));
    }
    let text = match webhook.render_text(request) {
        Ok(text) => text,
        Err(problem) => return Ok(WebhookOutcome::TemplateFailed(problem.to_string())),
    };
    let (webhook, limit) = (webhook.clone(), gateway.messages_per_minute);
    let write = gateway.store.write("webhook", move |tx| {
        Box::pin(async move { write_down(tx, &webhook, Readable { id, text }, limit, now).await })
    });
    write.await
}

fn challenge(request: &WebhookRequest) -> Option<String> {
    let body: Json = serde_json::from_slice(&request.body).ok()?;
    let asked = body["type"] == "url_verification";
    body["challenge"].as_str().filter(|_| asked).map(str::to_owned)
}

/// A request that was verified: its id, and the text for the agent.
struct Readable {
    id: String,
    text: String,
}

async fn write_down(
    tx: &mut Tx<'_>,
    webhook: &IncomingWebhook,
    Readable { id, text }: Readable,
    limit: u32,
    now: DateTime<Utc>,
) -> Result<WebhookOutcome> {
    // A channel name cannot contain a slash.
    let channel = format!("hooks/{}", webhook.name);
    if inbox::was_seen(tx, &channel, &id).await? {
        return Ok(WebhookOutcome::Repeated);
    }
    match usage::flood(tx, &channel, limit, now).await? {
        usage::Admission::Accepted => {}
        usage::Admission::Rejected(wait) => return Ok(WebhookOutcome::RateLimited(wait)),
        usage::Admission::RejectedSilently => {
            return Ok(WebhookOutcome::RateLimited(Duration::from_mins(1)));
        }
    }
    if !inbox::first_seen(tx, &channel, &id, now).await? {
        return Ok(WebhookOutcome::Repeated);
    }
    let conversation = journal::conversation(tx, &webhook.channel, &webhook.place, now).await?;
    let source = format!("webhook {}", webhook.name);
    journal::append(tx, &conversation, &Event::Tainted { source }, now).await?;
    let (hook, by) = (webhook.name.clone(), webhook.by.clone());
    journal::append(tx, &conversation, &Event::WebhookReceived { hook, by, text }, now).await?;
    Ok(WebhookOutcome::Accepted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use channels::PlaceKind;

    fn render_text(template: &str, body: &str) -> Result<String, minijinja::Error> {
        let place = Place { chat: "7".into(), thread: None, kind: PlaceKind::Private };
        let by = Speaker { id: "7".into(), name: "ci".into() };
        let sender = WebhookSource { name: "ci".into(), verify: Verify::Standard, keys: vec![] };
        let target = Target { channel: "room".into(), place, by };
        let webhook = IncomingWebhook::with_template(sender, target, template).unwrap();
        let headers = vec![("x-github-event".into(), "push".into()), ("cookie".into(), "c".into())];
        webhook.render_text(&WebhookRequest { headers, body: body.to_owned().into() })
    }

    #[test]
    fn a_template_selects_parts_of_the_payload() {
        let text = "{{ headers['x-github-event'] }} by {{ payload.by.name }}{{ payload.no.such }}";
        assert_eq!(render_text(text, r#"{"by":{"name":"<Ann>"}}"#).unwrap(), "push by <Ann>");
        assert_eq!(render_text("{{ payload }}{{ headers.cookie }}", "no json").unwrap(), "no json");
        // The body is never evaluated as a template.
        assert_eq!(render_text("{{ payload.x }}", r#"{"x":"{{ name }}"}"#).unwrap(), "{{ name }}");
    }

    #[test]
    fn a_template_ends_and_is_bounded() {
        let endless = "{% for a in payload %}{% for b in payload %}{{ b }}{% endfor %}{% endfor %}";
        let many = serde_json::to_string(&vec!["x"; 1_000]).unwrap();
        assert!(render_text(endless, &many).is_err());
        let long = serde_json::to_string(&"ä".repeat(30_000)).unwrap();
        assert_eq!(render_text("{{ payload }}", &long).unwrap().chars().count(), LONGEST + 6);
    }
}
