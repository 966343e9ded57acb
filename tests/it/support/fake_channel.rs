//! A small stateful platform: messages that are edited in place, buttons with data, files. Like a
//! real platform it outlives the gateway.

use async_trait::async_trait;
use bytes::Bytes;
use channels::{
    Channel, CheckError, ConnectionState, Delivery, FileRef, Incoming, Intake, Limits, ListenError,
    Outgoing, Place, Receipt, SendError, Unit, WebhookError, WebhookRequest,
    limits::{RateLimits, Repeat},
};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub chat: String,
    pub text: String,
    /// Label and data.
    pub buttons: Vec<(String, String)>,
    pub file: Option<(String, Bytes)>,
    pub reply_to: Option<String>,
    /// The number of messages grouped with it.
    pub album: usize,
    pub is_deleted: bool,
}

#[derive(Default)]
struct State {
    messages: Vec<Message>,
    toasts: Vec<String>,
    /// The messages that were reacted to, and how.
    reactions: Vec<(String, String)>,
    faults: VecDeque<Fault>,
    /// Faults of the next toasts.
    toast_faults: VecDeque<SendError>,
    /// The drafts that were shown.
    drafts: Vec<String>,
    typing: usize,
    /// What people have sent, by its id.
    files: BTreeMap<String, Bytes>,
    /// People's roles in a chat.
    roles: BTreeMap<(String, String), Vec<String>>,
    /// The platform does not report roles.
    roles_unknown: bool,
    /// How often the roles of a person were looked up.
    role_lookups: usize,
    /// The next check panics.
    panics: bool,
    /// Faults of a chat, for every send to it.
    chats: BTreeMap<String, SendError>,
    /// Why the token is rejected.
    refused: Option<CheckError>,
    /// A fault of every send.
    down: Option<SendError>,
    hangs: bool,
    /// How many sends have been tried.
    tries: usize,
}

/// Faults of the next sends.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Rejected; nothing is shown.
    Before(SendError),
    /// Shown, but the response is lost.
    After(SendError),
}

#[derive(Clone)]
pub struct FakeChannel {
    state: Arc<Mutex<State>>,
    /// Notified of drafts and typing indicators.
    lively: Arc<Notify>,
    connected: Arc<Notify>,
    recovered: Arc<Notify>,
    name: &'static str,
    pub limits: Limits,
}

impl FakeChannel {
    /// Sets the role that the platform reports for this person in that chat.
    pub fn calls(&self, chat: &str, person: &str, roles: &[&str]) {
        let roles = roles.iter().map(|&role| role.to_owned()).collect();
        self.state.lock().roles.insert((chat.into(), person.into()), roles);
    }

    /// The platform stops or begins to report roles.
    pub fn hides_roles(&self, hides: bool) {
        self.state.lock().roles_unknown = hides;
    }

    pub fn role_lookups(&self) -> usize {
        self.state.lock().role_lookups
    }

    /// The next check panics.
    pub fn panics_when_checked(&self) {
        self.state.lock().panics = true;
    }

    pub fn new() -> Self {
        Self::named("room")
    }

    pub fn named(name: &'static str) -> Self {
        let limits = Limits {
            text: 4096,
            caption: 1024,
            unit: Unit::Utf16,
            upload_bytes: 1_000_000,
            buttons: true,
            repeat: Repeat::EditInPlace,
            typing_for: None,
            drafts: None,
            supports_drafts: false,
            reasons: false,
            pictures: true,
            reactions: false,
            album: 10,
            rate_limits: RateLimits::default(),
        };
        Self {
            state: Arc::default(),
            lively: Arc::default(),
            connected: Arc::default(),
            recovered: Arc::default(),
            name,
            limits,
        }
    }

    pub fn messages(&self) -> Vec<Message> {
        self.state.lock().messages.clone()
    }

    pub fn reactions(&self) -> Vec<(String, String)> {
        self.state.lock().reactions.clone()
    }

    pub fn toasts(&self) -> Vec<String> {
        self.state.lock().toasts.clone()
    }

    pub fn drafts(&self) -> Vec<String> {
        self.state.lock().drafts.clone()
    }

    /// How often "is typing" was shown.
    pub fn typing(&self) -> usize {
        self.state.lock().typing
    }

    /// Waits until a draft or "is typing" is shown.
    pub async fn moves(&self) {
        self.lively.notified().await;
    }

    /// Waits until a gateway starts to listen again.
    pub async fn is_listened_to(&self) {
        self.connected.notified().await;
    }

    /// Rejects the bot's token from now on.
    pub fn refuses(&self, problem: CheckError) {
        self.state.lock().refused = Some(problem);
    }

    /// Accepts the token again.
    pub fn admits(&self) {
        self.state.lock().refused = None;
    }

    /// Every send ends like this from now on.
    pub fn is_down(&self, problem: SendError) {
        self.state.lock().down = Some(problem);
    }

    /// No send gets a response from now on.
    pub fn hangs(&self) {
        self.state.lock().hangs = true;
    }

    pub fn recovers(&self) {
        let mut state = self.state.lock();
        (state.down, state.hangs) = (None, false);
        state.chats.clear();
        drop(state);
        self.recovered.notify_waiters();
    }

    /// How many sends have been tried.
    pub fn tries(&self) -> usize {
        self.state.lock().tries
    }

    pub fn fails_next_toast(&self, problem: SendError) {
        self.state.lock().toast_faults.push_back(problem);
    }

    /// A person has sent that file.
    pub fn has_file(&self, id: &str, bytes: impl Into<Bytes>) {
        self.state.lock().files.insert(id.into(), bytes.into());
    }

