//! A server on a port of its own, with a database in a temporary folder.

use async_trait::async_trait;
use channels::{
    Button, Channel, Delivery, FileRef, Incoming, IncomingContent, Intake, Limits as Shows,
    ListenError, Outgoing, Person, Receipt, SendError, WebhookError, WebhookRequest, web::Web,
};
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::{Mutex, RwLock};
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use sandbox::Sandbox;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    super::{Admin, place_of, serve},
    setup::Setup,
};
use crate::{
    admin::{
        auth::rate_limit::Proxies,
        push::{Push, notify},
    },
    agent::{approvers::Approvers, limits::DailyLimits, redact::Redactor},
    clock::Clock as _,
    gateway::{ChannelSettings, Connected, Gateway, people::Allow},
    journal::{
        event::{ApprovalPurpose, Event, Speaker},
        ids::{ApprovalId, CallId, ConversationId},
    },
    store::{
        Store, StoreOptions,
        approvals::request::NewApproval,
        conversations::{journal, record::ConversationChange},
        db::Durability,
        files::Artifacts,
        people::{self, AccessTokenKind},
    },
    testing::ManualClock,
    texts::{Language, PossibleChoices},
    tools::{builder::records::BuildRecords, mcp::server::Servers, web::client::WebClient},
    worker::{
        Worker, Workspaces, agent_cache::AgentCache, fetch::FetchBudget, guard_context::RuleBook,
        hooks::HookSandbox, session_cache::SessionCache,
    },
};

/// The site that shows the chat `site` to its visitors.
pub const SHOP: &str = "https://shop.example";

pub struct World {
    pub folder: TempDir,
    pub gateway: Arc<Gateway>,
    pub clock: Arc<ManualClock>,
    pub base: String,
    pub stop: CancellationToken,
    pub serving: JoinHandle<anyhow::Result<()>>,
    /// The only private address to which notifications are sent.
    pub push_listener: Mutex<Option<TcpListener>>,
    http: reqwest::Client,
}

