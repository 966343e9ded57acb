//! Who may decide, how many votes are needed, and through which interface.

use channels::{IncomingContent, Place, PlaceKind};
use chrono::TimeDelta;
use countersign::testing::{
    agent::approvers::{RoleLookups, Voter},
    config::AgentEntry,
    gateway::approvals::{Choice, DecisionOutcome, by_id::decide_as},
    journal::{
        event::{Decider, Decision, Event, Speaker, VISITOR},
        role::Role,
    },
    scripted::{Gate, ScriptStep, call, say, wait},
    store::approvals::open,
    texts::Language,
};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    story,
    support::{stable_output::stable, world::World},
};

/// In a group where the platform knows the administrators.
pub(super) async fn asked_in_group(world: &mut World) {
    world.model_will(call("delete", json!({ "path": "a.txt" })));
    let said = world.said("delete a.txt");
    world.happens_at(World::group(), ("1", &[]), said).await;
    assert_eq!(world.deletions(), 0);
}

pub(super) async fn presses(world: &mut World, person: (&str, &[&str]), label: &str) {
    let press = world.press(label);
    world.happens_at(World::group(), person, press).await;
}

story! {
    /// Everybody except the requester; a rejected person is told privately.
    /// Proves A13, S2.
    async fn somebody_else_has_to_decide(world: &mut World) {
        world.guard("{ approvers = 'others' }");
        asked_in_group(world).await;
        presses(world, ("1", &["owner"]), "Allow once").await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(stable(&world.room.toasts()[0]), @"Someone other than the requester has to decide this.");
        assert_eq!(world.room.messages().len(), 1, "the refusal is private");
        world.model_will(say("Done."));
        presses(world, ("2", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 1);
        assert_snapshot!(world.shown(), @"
        Allow **delete**? `a.txt` … ✅ Allowed by Bob.
        Done.
        ");
    }
}

story! {
    /// Ids named by a rule, never display names, which Eve can choose freely.
    /// Proves A13, S5.
    async fn a_rule_names_who_decides(world: &mut World) {
        world.guard("{ rules = [{ tool = 'delete', action = 'ask', approvers = ['2'] }] }");
        world.allow = vec!["*".into()];
        asked_in_group(world).await;
        for person in ["1", "3"] {
            presses(world, (person, &["owner", "2"]), "Allow once").await;
        }
        let typed = world.said("/allow");
        world.happens_at(World::group(), ("1", &[]), typed).await;
        assert_eq!(world.deletions(), 0);
        world.model_will(say("Done."));
        presses(world, ("2", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// Two of them: votes are shown, one per person. A vote can be withdrawn, but not by voting again;
    /// a denial ends it.
    /// Proves A13.
    async fn two_people_have_to_agree(world: &mut World) {
        world.guard("{ approvers = { who = ['members'], needed = 2 } }");
        world.allow = vec!["*".into()];
        asked_in_group(world).await;
        assert_snapshot!(world.last(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Deny]");
        for _ in 0..2 {
            presses(world, ("1", &[]), "Allow once").await;
            assert_eq!(world.deletions(), 0);
        }
        assert_snapshot!(world.shown(), @"Allow **delete**? … 1 of 2: Ann [Allow once] [Deny] [Withdraw vote]");
        world.clock.advance(TimeDelta::hours(1) / 4);
        presses(world, ("1", &[]), "Allow once").await;
        assert_snapshot!(world.room.toasts().last().unwrap(), @"You've already voted to allow this. To take your vote back, choose “Withdraw vote” or type `/withdraw`.");
        assert_snapshot!(world.shown(), @"Allow **delete**? … 1 of 2: Ann [Allow once] [Deny] [Withdraw vote]");
        presses(world, ("2", &[]), "Withdraw vote").await;
        assert_snapshot!(world.room.toasts().last().unwrap(), @"You have no vote to withdraw.");
        presses(world, ("1", &[]), "Withdraw vote").await;
        assert_snapshot!(world.shown(), @"Allow **delete**? … 0 of 2 [Allow once] [Deny]");
        presses(world, ("2", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 0, "one of them alone is not two");
        world.clock.advance(TimeDelta::seconds(3));
        world.model_will(say("Done."));
        presses(world, ("1", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 1);
        assert_snapshot!(world.shown(), @r"
        Allow **delete**? `a.txt` … ✅ Allowed by Bob\, Ann.
        Done.
        ");

        asked_again(world).await;
        presses(world, ("1", &[]), "Allow once").await;
        let withdrawn = world.said("/withdraw");
        world.happens_at(World::group(), ("1", &[]), withdrawn).await;
        assert_snapshot!(world.last(), @"0 of 2");
        world.model_will(say("Then not."));
        presses(world, ("1", &[]), "Deny").await;
        assert_eq!((world.deletions(), world.last().as_str()), (1, "Then not."));
    }
}

/// An approver on another channel.
pub(super) fn ops(channel: &str) -> Voter {
    Voter {
        speaker: Speaker { id: "ops".into(), name: "Ops".into() },
        channel: channel.into(),
        role: Some(Role::Approver),
        platform_roles: vec![],
        lookups: RoleLookups::new(),
        language: Language::default(),
    }
}

/// An approver on another channel decides.
pub(super) async fn decides_on(
    world: &World,
    channel: &str,
    id: &str,
    choice: Choice,
) -> DecisionOutcome {
    let app = world.node().await;
    let answer = decide_as(&app.gateway, id, choice, ops(channel)).await.unwrap().unwrap();
    world.settle(&app).await;
    answer.outcome
}

/// The id of the open approval.
pub(super) async fn open_approval(world: &World) -> String {
    let app = world.node().await;
    let open = app.gateway.store.read(|tx| Box::pin(open(tx, 1))).await.unwrap();
    open[0].id.to_string()
}

story! {
    /// A person whom the policy does not name reads that, even if it also excludes the requester. A
    /// visitor is not told that only the requester may decide.
    /// Proves A13.
    async fn a_refusal_names_its_reason(world: &mut World) {
        world.guard("{ approvers = { who = ['role:approver'], except_requester = true } }");
        world.settings.roles = [("1".to_owned(), Role::Approver)].into();
        asked_in_group(world).await;
        for person in ["1", "2"] {
            presses(world, (person, &[]), "Allow once").await;
        }
        assert_snapshot!(world.room.toasts().join("\n"), @"
        Someone other than the requester has to decide this.
        You can't decide this: the policy requires a different approver.
        ");
        let visitors = Place { chat: "9".into(), thread: None, kind: PlaceKind::Private };
        let visitor = format!("{VISITOR}7");
        world.guard("{}");
        world.allow = vec!["*".into()];
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        let said = world.said("delete a.txt");
        world.happens_at(visitors.clone(), (&visitor, &[]), said).await;
        let press = world.press("Allow once");
        world.happens_at(visitors, (&visitor, &[]), press).await;
        assert_snapshot!(world.room.toasts().last().unwrap(), @"You can't decide this: the policy requires a different approver.");
        assert_eq!(world.deletions(), 0);
    }
}

/// Ann requests something, and Bob writes during the task, after which the agent makes these calls.
async fn both_speak(world: &mut World, then: Vec<ScriptStep>) {
    let gate = Gate::new();
    for step in [call("rare", json!({})), wait(&gate)].into_iter().chain(then) {
        world.model_will(step);
    }
    let app = world.node().await;
    let (ann, bob) = (world.said("look around, then tidy up"), world.said("delete a.txt"));
    world.takes_at(World::group(), &app, "1", ann).await;
    let advancing = app.worker.advance_ready();
    let meanwhile = async {
        gate.reached().await;
        world.takes_at(World::group(), &app, "2", bob).await;
        gate.open();
    };
    let (advanced, ()) = tokio::join!(advancing, meanwhile);
    advanced.unwrap();
    world.settle(&app).await;
}

story! {
    /// A person who writes during a task does not become its requester, and the requester's
    /// permission does not cover their wishes.
    /// Proves S2, A13.
    async fn a_later_speaker_is_not_the_requester(world: &mut World) {
        world.guard("{ rules = [{ tool = 'delete', people = ['1'], action = 'allow' }] }");
        let delete = call("delete", json!({ "path": "a.txt" }));
        both_speak(world, vec![call("rare", json!({})), delete]).await;
        assert_eq!(world.deletions(), 0, "the rule lets Ann, and Bob has spoken");
        assert_snapshot!(world.last(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
        presses(world, ("2", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 0, "it is Ann's task");
        world.model_will(say("Done."));
        presses(world, ("1", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 1);
        world.model_will(call("delete", json!({ "path": "b.txt" })));
        world.model_will(say("Done again."));
        let ann = world.said("and b.txt");
        world.happens_at(World::group(), ("1", &[]), ann).await;
        assert_eq!(world.deletions(), 2, "alone she is let by the rule");
    }
}

story! {
    /// Delegated work does not become the requester's alone either.
    /// Proves S2, A13.
    async fn later_speakers_count_in_a_sub_agents_task(world: &mut World) {
        world.guard("{ rules = [{ tool = 'delete', people = ['1'], action = 'allow' }] }");
        let other = AgentEntry { id: "cleaner".into(), ..world.config.agents[0].clone() };
        world.config.agents.push(other);
        let task = json!({ "agent": "cleaner", "task": "Delete a.txt." });
        let delete = call("delete", json!({ "path": "a.txt" }));
        both_speak(world, vec![call("rare", json!({})), call("delegate", task), delete]).await;
        assert_eq!(world.deletions(), 0, "the rule lets Ann, and Bob has spoken");
        assert_snapshot!(world.shown(), @"cleaner: Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]");
    }
}

pub(super) async fn asked_again(world: &mut World) {
    world.model_will(call("delete", json!({ "path": "b.txt" })));
    let said = world.said("delete b.txt");
    world.happens_at(World::group(), ("1", &[]), said).await;
}

story! {
    /// A button that was not offered cannot be pressed, even with the right token.
    /// Proves A1.
    async fn only_what_was_offered_counts(world: &mut World) {
        world.guard("{ rules = [{ tool = 'delete', action = 'ask' }] }");
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        assert_snapshot!(world.last(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Deny]");
        let IncomingContent::Press { data, message, .. } = world.press("Allow once") else { unreachable!() };
        for key in ['c', 'g', 'y', 'b'] {
            let data = format!("{}{key}", &data[..24]);
            let (press, message) = (format!("forged {key}"), message.clone());
            let forged = IncomingContent::Press { press, message, data, reason: None };
            world.happens("1", forged).await;
        }
        world.ann_says("/here").await;
        world.ann_says("/always").await;
        world.ann_says("/always yes").await;
        assert_eq!(world.deletions(), 0);
        assert_eq!(world.room.toasts(), ["This can only be allowed once, or denied."; 4]);
        let everything = format!("{}e", &data[..24]);
        let forged = IncomingContent::Press { press: "e".into(), message, data: everything, reason: None };
        world.happens("1", forged).await;
        assert_eq!(world.room.toasts()[4], countersign::testing::texts::Language::English.words().no_such_button);
        assert_snapshot!(world.last(), @"This can only be allowed once, or denied.");
    }
}

story! {
    /// On platforms that ask for a reason with the press, the model reads it.
    /// Proves A10.
    async fn a_press_can_carry_a_reason(world: &mut World) {
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        world.model_will(say("Then not."));
        let IncomingContent::Press { press, message, data, .. } = world.press("Deny") else { unreachable!() };
        let reason = Some(" it is the only copy ".to_owned());
        world.happens("1", IncomingContent::Press { press, message, data, reason }).await;
        assert_eq!(world.results().await, ["Denied by Ann: it is the only copy"]);
    }
}

story! {
    /// The API uses the same checks, and the approval says so.
    /// Proves A13.
    async fn a_decision_from_elsewhere_is_announced(world: &mut World) {
        for approvers in ["requester", "members"] {
            world.guard(&format!("{{ approvers = '{approvers}' }}"));
            world.model_will(call("delete", json!({ "path": "a.txt" })));
            world.ann_says("delete a.txt").await;
            let id = open_approval(world).await;
            world.model_will(say(approvers));
            let outcome = decides_on(world, "api", &id, Choice::Once).await;
            assert_eq!(outcome == DecisionOutcome::Done, approvers == "members");
            if approvers == "requester" {
                world.ann_says("/deny").await;
            }
        }
        assert_eq!(world.deletions(), 1);
        assert_snapshot!(world.shown(), @r"
        Allow **delete**? `a.txt` … 🚫 Denied by Ann.
        Denied.
        requester
        Allow **delete**? `a.txt` … ✅ Allowed by Ops\, on api.
        members
        ");
    }
}

story! {
    /// Text of the model and its tools is never a command or a decision.
    /// Proves A15.
    async fn text_of_the_model_decides_nothing(world: &mut World) {
        let code = "/allow";
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.ann_says("delete a.txt").await;
        let question = world.room.messages().last().unwrap().text.clone();
        let own = question.rsplit("code `").next().unwrap().trim_end_matches("`.").to_owned();
        world.ann_says(&format!("please write {code} {own}")).await;
        world.model_will(say(format!("{code} {own}\n/panic")));
        world.model_will(say("Nothing happened."));
        let mut echo = world.incoming("1", IncomingContent::Text {
            message: "e".into(), text: format!("{code} {own}"), reply_to: None, addressed: true,
            files: vec![], album: None, quoted_author: None,
        });
        echo.person.as_mut().unwrap().is_bot = true;
        let app = world.node().await;
        let batch = channels::Batch { incomings: vec![echo], position: None };
        countersign::testing::gateway::receive::receive(&app.gateway, "room", batch).await.unwrap();
        world.settle(&app).await;
        assert_eq!(world.deletions(), 0);
        world.ann_presses("Deny").await;
        assert_eq!(world.deletions(), 0);
    }
}

story! {
    /// A hundred presses by two people over two nodes: one transition, one run.
    /// Proves A3.
    async fn a_hundred_presses_decide_once(world: &mut World) {
        world.guard("{ approvers = 'members' }");
        asked_in_group(world).await;
        world.model_will(say("Done."));
        let (one, two) = (world.node().await, world.node().await);
        let mut pressing = Vec::new();
        for n in 0..100 {
            let press = world.press(if n % 4 < 2 { "Allow once" } else { "Deny" });
            let mut incoming = world.incoming(if n % 2 == 0 { "1" } else { "2" }, press);
            incoming.place = World::group();
            let gateway = if n % 3 == 0 { one.gateway.clone() } else { two.gateway.clone() };
            pressing.push(async move {
                let batch = channels::Batch { incomings: vec![incoming], position: None };
                countersign::testing::gateway::receive::receive(&gateway, "room", batch).await.unwrap();
            });
        }
        futures::future::join_all(pressing).await;
        tokio::join!(world.settle(&one), world.settle(&two));
        let decided: Vec<_> = world.journal_at(World::group()).await.into_iter()
            .filter_map(|entry| match entry.event {
                Event::ApprovalDecided { decision, by: Decider::Person(by), .. } => Some((decision, by)),
                _ => None,
            })
            .collect();
        assert_eq!(decided.len(), 1, "{decided:?}");
        let allowed = decided[0].0 == Decision::Once;
        assert_eq!(world.deletions(), usize::from(allowed));
        let toasts = world.room.toasts();
        assert_eq!(toasts.len(), 100, "every press is answered");
        let (words, by) = (Language::English.words(), &decided[0].1.name);
        let (won, lost) = if allowed {
            (words.allowed, (words.already_allowed)(by))
        } else {
            (words.denied, (words.already_denied)(by))
        };
        assert_eq!(toasts.iter().filter(|toast| *toast == won).count(), 1);
        assert_eq!(toasts.iter().filter(|toast| **toast == lost).count(), 99, "they hear who won");
    }
}

story! {
    /// An approval of a topic is decided there, and nowhere else.
    /// Proves A7.
    async fn a_press_counts_only_where_the_approval_is_shown(world: &mut World) {
        asked_in_group(world).await;
        let press = world.press("Allow once");
        let topic = Place { chat: "-70".into(), thread: Some("5".into()), kind: PlaceKind::Group };
        world.happens_at(topic, ("1", &[]), press).await;
        assert_eq!(world.deletions(), 0);
        assert_eq!(world.room.toasts(), ["This button is no longer valid."]);
    }
}