    /// Every send to that chat ends like this from now on.
    pub fn breaks(&self, chat: &str, problem: SendError) {
        self.state.lock().chats.insert(chat.into(), problem);
    }

    /// Sends to that chat succeed again.
    pub fn mends(&self, chat: &str) {
        self.state.lock().chats.remove(chat);
    }

    pub fn fails_next(&self, fault: Fault) {
        self.state.lock().faults.push_back(fault);
    }
}

impl State {
    fn show(&mut self, delivery: &Delivery) -> Receipt {
        let place = if let Some(receipt) = &delivery.receipt {
            receipt.message.parse().expect("ours")
        } else {
            let chat = delivery.place.chat.clone();
            let reply_to = delivery.what.reply_to().map(str::to_owned);
            let text = String::new();
            self.messages.push(Message {
                chat,
                text,
                buttons: vec![],
                file: None,
                reply_to,
                album: 1,
                is_deleted: false,
            });
            self.messages.len() - 1
        };
        let message = &mut self.messages[place];
        match &delivery.what {
            Outgoing::Text { markdown, .. } => {
                message.text.clone_from(markdown);
                message.buttons.clear();
            }
            Outgoing::Approval { markdown, choices, .. }
            | Outgoing::Settled { markdown, choices, .. } => {
                let token = delivery.token.as_deref().unwrap_or_default();
                assert!(choices.is_empty() || !token.is_empty(), "buttons have a token");
                message.text.clone_from(markdown);
                message.buttons = choices
                    .iter()
                    .map(|choice| (choice.label.clone(), format!("{token}{}", choice.button.key())))
                    .collect();
            }
            Outgoing::File { name, caption, .. } => {
                message.text = caption.clone().unwrap_or_default();
                let bytes = delivery.bytes.clone().expect("a file has bytes");
                message.file = Some((name.clone(), bytes));
            }
            Outgoing::Placeholder { markdown, .. } | Outgoing::Draft { markdown } => {
                message.text.clone_from(markdown);
            }
            Outgoing::Removal => {
                message.text = "(deleted)".into();
                message.is_deleted = true;
            }
            Outgoing::Typing | Outgoing::Toast { .. } | Outgoing::Reaction { .. } => {
                unreachable!()
            }
        }
        for further in &delivery.album {
            self.show(further);
        }
        let album = delivery.album.len() + 1;
        self.messages[place..].iter_mut().take(album).for_each(|m| m.album = album);
        Receipt { message: place.to_string() }
    }
}

#[async_trait]
impl Channel for FakeChannel {
    fn id(&self) -> &'static str {
        self.name
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    async fn listen(
        &self,
        intake: Intake,
        _from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        if let Some(CheckError::Refused(_)) = self.state.lock().refused {
            return Err(ListenError::Unauthorized { channel: self.name.to_owned() });
        }
        intake.report(ConnectionState::Connected);
        self.connected.notify_one();
        stop.cancelled().await;
        Ok(())
    }

    async fn webhook(&self, _request: &WebhookRequest) -> Result<Vec<Incoming>, WebhookError> {
        Err(WebhookError::Absent)
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        self.state.lock().tries += 1;
        loop {
            let recovered = self.recovered.notified();
            if !self.state.lock().hangs {
                break;
            }
            recovered.await;
        }
        let mut state = self.state.lock();
        if let Some(problem) = &state.down {
            return Err(problem.clone());
        }
        if let Outgoing::Toast { text, .. } = &delivery.what {
            if let Some(problem) = state.toast_faults.pop_front() {
                return Err(problem);
            }
            state.toasts.push(text.clone());
            return Ok(Receipt::nowhere());
        }
        if let Outgoing::Reaction { message, emoji } = &delivery.what {
            state.reactions.push((message.clone(), emoji.clone()));
            return Ok(Receipt::nowhere());
        }
        if matches!(delivery.what, Outgoing::Typing) {
            state.typing += 1;
            self.lively.notify_one();
            return Ok(Receipt::nowhere());
        }
        if let Outgoing::Draft { markdown } = &delivery.what {
            state.drafts.push(markdown.clone());
            self.lively.notify_one();
        }
        if let Some(problem) = state.chats.get(&delivery.place.chat) {
            return Err(problem.clone());
        }
        match state.faults.pop_front() {
            Some(Fault::Before(problem)) => Err(problem),
            Some(Fault::After(problem)) => {
                state.show(delivery);
                Err(problem)
            }
            None => Ok(state.show(delivery)),
        }
    }

    async fn fetch(&self, file: &FileRef) -> Result<Bytes, SendError> {
        let found = self.state.lock().files.get(&file.id).cloned();
        found.ok_or_else(|| SendError::Rejected("no such file".into()))
    }

    async fn roles(&self, place: &Place, person: &str) -> Result<Vec<String>, SendError> {
        let key = (place.chat.clone(), person.to_owned());
        let mut state = self.state.lock();
        state.role_lookups += 1;
        if state.roles_unknown {
            return Err(SendError::Retry { after: None, reason: "no answer".into() });
        }
        if let Some(problem) = state.chats.get(&place.chat) {
            return Err(problem.clone());
        }
        Ok(state.roles.get(&key).cloned().unwrap_or_default())
    }

    async fn check(&self) -> Result<(), CheckError> {
        let mut state = self.state.lock();
        if std::mem::take(&mut state.panics) {
            drop(state);
            panic!("the check panics");
        }
        state.refused.clone().map_or(Ok(()), Err)
    }
}