impl World {
    pub async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    pub async fn with(setup: Setup) -> Self {
        let Setup { bot, demo, allow, roles, messages_per_minute, upload_bytes, models } = setup;
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        let clock = Arc::new(ManualClock::new(DateTime::from_timestamp(1_800_000_000, 0).unwrap()));
        let web = Arc::new(Web::new("web"));
        let site = Arc::new(Web::new("site").embedded(vec![SHOP.into()]));
        let stop = CancellationToken::new();
        let settings = ChannelSettings { roles, ..ChannelSettings::default() };
        let gateway = Arc::new(Gateway {
            store,
            clock: clock.clone(),
            artifacts: Artifacts::new(folder.path().join("artifacts")),
            channels: BTreeMap::from([
                ("web".to_owned(), Connected { allow, settings, ..connected(web.clone()) }),
                ("site".to_owned(), connected(site.clone())),
                ("hook".to_owned(), connected(Arc::new(Hook(web.limits().clone())))),
            ]),
            messages_per_minute,
            models,
            prompts: crate::tools::mcp::prompts::PromptCommands::default(),
            rate_limiter: crate::gateway::rate_limit::RateLimiter::default(),
            breakers: Arc::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        let webs = BTreeMap::from([("site".to_owned(), site), ("web".to_owned(), web)]);
        let proxies = Proxies::from_list(&["127.0.0.1".to_owned()]).unwrap();
        let limits = DailyLimits { upload_bytes, ..DailyLimits::default() };
        let worker = worker(gateway.clone(), limits, &folder);
        let admin = Admin::new(worker, webs, demo).with_trusted_proxies(proxies);
        let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let push_service = format!("127.0.0.1:{}", inside.local_addr().unwrap().port());
        let web_client = WebClient::new([push_service].into()).unwrap();
        let admin = admin.with_push(Push::new(web_client, None));
        let admin = Arc::new(admin.with_bot_name(bot));
        gateway.tasks.spawn(notify::notify(admin.clone()));
        let push_listener = Mutex::new(Some(inside));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let serving = gateway.tasks.spawn(serve(admin, listener, stop.clone()));
        Self { folder, gateway, clock, base, stop, serving, push_listener, http: http() }
    }

    /// The same database as another process sees it.
    pub async fn other_node(&self) -> Store {
        open(&self.folder).await
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.base))
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.base))
    }

    pub fn put(&self, path: &str) -> RequestBuilder {
        self.http.put(format!("{}{path}", self.base))
    }

    pub fn delete(&self, path: &str) -> RequestBuilder {
        self.http.delete(format!("{}{path}", self.base))
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base))
    }

    pub async fn sign_in_token(&self, name: &str) -> String {
        let token = uuid::Uuid::new_v4().to_string();
        let (name, own, now) = (name.to_owned(), token.clone(), self.clock.now());
        self.gateway
            .store
            .write("test", move |tx| {
                Box::pin(async move {
                    let ends = now + TimeDelta::minutes(15);
                    people::grant_access(
                        tx,
                        people::NewAccess {
                            kind: AccessTokenKind::SignIn,
                            name: &name,
                            token: &own,
                        },
                        now,
                        ends,
                    )
                    .await
                })
            })
            .await
            .unwrap();
        token
    }

    pub async fn redeem(&self, token: &str) -> Response {
        self.post("/sign-in").form(&[("token", token)]).send().await.unwrap()
    }

    /// Signs in; the cookie.
    pub async fn signed_in(&self, name: &str) -> String {
        let answer = self.redeem(&self.sign_in_token(name).await).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    pub async fn say(&self, cookie: &str, id: &str, text: &str) -> Response {
        let message = json!({ "id": id, "text": text });
        let request = self.post("/chat/messages").header("cookie", cookie).json(&message);
        request.send().await.unwrap()
    }

    pub async fn page(&self, cookie: &str) -> OpenPage {
        OpenPage::of(self.get("/chat/events").header("cookie", cookie)).await
    }

    /// A request of a browser on a page of another site.
    pub fn ask_at(&self, origin: &str, method: Method) -> RequestBuilder {
        let url = format!("{}/widget/site/visitors", self.base);
        self.http.request(method, url).header("origin", origin)
    }

    pub async fn conversation(&self, person: &str) -> ConversationId {
        let (place, now) = (place_of(person), self.clock.now());
        let store = &self.gateway.store;
        let begun = store.write("test", move |tx| {
            Box::pin(async move { journal::conversation(tx, "web", &place, now).await })
        });
        begun.await.unwrap()
    }

    pub async fn events(&self, person: &str) -> Vec<Event> {
        let conversation = self.conversation(person).await;
        let entries = self.gateway.store.events_after(&conversation, 0).await.unwrap();
        entries.into_iter().map(|entry| entry.event).collect()
    }

    /// Stores a message of the agent, which nothing delivers.
    pub async fn show(&self, store: &Store, person: &str, what: Outgoing) {
        let conversation = self.conversation(person).await;
        let now = self.clock.now();
        store
            .write("test", move |tx| {
                Box::pin(async move {
                    crate::store::outbox::put(tx, &conversation, vec![what], now).await
                })
            })
            .await
            .unwrap();
    }

    /// Requests an approval from this person, who has written a message.
    pub async fn ask(&self, person: &str) -> ApprovalId {
        self.ask_of(person, Approvers::default()).await
    }

    /// Requests an approval from these approvers.
    pub async fn ask_of(&self, person: &str, approvers: Approvers) -> ApprovalId {
        let claimed = self.gateway.store.claim(10, self.clock.now()).await.unwrap();
        let turn = claimed.into_iter().find(|c| c.place.chat == person).expect("somebody spoke");
        let id = ApprovalId::new();
        let question = Outgoing::Approval {
            markdown: "Allow **note_save**?".into(),
            approval: id.to_string(),
            choices: Language::English.words().choices(
                ApprovalPurpose::Allow,
                PossibleChoices { conversation: true, ..PossibleChoices::default() },
            ),
            reply_to: None,
        };
        let asked = NewApproval {
            id: id.clone(),
            call: CallId::new(),
            asks: ApprovalPurpose::Allow,
            tool: "note_save".into(),
            arguments: json!({}),
            digest: String::new(),
            title: "Allow **note_save**?".into(),
            requester: Speaker { id: person.to_owned(), name: person.to_owned() },
            approvers,
            proposal: None,
            offers: vec![Button::Allow, Button::AllowConversation, Button::Deny].into(),
            expires_at: self.clock.now() + TimeDelta::minutes(30),
            file: None,
            shows: vec![question],
        };
        let seen = self.gateway.store.last_seq(turn.lease.conversation()).await.unwrap();
        let change =
            ConversationChange { asked: vec![asked], seen, ..ConversationChange::default() };
        self.gateway.store.record(&turn.lease, change, self.clock.now()).await.unwrap();
        id
    }

    pub async fn press(&self, cookie: &str, approval: &ApprovalId, key: &str) -> String {
        let press = json!({ "approval": approval.as_str(), "key": key });
        let request = self.post("/chat/press").header("cookie", cookie).json(&press);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        answer["text"].as_str().unwrap().to_owned()
    }
}

