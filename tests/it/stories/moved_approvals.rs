//! Approvals that cannot be shown where they were requested are moved or denied, and never stuck.

use channels::{IncomingContent, Place, PlaceKind, SendError};
use chrono::TimeDelta;
use countersign::testing::{
    journal::{
        event::{Decider, Event},
        role::Role,
    },
    scripted::{call, say},
};
use insta::assert_snapshot;
use serde_json::json;

use crate::{
    story,
    support::{
        fake_channel::Fault,
        stable_output::{line, stable},
        world::World,
    },
};

fn private() -> Place {
    Place { chat: "1".into(), thread: None, kind: PlaceKind::Private }
}

async fn asked_in_group(world: &mut World) {
    world.model_will(call("delete", json!({ "path": "a.txt" })));
    let said = world.said("delete a.txt");
    world.happens_at(World::group(), ("1", &[]), said).await;
}

/// Ann has talked to the bot in private before.
async fn ann_is_known(world: &mut World) {
    world.model_will(say("Hello."));
    let said = world.said("hello");
    world.happens_at(private(), ("1", &[]), said).await;
}

fn undeliverable(entries: Vec<countersign::testing::journal::event::Entry>) -> usize {
    let is =
        |event: &Event| matches!(event, Event::ApprovalDecided { by: Decider::Undeliverable, .. });
    entries.iter().filter(|entry| is(&entry.event)).count()
}

story! {
    /// When the bot is removed from the group, it asks the decider in their private chat, and the
    /// decision there counts.
    /// Proves A6.
    async fn the_approval_is_sent_to_the_approvers_private_chat(world: &mut World) {
        ann_is_known(world).await;
        asked_in_group(world).await;
        world.happens_at(World::group(), ("3", &[]), IncomingContent::Expelled).await;
        let messages = world.room.messages();
        let last = messages.last().unwrap();
        assert_eq!(last.chat, "1");
        assert_snapshot!(stable(&messages[messages.len() - 2].text), @"I can no longer show this request where it was made, so I'm asking you here.");
        world.model_will(say("Done."));
        let press = world.press("Allow once");
        world.happens_at(World::group(), ("1", &[]), press.clone()).await;
        assert_eq!(world.deletions(), 0, "not in the previous chat");
        world.happens_at(private(), ("1", &[]), press).await;
        assert_eq!(world.deletions(), 1);
        assert_snapshot!(world.shown(), @"
        Hello.
        Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Always…] [Deny]
        I can no longer show this request where it was made, so I'm asking you here.
        Allow **delete**? `a.txt` … ✅ Allowed by Ann.
        Done.
        ");
    }
}

story! {
    /// If nobody can be asked, the call is denied with the reason.
    /// Proves A6.
    async fn without_a_private_chat_it_is_denied(world: &mut World) {
        asked_in_group(world).await;
        world.model_will(say("I could not ask."));
        world.happens_at(World::group(), ("3", &[]), IncomingContent::Expelled).await;
        assert_eq!(undeliverable(world.journal_at(World::group()).await), 1);
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.shown(), @"
        Allow **delete**? `a.txt` … 🚫 Denied: it could not be shown to anyone who can decide.
        I could not ask.
        ");
    }
}

story! {
    /// If the platform rejects the approval (a closed topic, a person who blocked the bot), it is
    /// moved once, and denied if it is rejected there too.
    /// Proves A6.
    async fn an_undeliverable_approval_moves_once(world: &mut World) {
        ann_is_known(world).await;
        for _ in 0..2 {
            world.room.fails_next(Fault::Before(SendError::Gone("closed".into())));
        }
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.model_will(say("I could not ask."));
        let said = world.said("delete a.txt");
        world.happens_at(World::group(), ("1", &[]), said).await;
        let shown = world.room.messages();
        assert!(shown.iter().all(|m| m.buttons.is_empty()), "{}", world.shown());
        assert_eq!(undeliverable(world.journal_at(World::group()).await), 1);
    }
}

story! {
    /// One person's private chat is not the place for an approval that needs two.
    /// Proves A6, A13.
    async fn an_approval_of_two_people_is_not_moved(world: &mut World) {
        ann_is_known(world).await;
        world.guard("{ approvers = { who = ['requester', '2'], needed = 2 } }");
        asked_in_group(world).await;
        world.model_will(say("I could not ask."));
        world.happens_at(World::group(), ("3", &[]), IncomingContent::Expelled).await;
        assert_eq!(undeliverable(world.journal_at(World::group()).await), 1);
        assert_eq!(world.deletions(), 0);
    }
}

