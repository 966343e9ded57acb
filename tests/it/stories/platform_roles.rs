//! Approvals that depend on roles of the platform: administrators of a chat, and roles of the
//! gateway that the platform's roles give.

use chrono::TimeDelta;
use countersign::testing::{
    gateway::approvals::{Choice, DecisionOutcome},
    journal::role::Role,
    scripted::say,
};
use insta::assert_snapshot;
use std::sync::Arc;

use super::approvers::{asked_again, asked_in_group, decides_on, open_approval, presses};
use crate::{
    story,
    support::{fake_channel::FakeChannel, world::World},
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
        assert!(!audit.iter().any(|row| row.contains("vote_discarded")), "{audit:?}");
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
        assert_snapshot!(world.shown(), @"Allow **delete**? … 1 of 2: Bob [Allow once] [Deny] [Withdraw vote]");
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