/// A worker without agents or tools.
fn worker(gateway: Arc<Gateway>, limits: DailyLimits, folder: &TempDir) -> Arc<Worker> {
    let shared = BTreeMap::new();
    Arc::new(Worker {
        gateway,
        agents: RwLock::default(),
        models: BTreeMap::new(),
        toolbox: Arc::default(),
        mcp_servers: Servers::default(),
        sessions: SessionCache::default(),
        workspaces: Workspaces {
            root: folder.path().join("workspaces"),
            shared,
            builds: BuildRecords::new(folder.path().join("builds")),
        },
        shared_memory: BTreeSet::new(),
        rules: RuleBook::default(),
        fetching: FetchBudget::default(),
        transcriber: None,
        agent_cache: AgentCache::default(),
        hooks: vec![],
        hook_sandbox: HookSandbox {
            sandbox: Arc::new(Sandbox::off("a test")),
            data: folder.path().to_owned(),
            hidden: Vec::new(),
        },
        redactor: Redactor::default(),
        limits,
        retention: crate::store::retention::Retention::default(),
    })
}

async fn open(folder: &TempDir) -> Store {
    let path = folder.path().join("test.db");
    let options = StoreOptions { durability: Durability::Normal, ..StoreOptions::default() };
    Store::open(&format!("sqlite://{}", path.display()), options).await.unwrap()
}

fn connected(channel: Arc<dyn Channel>) -> Connected {
    Connected {
        rate_limits: channel.limits().rate_limits,
        channel,
        allow: Allow::Everybody,
        agent: "main".into(),
        model: "main".into(),
        settings: ChannelSettings::default(),
        alone: false,
    }
}

fn http() -> reqwest::Client {
    // It is already set if another test of this process ran before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    client.timeout(Duration::from_mins(1)).build().unwrap()
}

/// The event stream of a page.
pub struct OpenPage {
    response: Response,
    text: String,
}

impl OpenPage {
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Self { response, text: String::new() }
    }

    /// The next event; `None` once the stream has ended.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        let limit = Duration::from_secs(20);
        tokio::time::timeout(limit, self.read()).await.expect("an event within 20 s")
    }

    /// The next event of that name.
    pub async fn until(&mut self, name: &str) -> Value {
        loop {
            let (own, value) = self.next().await.expect("the stream has not ended");
            if own == name {
                return value;
            }
        }
    }

    async fn read(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
                };
                let (name, told) = (field("event: "), field("data: "));
                self.text = rest.to_owned();
                if let (Some(name), Some(told)) = (name, told) {
                    return Some((name, serde_json::from_str(&told).unwrap()));
                }
                continue;
            }
            let chunk = self.response.chunk().await.ok().flatten()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

/// A platform that pushes; the body of a request says how it responds.
struct Hook(Shows);

#[async_trait]
impl Channel for Hook {
    fn id(&self) -> &'static str {
        "hook"
    }

    fn limits(&self) -> &Shows {
        &self.0
    }

    async fn listen(
        &self,
        _intake: Intake,
        _from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        stop.cancelled().await;
        Ok(())
    }

    async fn webhook(&self, request: &WebhookRequest) -> Result<Vec<Incoming>, WebhookError> {
        if request.header("x-secret") != Some("right") {
            return Err(WebhookError::Forbidden);
        }
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let what = match body.as_str() {
            "panic" => panic!("as the test asked"),
            "malformed" => return Err(WebhookError::Malformed("as the test asked".into())),
            "unparsed" => IncomingContent::Unparsed { raw: body.clone() },
            text => IncomingContent::Text {
                message: "1".into(),
                text: text.to_owned(),
                reply_to: None,
                addressed: true,
                files: vec![],
                album: None,
                quoted_author: None,
            },
        };
        let person = Person {
            id: "7".into(),
            name: "Ann".into(),
            language: None,
            is_bot: false,
            roles: vec![],
            roles_unknown: false,
        };
        let at: DateTime<Utc> = DateTime::UNIX_EPOCH;
        let place = place_of("7");
        Ok(vec![Incoming { key: body, at, place, person: Some(person), what }])
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        Ok(Receipt { message: delivery.key.clone() })
    }

    async fn fetch(&self, _file: &FileRef) -> Result<bytes::Bytes, SendError> {
        Err(SendError::Rejected("no files".into()))
    }
}
