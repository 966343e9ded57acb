//! Approvals that depend on roles of the platform: administrators of a chat, and roles of the
//! gateway that the platform's roles give.

use channels::Incoming;
use chrono::TimeDelta;
use countersign::testing::{
    gateway::approvals::{Choice, DecisionOutcome},
    journal::role::Role,
    scripted::say,
    store::audit::AuditKind,
};
use insta::assert_snapshot;
use reqwest::{Method, StatusCode};
use serde_json::json;
use std::sync::Arc;

use super::approvers::{asked_again, asked_in_group, decides_on, open_approval, presses};
use crate::{
    story,
    support::{fake_channel::FakeChannel, http::Served, world::World},
};

story! {
    /// Administrators of the chat are those that the platform reports with the press.
    /// Proves A13.
    async fn chat_administrators_decide(world: &mut World) {
        world.guard("{ approvers = 'admins' }");
        asked_in_group(world).await;
        presses(world, ("2", &["member", "777"]), "Allow once").await;
        assert_eq!(world.deletions(), 0);
        world.model_will(say("Done."));
        presses(world, ("2", &["admin"]), "Allow once").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// A person who has lost the role or the right to talk has not voted when the last vote is
    /// cast; the platform is asked at that moment.
    /// Proves A13.
    async fn a_vote_counts_as_long_as_its_voter_may_decide(world: &mut World) {
        world.guard("{ approvers = { who = ['admins', 'role:approver'], needed = 2 } }");
        world.allow = ["1", "2", "3", "4"].map(str::to_owned).to_vec();
        world.settings.roles = [("4".to_owned(), Role::Approver)].into();
        for admin in ["2", "3"] {
            world.room.calls("-70", admin, &["admin"]);
        }
        asked_in_group(world).await;
        presses(world, ("2", &["admin"]), "Allow once").await;
        assert_snapshot!(world.shown(), @"Allow **delete**? … 1 of 2: Bob [Allow once] [Deny] [Withdraw vote]");
        world.room.calls("-70", "2", &[]);
        presses(world, ("3", &["admin"]), "Allow once").await;
        assert_eq!(world.deletions(), 0, "Bob is no administrator any more");
        assert_snapshot!(world.shown(), @"Allow **delete**? … 1 of 2: Eve [Allow once] [Deny] [Withdraw vote]");
        world.allow = ["1", "2", "4"].map(str::to_owned).to_vec();
        presses(world, ("4", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 0, "3 may not even talk here any more");
        world.settings.roles.clear();
        world.room.calls("-70", "2", &["admin"]);
        world.clock.advance(TimeDelta::seconds(3));
        presses(world, ("2", &["admin"]), "Allow once").await;
        assert_eq!(world.deletions(), 0, "4 is no approver any more");
        world.settings.roles = [("4".to_owned(), Role::Approver)].into();
        world.model_will(say("Done."));
        presses(world, ("4", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// Votes are not recounted after the decision, which stays shown.
    /// Proves A4, A13.
    async fn a_decided_approval_keeps_its_votes(world: &mut World) {
        world.guard("{ approvers = { who = ['admins', 'role:approver'], needed = 2 } }");
        world.allow = ["1", "2", "3"].map(str::to_owned).to_vec();
        for admin in ["2", "3"] {
            world.room.calls("-70", admin, &["admin"]);
        }
        asked_in_group(world).await;
        let id = open_approval(world).await;
        world.model_will(say("Done."));
        for admin in ["2", "3"] {
            presses(world, (admin, &["admin"]), "Allow once").await;
        }
        let shown = world.shown();
        assert_snapshot!(shown, @r"
        Allow **delete**? `a.txt` … ✅ Allowed by Bob\, Eve.
        Done.
        ");
        world.room.calls("-70", "2", &[]);
        assert_eq!(decides_on(world, "api", &id, Choice::Deny { reason: None }).await, DecisionOutcome::Late);
        assert_eq!(world.shown(), shown);
        let audit = world.rows_of("audit").await;
        assert!(!audit.iter().any(|row| row.contains(AuditKind::VoteDiscarded.as_str())), "{audit:?}");
    }
}

story! {
    /// A role of the platform that gives the role named by the policy is looked up when votes are
    /// counted.
    /// Proves A13.
    async fn votes_by_a_role_of_the_platform_count(world: &mut World) {
        world.guard("{ approvers = { who = ['role:approver'], needed = 2 } }");
        world.settings.roles = [("777".to_owned(), Role::Approver)].into();
        for person in ["2", "3"] {
            world.room.calls("-70", person, &["777"]);
        }
        asked_in_group(world).await;
        presses(world, ("2", &["777"]), "Allow once").await;
        assert_snapshot!(world.shown(), @"Allow **delete**? … 1 of 2: Bob [Allow once] [Deny] [Withdraw vote]");
        world.model_will(say("Done."));
        presses(world, ("3", &["777"]), "Allow once").await;
        assert_eq!(world.deletions(), 1, "{}", world.shown());
    }
}

story! {
    /// While the platform does not report roles, votes stay, but nothing is allowed.
    /// Proves A13.
    async fn votes_stay_while_roles_are_unknown(world: &mut World) {
        world.guard("{ approvers = { who = ['admins'], needed = 2 } }");
        world.allow = ["1", "2", "3"].map(str::to_owned).to_vec();
        for admin in ["2", "3"] {
            world.room.calls("-70", admin, &["admin"]);
        }
        asked_in_group(world).await;
        presses(world, ("2", &["admin"]), "Allow once").await;
        world.room.hides_roles(true);
        presses(world, ("3", &["admin"]), "Allow once").await;
        assert_snapshot!(world.room.toasts().last().unwrap(), @"The roles in this chat couldn't be checked, because the platform didn't answer. Please try again.");
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.shown(), @"Allow **delete**? … 2 of 2: Bob, Eve [Allow once] [Deny] [Withdraw vote]");
        world.room.hides_roles(false);
        world.clock.advance(TimeDelta::seconds(3));
        world.model_will(say("Done."));
        presses(world, ("3", &["admin"]), "Allow once").await;
        assert_eq!(world.deletions(), 1, "{}", world.shown());
        asked_again(world).await;
        presses(world, ("2", &["admin"]), "Allow once").await;
        world.room.hides_roles(true);
        world.model_will(say("Then not."));
        presses(world, ("3", &["admin"]), "Deny").await;
        assert_eq!(world.last(), "Then not.", "a denial needs no other vote");
    }
}

story! {
    /// A person whose roles the platform did not report with the press is asked to try again, and
    /// is not refused; the platform is asked once for a batch.
    /// Proves A13.
    async fn a_press_with_unknown_roles_is_not_refused(world: &mut World) {
        world.guard("{ approvers = 'admins' }");
        world.room.calls("-70", "2", &["admin"]);
        asked_in_group(world).await;
        world.roles_unknown = true;
        world.room.hides_roles(true);
        let press = world.press("Allow once");
        let before = world.room.role_lookups();
        let batch = (0..40).map(|_| {
            Incoming { place: World::group(), ..world.incoming("2", press.clone()) }
        });
        let batch = batch.collect();
        world.happen_together(batch).await;
        assert_eq!(world.room.role_lookups(), before + 1);
        assert_snapshot!(world.room.toasts().last().unwrap(), @"The roles in this chat couldn't be checked, because the platform didn't answer. Please try again.");
        let audit = world.rows_of("audit").await;
        assert!(!audit.iter().any(|row| row.contains(AuditKind::VoteRejected.as_str())), "{audit:?}");
        world.room.hides_roles(false);
        world.model_will(say("Done."));
        presses(world, ("2", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 1);
    }
}

story! {
    /// “Try again” is no final answer: the same request with its key is carried out later.
    async fn a_decision_with_unknown_roles_can_be_sent_again(world: &mut World) {
        world.guard("{ approvers = { who = ['admins', 'role:approver'], needed = 2 } }");
        world.room.calls("-70", "2", &["admin"]);
        asked_in_group(world).await;
        presses(world, ("2", &["admin"]), "Allow once").await;
        let served = Served::of(world).await;
        let owner = served.token("root", Role::Owner).await;
        let approver = served.token("bot", Role::Approver).await;
        let eve = json!({ "channel": "room", "person": "3" });
        served.ask(&owner, Method::PUT, "/people/api/token:bot/link", Some(eve)).await;
        let open = served.get(&owner, "/approvals").await["items"][0]["id"].clone();
        let path = format!("/api/v1/approvals/{}/decision", open.as_str().unwrap());
        let decide = || {
            let request = served.request(Method::POST, &path).bearer_auth(&approver);
            request.header("idempotency-key", "k").json(&json!({ "decision": "allow" })).send()
        };
        world.room.hides_roles(true);
        let first = decide().await.unwrap();
        assert_eq!(first.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(first.headers().contains_key("retry-after"));
        world.room.hides_roles(false);
        assert_eq!(decide().await.unwrap().status(), StatusCode::OK);
    }
}

story! {
    /// A vote that counts without roles of the platform needs no lookup, so that a platform that
    /// does not answer does not stop it.
    /// Proves A13.
    async fn votes_that_need_no_role_count_while_roles_are_unknown(world: &mut World) {
        world.guard("{ approvers = { who = ['admins', 'role:approver'], needed = 2 } }");
        world.allow = ["1", "2", "3"].map(str::to_owned).to_vec();
        world.settings.roles = ["2", "3"].map(|id| (id.to_owned(), Role::Approver)).into();
        asked_in_group(world).await;
        world.room.hides_roles(true);
        presses(world, ("2", &[]), "Allow once").await;
        world.model_will(say("Done."));
        presses(world, ("3", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 1, "{}", world.shown());
    }
}

story! {
    /// A vote whose voter has unknown roles does not hold up others.
    /// Proves A13.
    async fn enough_known_votes_allow_beside_an_unknown_one(world: &mut World) {
        world.guard("{ approvers = { who = ['admins', 'role:approver'], needed = 2 } }");
        world.allow = ["1", "2", "3", "4"].map(str::to_owned).to_vec();
        world.settings.roles = ["3", "4"].map(|id| (id.to_owned(), Role::Approver)).into();
        world.room.calls("-70", "2", &["admin"]);
        asked_in_group(world).await;
        presses(world, ("2", &["admin"]), "Allow once").await;
        world.room.hides_roles(true);
        presses(world, ("3", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 0, "the roles of 2 are unknown");
        world.clock.advance(TimeDelta::seconds(3));
        world.model_will(say("Done."));
        presses(world, ("4", &[]), "Allow once").await;
        assert_eq!(world.deletions(), 1, "{}", world.shown());
    }
}

story! {
    /// The roles of a chat do not apply to accounts of another channel.
    /// Proves A13.
    async fn roles_of_a_chat_are_those_of_its_channel(world: &mut World) {
        let web = FakeChannel::named("web");
        web.calls("-70", "ops", &["admin"]);
        world.more_channels = vec![Arc::new(web)];
        world.guard("{ approvers = { who = ['admins', 'role:approver'], needed = 2 } }");
        world.allow = ["1", "2", "3", "ops"].map(str::to_owned).to_vec();
        asked_in_group(world).await;
        let id = open_approval(world).await;
        world.tampers("INSERT INTO identities VALUES ('web', 'ops', 'Ops', 'p', 0), ('room', 'ops', 'Ops', 'p', 0)").await;
        assert_eq!(decides_on(world, "web", &id, Choice::Once).await, DecisionOutcome::Done);
        presses(world, ("2", &["admin"]), "Allow once").await;
        assert_eq!(world.deletions(), 0, "ops is no approver any more, and no admin here");
        assert_snapshot!(world.shown(), @"Allow **delete**? … 1 of 2: Bob [Allow once] [Deny] [Withdraw vote]");
    }
}
