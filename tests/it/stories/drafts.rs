//! Streamed answers, which replace their own draft message and no other.

use async_trait::async_trait;
use channels::{
    Batch, Channel, Incoming, Place, PlaceKind,
    discord::{Discord, DiscordConfig},
    telegram::{Mode, Telegram, TelegramConfig},
};
use chrono::TimeDelta;
use countersign::testing::{
    agent::catalog::ToolSpec,
    app::App,
    config::secret::Secret,
    gateway::{
        deliver,
        drafts::{DraftTarget, Drafts},
        receive,
    },
    scripted::{Gate, call, say},
    tools::{Context, Output, Tool, ToolError},
    worker::scheduler,
};
use fakes::{
    discord::{self, FakeDiscord},
    telegram::{self, FakeTelegram},
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{sync::watch, task::JoinHandle};

use super::delegation::staff;
use crate::{
    story,
    support::{process::eventually, tools::Page, world::World},
};

/// What shows a draft.
#[derive(Debug, Clone, Copy)]
enum DraftRequest {
    Message,
    Edit,
}

/// A group on a platform with a socket connection.
#[async_trait]
trait Group: Send + Sync {
    fn channel(&self) -> Arc<dyn Channel>;
    fn chat(&self) -> String;
    /// The next request is sent immediately and has its effect when the platform is released.
    fn holds_next(&self, request: DraftRequest);
    async fn holds_one(&self);
    fn releases_it(&self);
    /// The messages that the bot shows.
    fn shown(&self) -> Vec<String>;
}

struct OnTelegram {
    fake: FakeTelegram,
    chat: i64,
    held: telegram::Held,
}

impl OnTelegram {
    async fn start() -> Box<dyn Group> {
        let fake = FakeTelegram::start().await;
        let chat = fake.group("Team");
        Box::new(Self { fake, chat, held: telegram::Held::default() })
    }
}

#[async_trait]
impl Group for OnTelegram {
    fn channel(&self) -> Arc<dyn Channel> {
        let (id, token) = ("group".to_owned(), telegram::TOKEN.into());
        let (api_url, mode) = (self.fake.url().parse().unwrap(), Mode::Poll);
        Arc::new(Telegram::new(TelegramConfig { id, token, api_url, mode, menus: vec![] }))
    }

    fn chat(&self) -> String {
        self.chat.to_string()
    }

    fn holds_next(&self, request: DraftRequest) {
        let method = match request {
            DraftRequest::Message => "sendMessage",
            DraftRequest::Edit => "editMessageText",
        };
        self.fake.fault(method, telegram::Trouble::Held(self.held.clone()));
    }

    async fn holds_one(&self) {
        self.held.arrived().await;
    }

    fn releases_it(&self) {
        self.held.release();
    }

    fn shown(&self) -> Vec<String> {
        let all = self.fake.messages(self.chat).into_iter();
        all.filter(|message| message.from_bot).map(|message| message.text).collect()
    }
}

struct OnDiscord {
    fake: FakeDiscord,
    held: discord::Held,
}

impl OnDiscord {
    async fn start() -> Box<dyn Group> {
        let fake = FakeDiscord::start().await;
        Box::new(Self { fake, held: discord::Held::default() })
    }
}

#[async_trait]
impl Group for OnDiscord {
    fn channel(&self) -> Arc<dyn Channel> {
        let api_url = Some(self.fake.url().parse().unwrap());
        let usual = DiscordConfig::new("group", discord::TOKEN.into());
        Arc::new(Discord::new(DiscordConfig { api_url, ..usual }))
    }

    fn chat(&self) -> String {
        self.fake.general().to_string()
    }

    fn holds_next(&self, request: DraftRequest) {
        let act = match request {
            DraftRequest::Message => "send",
            DraftRequest::Edit => "edit",
        };
        self.fake.fault(act, discord::Trouble::Held(self.held.clone()));
    }

    async fn holds_one(&self) {
        self.held.arrived().await;
    }

    fn releases_it(&self) {
        self.held.release();
    }

    fn shown(&self) -> Vec<String> {
        self.fake.reads(self.fake.general())
    }
}

/// Ann writes in the group.
async fn ann_writes(world: &mut World, app: &App, group: &dyn Group, text: &str) {
    let what = world.said(text);
    let place = Place { chat: group.chat(), thread: None, kind: PlaceKind::Group };
    let incomings = vec![Incoming { place, ..world.incoming("1", what) }];
    receive::receive(&app.gateway, "group", Batch { incomings, position: None }).await.unwrap();
}

fn turn(app: &App) -> JoinHandle<usize> {
    let worker = app.worker.clone();
    tokio::spawn(async move { worker.advance_ready().await.unwrap() })
}

async fn deliver_all(app: &App) {
    while deliver::deliver_ready(&app.gateway).await.unwrap() > 0 {}
}

/// Moves the clock until the turn has ended, although its draft is still being sent.
async fn no_longer_waits(world: &World, turn: &mut JoinHandle<usize>) {
    while tokio::time::timeout(Duration::from_millis(20), &mut *turn).await.is_err() {
        world.clock.advance(TimeDelta::seconds(6));
    }
}

/// The placeholder takes longer than the five seconds for which the answer waits.
async fn a_late_placeholder(world: &mut World, group: Box<dyn Group>) {
    world.more_channels = vec![group.channel()];
    let app = world.node().await;
    let gate = Gate::new();
    world.model_will(say("One two three").pausing(&gate));
    ann_writes(world, &app, group.as_ref(), "count").await;
    group.holds_next(DraftRequest::Message);
    let mut turn = turn(&app);
    group.holds_one().await;
    gate.open();
    no_longer_waits(world, &mut turn).await;
    deliver_all(&app).await;
    assert_eq!(group.shown(), ["One two three"], "the answer waits no longer");
    group.releases_it();
    world.settle(&app).await;
    assert_eq!(group.shown(), ["One two three"], "what came too late is deleted");
    world.model_will(say("Again."));
    ann_writes(world, &app, group.as_ref(), "and?").await;
    world.settle(&app).await;
    assert_eq!(group.shown(), ["One two three", "Again."], "an older message stays as it is");
}

/// An edit of the placeholder takes longer than the answer waits.
async fn a_late_edit(world: &mut World, group: Box<dyn Group>) {
    world.more_channels = vec![group.channel()];
    let app = world.node().await;
    let gate = Gate::new();
    world.model_will(say("One two three").pausing(&gate));
    ann_writes(world, &app, group.as_ref(), "count").await;
    group.holds_next(DraftRequest::Edit);
    let mut turn = turn(&app);
    group.holds_one().await;
    gate.open();
    no_longer_waits(world, &mut turn).await;
    deliver_all(&app).await;
    let shown = group.shown();
    let [_draft, answer] = &shown[..] else { panic!("the draft is replaced: {shown:?}") };
    assert_eq!(answer, "One two three");
    group.releases_it();
    world.settle(&app).await;
    assert_eq!(group.shown(), ["One two three"], "the edit did not change the answer");
}

/// A reminder fires and a command is answered while the answer is being streamed.
async fn others_while_it_grows(world: &mut World, group: Box<dyn Group>) {
    world.more_channels = vec![group.channel()];
    let app = world.node().await;
    world.model_will(call("remind", json!({ "text": "Tea", "in": "20 minutes" })));
    world.model_will(say("Noted."));
    ann_writes(world, &app, group.as_ref(), "remind me").await;
    world.settle(&app).await;
    assert_eq!(group.shown(), ["Noted."]);
    // The turn may not take 20 minutes.
    world.clock.advance(TimeDelta::minutes(10));
    let gate = Gate::new();
    world.model_will(say("One two three").pausing(&gate));
    ann_writes(world, &app, group.as_ref(), "count").await;
    world.clock.advance(TimeDelta::seconds(2));
    let turn = turn(&app);
    let grows = async || (group.shown().get(1)?.trim() == "One two").then_some(());
    eventually("the answer grows", grows).await;
    world.clock.advance(TimeDelta::minutes(10));
    assert_eq!(scheduler::fire_due(&app.worker).await.unwrap(), 1);
    ann_writes(world, &app, group.as_ref(), "/status").await;
    deliver_all(&app).await;
    world.clock.advance(TimeDelta::seconds(10));
    deliver_all(&app).await;
    let shown = group.shown();
    assert_eq!(shown[1].trim(), "One two", "{shown:?}");
    assert!(shown[2].contains("Tea") && shown.len() == 4, "{shown:?}");
    gate.open();
    turn.await.unwrap();
    world.settle(&app).await;
    let shown = group.shown();
    assert_eq!((shown[1].as_str(), shown.len()), ("One two three", 4), "{shown:?}");
}

story! {
    /// A placeholder that arrives after its answer replaces nothing and is not replaced.
    /// Proves R3.
    async fn a_late_placeholder_is_deleted_on_telegram(world: &mut World) {
        a_late_placeholder(world, OnTelegram::start().await).await;
    }
}

story! {
    /// The same on platforms with message nonces.
    /// Proves R3.
    async fn a_late_placeholder_is_deleted_on_discord(world: &mut World) {
        a_late_placeholder(world, OnDiscord::start().await).await;
    }
}

story! {
    /// An answer does not replace a draft message to which an edit may still arrive.
    /// Proves R3.
    async fn a_late_edit_does_not_change_the_answer_on_telegram(world: &mut World) {
        a_late_edit(world, OnTelegram::start().await).await;
    }
}

story! {
    /// The same on platforms with message nonces.
    /// Proves R3.
    async fn a_late_edit_does_not_change_the_answer_on_discord(world: &mut World) {
        a_late_edit(world, OnDiscord::start().await).await;
    }
}

story! {
    /// Only the answer of the turn replaces its draft message.
    /// Proves R3.
    async fn a_reminder_leaves_a_growing_answer_alone_on_telegram(world: &mut World) {
        others_while_it_grows(world, OnTelegram::start().await).await;
    }
}

story! {
    /// Proves R3.
    async fn a_reminder_leaves_a_growing_answer_alone_on_discord(world: &mut World) {
        others_while_it_grows(world, OnDiscord::start().await).await;
    }
}

story! {
    /// A growing text is prepared for people once for each draft, in however many pieces it arrives.
    /// Nothing is shown of the text itself.
    async fn a_growing_text_is_prepared_once_for_each_draft(world: &mut World) {
        world.room.limits.drafts = Some(Duration::from_millis(20));
        world.room.limits.supports_drafts = true;
        let app = world.node().await;
        let said = world.said("count");
        world.takes(&app, "1", said).await;
        let claimed = app.gateway.store.claim(1, world.clock_now()).await.unwrap().remove(0);
        let (text, growing) = watch::channel(String::new());
        let prepared = AtomicUsize::new(0);
        let shown = |text: &str| {
            prepared.fetch_add(1, Ordering::SeqCst);
            format!("{} pieces", text.len())
        };
        let target = DraftTarget { turn: 1, reply_to: None };
        let mut drafts = Drafts::new(&app.gateway, &claimed, target);
        let grows = async {
            for _ in 0..20_000 {
                text.send_modify(|text| text.push(' '));
                tokio::task::yield_now().await;
            }
            while world.room.drafts().last().is_none_or(|last| last != "20000 pieces") {
                world.room.moves().await;
            }
        };
        tokio::select! {
            () = drafts.show(growing, shown) => unreachable!(),
            () = grows => {}
        }
        drafts.end().await;
        let shown = world.room.drafts();
        assert_eq!(prepared.load(Ordering::SeqCst), shown.len());
        assert!(shown.iter().all(|draft| draft.ends_with(" pieces")), "{shown:?}");
    }
}

/// The model writes, and people see nothing of it before it has finished.
async fn writes_unseen(world: &World, app: &App, gate: &Gate) {
    let turn = turn(app);
    gate.reached().await;
    // Time to show a draft, if anything did.
    let shown = tokio::time::timeout(Duration::from_millis(100), world.room.moves()).await;
    assert!(shown.is_err() && world.room.drafts().is_empty(), "{:?}", world.room.drafts());
    gate.open();
    turn.await.unwrap();
}

story! {
    /// People do not see a sub-agent write, nor a scheduled task, which may have nothing to show.
    async fn nobody_sees_a_sub_agent_or_a_task_write(world: &mut World) {
        world.room.limits.drafts = Some(Duration::from_millis(1));
        world.room.limits.supports_drafts = true;
        staff(world);
        world.guard("{ rules = [{ tool = 'schedule', action = 'allow' }] }");
        let (app, gate) = (world.node().await, Gate::new());
        let question = json!({ "coworker": "writer", "question": "How?" });
        world.model_will(call("ask_coworker", question));
        world.model_will(say("Well, like this.").pausing(&gate));
        world.model_will(call("schedule", json!({ "text": "count letters", "every": "1h" })));
        world.model_will(say("Noted."));
        let said = world.said("ask the writer");
        world.takes(&app, "1", said).await;
        app.worker.advance_ready().await.unwrap();
        writes_unseen(world, &app, &gate).await;
        world.settle(&app).await;
        assert_eq!(world.results().await[0], "Well, like this.");
        assert_eq!(world.shown(), "Noted.");

        world.clock.advance(TimeDelta::hours(1));
        assert_eq!(scheduler::fire_due(&app.worker).await.unwrap(), 1);
        world.model_will(say("Two new letters.").pausing(&gate));
        writes_unseen(world, &app, &gate).await;
        world.settle(&app).await;
        assert_eq!(world.last(), "Two new letters.");
    }
}

/// Reports its progress once, and then waits at a gate.
struct Counting(Gate);

#[async_trait]
impl Tool for Counting {
    fn spec(&self) -> ToolSpec {
        ToolSpec::read_only("count", "Counts", json!({ "type": "object" }))
    }

    async fn run(&self, _arguments: Value, context: &Context) -> Result<Output, ToolError> {
        context.progress.send_replace("Half of it.".to_owned());
        self.0.stand().await;
        Ok(Output::text("counted"))
    }
}

/// Waits until that many drafts were shown.
async fn is_drafted(world: &World, times: usize) {
    let look = async || (world.room.drafts().len() >= times).then_some(());
    eventually(&format!("draft {times}"), look).await;
}

story! {
    /// The progress of a call is shown again after a message that arrives while it runs.
    async fn a_message_does_not_end_the_display_of_progress(world: &mut World) {
        world.room.limits.drafts = Some(Duration::from_millis(1));
        world.room.limits.supports_drafts = true;
        let gate = Gate::new();
        world.tools = vec![Arc::new(Counting(gate.clone()))];
        world.model_will(call("count", json!({})));
        world.model_will(say("Counted."));
        let (app, said) = (world.node().await, world.said("count"));
        world.takes(&app, "1", said).await;
        let turn = turn(&app);
        gate.reached().await;
        is_drafted(world, 1).await;
        let said = world.said("and be quick");
        world.takes(&app, "1", said).await;
        is_drafted(world, 2).await;
        assert!(world.room.drafts().iter().all(|draft| draft == "Half of it."));
        gate.open();
        turn.await.unwrap();
        world.settle(&app).await;
        assert_eq!(world.last(), "Counted.");
    }
}

story! {
    /// A draft shows no secret and, after untrusted content was read, no link. The end of the text is
    /// held back until it is clear that it is neither.
    async fn a_draft_shows_neither_secrets_nor_links(world: &mut World) {
        const CANARY: &str = "canary-4f9c2b7e51aa";
        world.room.limits.drafts = Some(Duration::from_millis(1));
        world.config.models[0].api_key = Some(Secret::Plain(CANARY.into()));
        world.tools = vec![Arc::new(Page)];
        let gate = Gate::new();
        let words = format!("It is {CANARY}, see https://evil.test/?q=1 or {CANARY}x");
        world.model_will(call("page", json!({})));
        world.model_will(say(words).pausing(&gate));
        let app = world.node().await;
        let said = world.said("read the page");
        world.takes(&app, "1", said).await;
        let turn = turn(&app);
        gate.reached().await;
        while world.room.drafts().is_empty() {
            world.room.moves().await;
        }
        assert_eq!(world.room.drafts()[0].trim(), "It is …, see `https://evil.test/?q=1` or");
        gate.open();
        turn.await.unwrap();
    }
}