story! {
    /// If a part of an approval is rejected, its buttons are never shown alone.
    /// Proves A8.
    async fn buttons_are_never_shown_without_their_text(world: &mut World) {
        let why = "many words ".repeat(130);
        let fields = json!({ "path": "a.txt", "b": why, "c": why, "d": why, "e": why });
        world.room.fails_next(Fault::Before(SendError::Rejected("too odd".into())));
        world.model_will(call("delete", fields));
        world.model_will(say("I could not ask."));
        world.ann_says("delete it").await;
        assert!(world.room.messages().iter().all(|m| m.buttons.is_empty()), "{}", world.shown());
        assert_eq!(undeliverable(world.journal().await), 1);
        assert_eq!(world.last(), "I could not ask.");
    }
}

story! {
    /// If its message is deleted, the outcome is sent as a new message.
    /// Proves A6.
    async fn a_deleted_approval_gets_its_result_as_a_new_message(world: &mut World) {
        asked_in_group(world).await;
        let before = world.room.messages().len();
        world.room.fails_next(Fault::Before(SendError::Rejected("message to edit not found".into())));
        world.model_will(say("Done."));
        let allow = world.said("/allow");
        world.happens_at(World::group(), ("1", &[]), allow).await;
        assert_eq!(world.deletions(), 1);
        let new: Vec<_> = world.room.messages()[before..].iter().map(line).collect();
        assert_snapshot!(new.join("\n"), @"
        Allowed.
        Done.
        Allow **delete**? `a.txt` … ✅ Allowed by Ann.
        ");
    }
}

story! {
    /// If the group becomes a supergroup, the approval is sent there again and works.
    /// Proves A6, M9.
    async fn an_approval_moves_with_its_migrated_chat(world: &mut World) {
        asked_in_group(world).await;
        let old = world.press("Allow once");
        world.happens_at(World::group(), ("1", &[]), IncomingContent::Moved { to: "-100".into() }).await;
        let last = world.room.messages().last().unwrap().clone();
        assert_eq!((last.chat.as_str(), last.buttons.len()), ("-100", 4), "{}", world.shown());
        world.happens_at(World::group(), ("1", &[]), old).await;
        assert_eq!(world.deletions(), 0);
        world.model_will(say("Done."));
        let press = world.press("Allow once");
        let new = Place { chat: "-100".into(), ..World::group() };
        world.happens_at(new, ("1", &[]), press).await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// If administrators decide, a person whom the platform lists as administrator is asked in
    /// private; the press counts by their current role in the group.
    /// Proves A6, A13.
    async fn an_administrator_is_asked_alone(world: &mut World) {
        world.guard("{ approvers = 'admins' }");
        world.allow = vec!["*".into()];
        let bobs = Place { chat: "2".into(), thread: None, kind: PlaceKind::Private };
        ann_is_known(world).await;
        world.model_will(say("Hello."));
        let said = world.said("hello");
        world.happens_at(bobs.clone(), ("2", &[]), said).await;
        world.room.calls("-70", "2", &["admin"]);
        world.room.fails_next(Fault::Before(SendError::Gone("closed".into())));
        asked_in_group(world).await;
        assert_eq!(world.room.messages().last().unwrap().chat, "2", "{}", world.shown());
        world.room.calls("-70", "2", &[]);
        let press = world.press("Allow once");
        world.happens_at(bobs.clone(), ("2", &[]), press).await;
        assert_eq!(world.deletions(), 0, "they are no longer administrators");
        world.room.calls("-70", "2", &["admin"]);
        world.model_will(say("Done."));
        let press = world.press("Allow once");
        world.happens_at(bobs, ("2", &[]), press).await;
        assert_eq!(world.deletions(), 1);
    }
}

/// Bob has talked to the bot in private before.
async fn bob_is_known(world: &mut World) -> Place {
    let bobs = Place { chat: "2".into(), thread: None, kind: PlaceKind::Private };
    world.model_will(say("Hello."));
    let said = world.said("hello");
    world.happens_at(bobs.clone(), ("2", &[]), said).await;
    bobs
}

story! {
    /// A person to whom the configuration gives the role is asked, and so is one whose role comes
    /// from a role of the platform.
    /// Proves A6, A13.
    async fn an_approver_by_configuration_is_asked_alone(world: &mut World) {
        world.guard("{ approvers = ['role:owner'] }");
        world.settings.roles = [("2".to_owned(), Role::Owner)].into();
        let bobs = bob_is_known(world).await;
        asked_in_group(world).await;
        world.happens_at(World::group(), ("3", &[]), IncomingContent::Expelled).await;
        assert_eq!(world.room.messages().last().unwrap().chat, "2", "{}", world.shown());
        world.model_will(say("Done."));
        let press = world.press("Allow once");
        world.happens_at(bobs.clone(), ("2", &[]), press).await;
        assert_eq!(world.deletions(), 1);

        world.settings.roles = [("777".to_owned(), Role::Owner)].into();
        world.room.calls("-70", "2", &["777"]);
        world.room.fails_next(Fault::Before(SendError::Gone("closed".into())));
        asked_in_group(world).await;
        assert_eq!(world.room.messages().last().unwrap().chat, "2", "{}", world.shown());
        let press = world.press("Allow once");
        world.room.hides_roles(true);
        world.happens_at(bobs.clone(), ("2", &[]), press).await;
        assert_snapshot!(world.room.toasts().last().unwrap(), @"The roles in this chat couldn't be checked, because the platform didn't answer. Please try again.");
        world.room.hides_roles(false);
        world.model_will(say("Done."));
        let press = world.press("Allow once");
        world.happens_at(bobs, ("2", &[]), press).await;
        assert_eq!(world.deletions(), 2);
    }
}

story! {
    /// A chat that the bot is not in any more gives no roles, and does not stop a person who may
    /// decide without them.
    /// Proves A6, A13.
    async fn an_approval_of_a_lost_chat_can_be_decided(world: &mut World) {
        world.guard("{ approvers = ['requester', 'admins'] }");
        ann_is_known(world).await;
        asked_in_group(world).await;
        world.room.breaks("-70", SendError::Gone("bot was kicked".into()));
        world.happens_at(World::group(), ("3", &[]), IncomingContent::Expelled).await;
        world.model_will(say("Done."));
        let press = world.press("Allow once");
        world.happens_at(private(), ("1", &[]), press).await;
        assert_eq!(world.deletions(), 1, "{}", world.shown());
    }
}

story! {
    /// The roles of the chat where a moved approval was requested count for it alone.
    /// Proves A6, A13.
    async fn roles_of_another_chat_count_for_its_approval_alone(world: &mut World) {
        world.guard("{ approvers = 'admins' }");
        let bobs = bob_is_known(world).await;
        world.room.calls("-70", "2", &["admin"]);
        world.room.fails_next(Fault::Before(SendError::Gone("closed".into())));
        asked_in_group(world).await;
        assert_eq!(world.room.messages().last().unwrap().chat, "2", "{}", world.shown());
        let moved = world.press("Allow once");
        world.model_will(call("delete", json!({ "path": "b.txt" })));
        let said = world.said("delete b.txt");
        world.happens_at(bobs.clone(), ("2", &[]), said).await;
        let own = world.press("Allow once");
        world.happens_at(bobs.clone(), ("2", &[]), own).await;
        assert_eq!(world.deletions(), 0, "Bob is no administrator of his own chat");
        world.model_will(say("Done."));
        world.happens_at(bobs, ("2", &[]), moved).await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// If one topic ends, the approvals of the others stay; if the bot leaves the chat, none does.
    /// Proves A6.
    async fn the_end_of_a_topic_leaves_the_others(world: &mut World) {
        let topic = |id: &str| Place { thread: Some(id.into()), ..World::group() };
        for id in ["5", "6"] {
            world.model_will(call("delete", json!({ "path": "a.txt" })));
            let said = world.said("delete a.txt");
            world.happens_at(topic(id), ("1", &[]), said).await;
        }
        world.model_will(say("I could not ask."));
        world.happens_at(topic("5"), ("3", &[]), IncomingContent::Expelled).await;
        assert_eq!(undeliverable(world.journal_at(topic("5")).await), 1);
        assert_eq!(undeliverable(world.journal_at(topic("6")).await), 0);
        world.model_will(say("I could not ask."));
        world.happens_at(World::group(), ("3", &[]), IncomingContent::Expelled).await;
        assert_eq!(undeliverable(world.journal_at(topic("6")).await), 1);
    }
}

story! {
    /// An edit of an open approval that the platform rejects does not become a second request.
    /// Proves A8.
    async fn a_rejected_edit_of_a_request_is_not_sent_again(world: &mut World) {
        world.guard("{ approvers = { who = ['members'], needed = 2 } }");
        asked_in_group(world).await;
        let before = world.room.messages().len();
        world.room.fails_next(Fault::Before(SendError::Rejected("message to edit not found".into())));
        let press = world.press("Allow once");
        world.happens_at(World::group(), ("1", &[]), press).await;
        assert_eq!(world.room.messages().len(), before, "{}", world.shown());
    }
}

story! {
    /// Schedules of a chat that no longer takes messages wait; a rejected message pauses none.
    async fn schedules_wait_while_their_chat_is_gone(world: &mut World) {
        world.model_will(call("remind", json!({ "text": "Tea", "every": "1h" })));
        world.model_will(say("Noted."));
        world.ann_says("remind me").await;
        for (problem, state) in [
            (SendError::Rejected("too odd".into()), "waiting"),
            (SendError::Gone("blocked".into()), "paused"),
        ] {
            world.room.fails_next(Fault::Before(problem));
            world.time_passes(TimeDelta::hours(1)).await;
            let schedules = world.rows_of("schedules").await;
            assert!(schedules[0].contains(state), "{schedules:?}");
        }
    }
}
