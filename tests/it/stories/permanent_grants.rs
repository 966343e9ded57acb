//! Permanent permissions, and the global halt.

use chrono::TimeDelta;
use countersign::testing::{
    journal::event::{Event, Outcome},
    scripted::{Gate, call, calls, say, wait},
};
use insta::{allow_duplicates, assert_snapshot};
use serde_json::json;

use crate::{
    story,
    support::{stable_output::stable, world::World},
};

async fn asks_to_delete(world: &mut World, path: &str) {
    world.model_will(call("delete", json!({ "path": path })));
    world.ann_says(&format!("delete {path}")).await;
}

/// Ann grants a permission for the folder `notes`; one call has run afterwards.
async fn a_grant_is_given(world: &mut World) {
    asks_to_delete(world, "notes/a.txt").await;
    world.ann_presses("Always…").await;
    assert_eq!(world.deletions(), 0, "it was shown, not given");
    let question = world.room.messages().last().unwrap().text.clone();
    assert_snapshot!(stable(&question), @r"
    Allow **delete**?
    Deletes a file

    path: `notes/a.txt`

    delete makes changes\, and no rule allows it\.
    “Allow in this conversation” covers every later call of delete that Ann requests here, whatever its arguments, until /new.
    Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.

    **Always** would allow, without asking again:

    - delete: only paths below `notes/`
    - for requests by the same person, in all chats
    - until 2026-06-03, unlimited uses

    Grant this permission?
    ");
    assert_snapshot!(world.last(), @"Allow **delete**? … Grant this permission? [Grant] [Back] [Deny]");
    world.model_will(say("Done."));
    world.ann_presses("Grant").await;
    assert_eq!(world.deletions(), 1);
}

story! {
    /// A permission is shown before it is granted, and covers what was shown, for that person, in
    /// every chat, and nothing else.
    /// Proves A11, IC-27.
    async fn a_permission_covers_only_what_was_shown(world: &mut World) {
        a_grant_is_given(world).await;
        world.model_will(say("That too."));
        asks_to_delete(world, "notes/deep/b.txt").await;
        world.model_will(call("delete", json!({ "path": "notes/c.txt" })));
        world.model_will(say("And that."));
        let said = world.said("delete notes/c.txt");
        world.happens_at(World::group(), ("1", &[]), said).await;
        assert_eq!(world.deletions(), 3);
        for (person, path) in [("1", "other/a.txt"), ("1", "notes/../x.txt"), ("2", "notes/d.txt")] {
            world.model_will(call("delete", json!({ "path": path })));
            let said = world.said(path);
            world.happens(person, said).await;
            assert_eq!(world.deletions(), 3, "{path} for {person}");
            world.model_will(say("Then not."));
            let deny = world.said("/deny");
            world.happens(person, deny).await;
        }
    }
}

story! {
    /// Revoked with the button on the settled approval, effective immediately.
    /// Proves A11.
    async fn a_grant_is_revoked_by_its_button(world: &mut World) {
        a_grant_is_given(world).await;
        world.bob_presses("Revoke").await;
        assert_snapshot!(stable(world.room.toasts().last().unwrap()), @"You can't revoke this permission.");
        world.ann_presses("Revoke").await;
        assert_snapshot!(stable(world.room.toasts().last().unwrap()), @"Revoked. I'll ask again from now on.");
        assert_snapshot!(world.shown(), @"
        Allow **delete**? `notes/a.txt` … ✅ Allowed by Ann. The permission for later calls was revoked by Ann.
        Done.
        ");
        asks_to_delete(world, "notes/b.txt").await;
        assert_eq!(world.deletions(), 1, "it asks again");
    }
}

story! {
    /// Listed and revoked by command; other people's permissions are neither shown nor changed.
    /// Proves A11.
    async fn grants_are_listed_and_revoked_by_commands(world: &mut World) {
        a_grant_is_given(world).await;
        world.bob_says("/grants").await;
        assert_snapshot!(world.last(), @"No calls are allowed in advance.");
        world.ann_says("/grants").await;
        let list = world.room.messages().last().unwrap().text.clone();
        assert_snapshot!(stable(&list), @"
        Allowed without asking:

        - `<code>` delete: only paths below `notes/`; for `room/1`, until 2026-06-03, unlimited uses, granted by Ann

        `/grants revoke <code>` revokes a permission by its code.
        ");
        let code = list.split("- `").nth(1).unwrap()[..8].to_owned();
        world.bob_says(&format!("/grants revoke {code}")).await;
        assert_snapshot!(world.last(), @"This permission has expired or was revoked.");
        world.ann_says(&format!("/grants revoke {code}")).await;
        assert_snapshot!(world.last(), @"Revoked. I'll ask again from now on.");
        asks_to_delete(world, "notes/b.txt").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// A permission ends with its expiry and its number of uses; two calls of one reply do not
    /// share the last use.
    /// Proves A11.
    async fn a_permission_ends_by_time_and_by_uses(world: &mut World) {
        asks_to_delete(world, "notes/a.txt").await;
        world.model_will(say("Done."));
        world.ann_says("/always").await;
        world.ann_says("/always yes 2x 1d").await;
        assert_eq!(world.deletions(), 1);
        let file = |name: &str| ("delete".to_owned(), json!({ "path": format!("notes/{name}") }));
        world.model_will(calls(vec![file("b"), file("c"), file("d")]));
        world.ann_says("delete three").await;
        assert_eq!(world.deletions(), 3, "two uses");
        world.model_will(say("Then not."));
        world.ann_presses("Deny").await;

        asks_to_delete(world, "notes/a.txt").await;
        world.model_will(say("Done."));
        world.ann_says("/always").await;
        world.ann_says("/always yes 1d").await;
        world.time_passes(TimeDelta::hours(25)).await;
        asks_to_delete(world, "notes/e.txt").await;
        assert_eq!(world.deletions(), 4, "its day is over");
    }
}

story! {
    /// “Back” is not a decision; only the owner can grant permissions for everybody.
    /// Proves A11.
    async fn the_back_button_decides_nothing(world: &mut World) {
        asks_to_delete(world, "notes/a.txt").await;
        let before = world.last();
        world.ann_presses("Always…").await;
        world.ann_presses("Back").await;
        assert_eq!((world.last(), world.deletions()), (before, 0));
        world.ann_says("/always").await;
        world.ann_says("/always yes bot").await;
        assert_snapshot!(world.last(), @"Only the owner of this bot can do that.");
        assert_eq!(world.deletions(), 0);
    }
}

story! {
    /// A permission that the owner grants for the bot covers other people in other chats.
    /// Proves A11.
    async fn the_owner_grants_a_permission_for_everybody(world: &mut World) {
        world.make_owner("1").await;
        asks_to_delete(world, "notes/a.txt").await;
        world.model_will(say("Done."));
        world.ann_says("/always").await;
        world.ann_says("/always yes bot").await;
        assert_eq!(world.deletions(), 1, "{}", world.shown());
        world.model_will(call("delete", json!({ "path": "notes/b.txt" })));
        world.model_will(say("Done."));
        let said = world.said("delete notes/b.txt");
        world.happens_at(World::group(), ("2", &[]), said).await;
        assert_eq!(world.deletions(), 2, "{}", world.shown());
    }
}

story! {
    /// A typed confirmation gives no grant that was not shown: it first shows the proposal, even
    /// without buttons.
    /// Proves A11.
    async fn a_typed_yes_first_shows_what_it_would_allow(world: &mut World) {
        asks_to_delete(world, "notes/a.txt").await;
        world.ann_says("/always yes 5x").await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.shown(), @"
        Allow **delete**? … Grant this permission? [Grant] [Back] [Deny]
        Check what this would allow, then grant it or go back.
        ");
        world.ann_presses("Back").await;
        world.ann_says("/always yes 5x").await;
        assert_eq!(world.deletions(), 0, "what was taken back is no longer shown");
        world.model_will(say("Done."));
        world.ann_says("/always yes 5x").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// A permission for everybody in a group can only be granted by a person who may decide for
    /// everybody there; otherwise a person supervised by a friend could remove the supervision.
    /// Proves A11, A13.
    async fn a_grant_for_others_requires_the_right_to_decide_for_them(world: &mut World) {
        for approvers in ["requester", "others"] {
            world.guard(&format!("{{ approvers = '{approvers}' }}"));
            world.model_will(call("delete", json!({ "path": "notes/a.txt" })));
            let said = world.said("delete it");
            world.happens_at(World::group(), ("1", &[]), said).await;
            let decider = if approvers == "others" { "2" } else { "1" };
            let typed = world.said("/always");
            world.happens_at(World::group(), (decider, &["admin"]), typed).await;
            let typed = world.said("/always yes conversation");
            world.happens_at(World::group(), (decider, &["admin"]), typed).await;
            allow_duplicates! {
                assert_snapshot!(world.last(), @"Only someone who can approve for everyone here can grant this to everyone. Drop that option to grant it to the requester only.");
            }
            assert_eq!(world.deletions(), 0);
            world.model_will(say("Then not."));
            let typed = world.said("/deny");
            world.happens_at(World::group(), (decider, &[]), typed).await;
        }
        world.guard("{ approvers = 'members' }");
        world.model_will(call("delete", json!({ "path": "notes/a.txt" })));
        let said = world.said("delete it");
        world.happens_at(World::group(), ("1", &[]), said).await;
        world.model_will(say("Done."));
        let typed = world.said("/always");
        world.happens_at(World::group(), ("2", &[]), typed).await;
        let typed = world.said("/always yes conversation");
        world.happens_at(World::group(), ("2", &[]), typed).await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// In a private chat there is nobody else whom a permission for the conversation concerns.
    /// Proves A11.
    async fn a_grant_for_a_private_chat_is_given_by_its_requester(world: &mut World) {
        asks_to_delete(world, "notes/a.txt").await;
        world.model_will(say("Done."));
        world.ann_says("/always").await;
        world.ann_says("/always yes conversation").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// A permission is listed and shown; none is offered that would store a secret.
    /// Proves A11, S18.
    async fn no_grant_contains_a_secret(world: &mut World) {
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        asks_to_delete(world, &format!("{token}/a.txt")).await;
        assert!(!world.shown().contains(&token), "{}", world.shown());
        assert_snapshot!(world.last(), @"Allow **delete**? … Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`. [Allow once] [Allow in this conversation] [Deny]");
    }
}

story! {
    /// The owner's `/panic` denies open approvals everywhere, visibly, and no tool starts on any
    /// node until it is lifted.
    /// Proves A12.
    async fn panic_halts_everything(world: &mut World) {
        asks_to_delete(world, "a.txt").await;
        world.model_will(call("delete", json!({ "path": "b.txt" })));
        let said = world.said("delete b.txt");
        world.happens_at(World::group(), ("2", &[]), said).await;
        world.ann_says("/panic").await;
        assert_snapshot!(world.last(), @"Only the owner of this bot can do that.");

        world.make_owner("1").await;
        world.model_will(say("One."));
        world.model_will(say("Two."));
        world.ann_says("/panic").await;
        let shown = world.shown();
        // The time of the model's answers is not determined.
        let told: Vec<_> = shown.lines().filter(|line| !["One.", "Two."].contains(line)).collect();
        assert_snapshot!(told.join("\n"), @"
        Allow **delete**? `a.txt` … 🚫 Denied by Ann.
        Allow **delete**? `b.txt` … 🚫 Denied by Ann.
        Only the owner of this bot can do that.
        All tools are halted, on every node. Requests denied: 2. /panic off lifts the halt.
        ");

        world.model_will(call("get_current_datetime", json!({})));
        world.model_will(say("I may not."));
        world.bob_says("what time is it?").await;
        let results = world.results().await;
        assert_snapshot!(stable(results.last().unwrap()), @"Denied: the owner has halted all tools. Do not try again; tell the person.");

        world.ann_says("/panic off").await;
        asks_to_delete(world, "c.txt").await;
        world.model_will(say("Now."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// An approval that another node requests during the halt is denied too.
    /// Proves A12.
    async fn an_approval_requested_during_a_halt_is_denied(world: &mut World) {
        world.make_owner("1").await;
        let gate = Gate::new();
        world.model_will(wait(&gate));
        world.model_will(call("delete", json!({ "path": "a.txt" })));
        world.model_will(say("I may not."));
        let (one, two) = (world.node().await, world.node().await);
        let said = world.said("delete a.txt");
        world.takes(&one, "2", said).await;
        let panic = world.said("/panic");
        let advancing = one.worker.advance_ready();
        let meanwhile = async {
            gate.reached().await;
            world.takes(&two, "1", panic).await;
            gate.open();
        };
        let (advanced, ()) = tokio::join!(advancing, meanwhile);
        advanced.unwrap();
        world.settle(&two).await;
        assert_eq!(world.deletions(), 0);
        let denied = world.journal().await.into_iter().any(|entry| matches!(
            entry.event, Event::ToolFinished { result, .. } if result.outcome == Outcome::Denied
        ));
        assert!(denied);
        assert_eq!(world.last(), "I may not.");
    }
}

story! {
    /// The number of approvals is limited, to prevent approval fatigue.
    /// Proves S18.
    async fn approvals_are_limited_per_hour(world: &mut World) {
        let all = (0..70).map(|n| ("delete".to_owned(), json!({ "path": format!("{n}") })));
        world.model_will(calls(all.collect()));
        world.ann_says("delete everything").await;
        let questions = world.room.messages().iter().filter(|m| !m.buttons.is_empty()).count();
        assert_eq!(questions, 60);
        assert_eq!(world.results().await.len(), 10);
        assert_snapshot!(stable(&world.results().await[0]), @"Denied: the limit of 60 approval requests per hour for this conversation is reached. Tell the person, and continue when they say so.");
    }
}
