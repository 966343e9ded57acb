//! Linked accounts of one person count once.

use channels::{Incoming, Place, PlaceKind};
use chrono::TimeDelta;
use countersign::testing::{
    agent::approvers::{RoleLookups, Voter},
    clock::Clock as _,
    gateway::approvals::{Choice, DecisionOutcome, by_id},
    journal::{event::Speaker, role::Role},
    scripted::{call, say},
    store::{
        approvals::open,
        audit::AuditKind,
        people::identities::{self, Account},
    },
    texts::Language,
};
use insta::assert_snapshot;
use reqwest::{Method, StatusCode};
use serde_json::json;
use std::sync::Arc;

use crate::{
    story,
    support::{fake_channel::FakeChannel, http::Served, stable_output::stable, world::World},
};

async fn asked_in_group(world: &mut World) {
    world.more_channels = vec![Arc::new(FakeChannel::named("web"))];
    drop(world.node().await);
    world.tampers("DELETE FROM people").await;
    let account = |id| format!("('web', '{id}', '{id}', 'approver', 0)");
    let accounts = ["ann", "bob", "eve"].map(account).join(", ");
    world.tampers(&format!("INSERT INTO people VALUES {accounts}")).await;
    world.model_will(call("delete", json!({ "path": "a.txt" })));
    let said = world.said("delete a.txt");
    world.happens_at(World::group(), ("1", &[]), said).await;
}

/// Decides in the console, with that account of the web chat.
async fn in_the_console(world: &World, person: &str, choice: Choice) -> (DecisionOutcome, String) {
    let app = world.node().await;
    let approval = app.gateway.store.read(|tx| Box::pin(open(tx, 1))).await.unwrap().remove(0);
    let voter = Voter {
        speaker: Speaker { id: person.into(), name: "Ann".into() },
        channel: "web".into(),
        role: Some(Role::Approver),
        platform_roles: vec![],
        lookups: RoleLookups::new(),
        language: Language::default(),
    };
    let answer = by_id::decide_as(&app.gateway, approval.id.as_str(), choice, voter).await;
    world.settle(&app).await;
    let answer = answer.unwrap().unwrap();
    (answer.outcome, answer.text)
}

/// The code that the bot sent.
fn code(world: &World) -> String {
    let shown = world.room.messages().last().unwrap().text.clone();
    shown.split('`').nth(1).expect("a code").to_owned()
}

/// Redeems a code with an account of the web chat.
async fn links(world: &World, person: &'static str, code: String) {
    let (app, now) = (world.node().await, world.clock.now());
    let link = app.gateway.store.write("link", move |tx| {
        let code = code.clone();
        Box::pin(async move {
            let account = Account::new("web", person);
            let own = identities::NamedAccount { account: &account, name: "Ann" };
            identities::redeem_link(tx, own, &code, now).await
        })
    });
    assert!(matches!(link.await.unwrap(), identities::Linking::Linked { .. }));
}

story! {
    /// Two accounts of one person count as one vote; an account that is not known to belong to
    /// another person cannot allow.
    /// Proves A13.
    async fn two_accounts_of_one_person_count_once(world: &mut World) {
        world.guard("{ approvers = { who = ['members'], needed = 2 } }");
        asked_in_group(world).await;
        let press = world.press("Allow once");
        world.happens_at(World::group(), ("1", &[]), press).await;
        let (came, text) = in_the_console(world, "ann", Choice::Once).await;
        assert_eq!(came, DecisionOutcome::Refused);
        assert_snapshot!(stable(&text), @"This request needs different people to decide, so your accounts must be linked first. Send /link to the bot on the channel where it was made, and then send the code from this account.");

        world.ann_says("/link").await;
        let code = code(world);
        links(world, "ann", code.clone()).await;
        assert_eq!(in_the_console(world, "ann", Choice::Once).await.0, DecisionOutcome::Done);
        assert_eq!(world.deletions(), 0, "that was Ann again");
        assert_snapshot!(world.shown(), @"
        Allow **delete**? … 1 of 2: Ann [Allow once] [Deny] [Withdraw vote]
        Your code is `<code>`. It works once, for 10 minutes. From your other account, send `/link <code>` to the bot in a private chat. Both accounts then count as one person. Don't give the code to anyone.
        ");
        in_the_console(world, "ann", Choice::Withdraw).await;
        assert_snapshot!(world.shown(), @"
        Allow **delete**? … 0 of 2 [Allow once] [Deny]
        Your code is `<code>`. It works once, for 10 minutes. From your other account, send `/link <code>` to the bot in a private chat. Both accounts then count as one person. Don't give the code to anyone.
        ");
        in_the_console(world, "ann", Choice::Once).await;
        world.model_will(say("Done."));
        let press = world.press("Allow once");
        world.happens_at(World::group(), ("2", &[]), press).await;
        assert_eq!(world.deletions(), 1, "Bob is the second");
    }
}

story! {
    /// An account whose id equals the requester's on another channel is an account like any other:
    /// without a link that of another person, with one of the same.
    /// Proves A13.
    async fn the_same_id_on_another_channel_is_another_account(world: &mut World) {
        world.guard("{ approvers = { who = ['members'], needed = 2 } }");
        asked_in_group(world).await;
        world.ann_says("/link").await;
        let code = code(world);
        links(world, "1", code).await;
        let press = world.press("Allow once");
        world.happens_at(World::group(), ("1", &[]), press).await;
        assert_eq!(in_the_console(world, "1", Choice::Once).await.0, DecisionOutcome::Done);
        assert_eq!(world.deletions(), 0, "that was Ann again");
        in_the_console(world, "1", Choice::Deny { reason: None }).await;

        world.guard("{ approvers = ['requester', 'web/1'] }");
        world.tampers("DELETE FROM identities").await;
        asked_in_group(world).await;
        world.model_will(say("Done."));
        assert_eq!(in_the_console(world, "1", Choice::Once).await.0, DecisionOutcome::Done);
        assert_eq!(world.deletions(), 1, "the policy names web/1");
        let audit = world.rows_of("audit").await;
        // PostgreSQL doubles the quotation marks of a row.
        let rows = audit.join("\n").replace("\"\"", "\"");
        let decided = r#""outcome":"allowed","decision":"once","by":{"person":{"id":"1","name":"Ann"}},"channel":"web""#;
        assert!(rows.contains(decided), "{rows}");
    }
}

story! {
    /// Without its link, an account may be that of a person who has already voted: a vote ends with
    /// the link, also if both arrive in one batch.
    /// Proves A13.
    async fn a_vote_does_not_outlive_its_link(world: &mut World) {
        world.guard("{ approvers = { who = ['members'], needed = 2 } }");
        for person in ["ann", "oidc:ann"] {
            asked_in_group(world).await;
            let columns = "hash, name, kind, created_at, expires_at";
            let session = format!("'{person}', 'oidc:ann', 'session', 0, 4102444800000");
            world.tampers(&format!("INSERT INTO access_tokens ({columns}) VALUES ({session})")).await;
            world.ann_says("/link").await;
            let own = code(world);
            links(world, person, own).await;
            assert_eq!(in_the_console(world, person, Choice::Once).await.0, DecisionOutcome::Done);
            let off = world.said("/link off");
            let unlinked = world.incoming("1", off);
            let press = world.press("Allow once");
            let pressed = Incoming { place: World::group(), ..world.incoming("1", press) };
            world.happen_together(vec![unlinked, pressed]).await;
            assert_eq!(world.deletions(), 0, "{person} and Ann may be one person");
            let audit = world.rows_of("audit").await;
            assert!(audit.iter().any(|row| row.contains(AuditKind::VoteDiscarded.as_str())), "{audit:?}");
            world.model_will(say("Then not."));
            let deny = world.press("Deny");
            world.happens_at(World::group(), ("1", &[]), deny).await;
        }
    }
}

story! {
    /// A vote counts as long as its session does.
    /// Proves A13.
    async fn a_vote_ends_with_the_last_session(world: &mut World) {
        world.guard("{ approvers = { who = ['members'], needed = 2 } }");
        asked_in_group(world).await;
        world.ann_says("/link").await;
        let own = code(world);
        links(world, "oidc:ann", own).await;
        assert_eq!(in_the_console(world, "oidc:ann", Choice::Once).await.0, DecisionOutcome::Done);
        let press = world.press("Allow once");
        world.happens_at(World::group(), ("2", &[]), press).await;
        assert_eq!(world.deletions(), 0, "Ann is not signed in");
    }
}

story! {
    /// The vote of a token that was revoked is discarded.
    /// Proves A13.
    async fn the_vote_of_a_revoked_token_is_discarded(world: &mut World) {
        world.guard("{ approvers = { who = ['role:approver'], needed = 2 } }");
        world.settings.roles = [("3".to_owned(), Role::Approver)].into();
        asked_in_group(world).await;
        let served = Served::of(world).await;
        let owner = served.token("root", Role::Owner).await;
        let approver = served.token("bot", Role::Approver).await;
        let bob = json!({ "channel": "room", "person": "2" });
        let (status, problem) =
            served.ask(&owner, Method::PUT, "/people/api/token:bot/link", Some(bob)).await;
        assert_eq!(status, StatusCode::NO_CONTENT, "{problem}");
        let open = served.get(&owner, "/approvals").await["items"][0]["id"].clone();
        let path = format!("/approvals/{}/decision", open.as_str().unwrap());
        let allow = json!({ "decision": "allow" });
        let (status, answer) = served.ask(&approver, Method::POST, &path, Some(allow)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        world.tampers("UPDATE api_tokens SET revoked_at = 1 WHERE name = 'bot'").await;
        let press = world.press("Allow once");
        world.happens_at(World::group(), ("3", &[]), press).await;
        assert_eq!(world.deletions(), 0);
        assert_snapshot!(world.shown(), @"Allow **delete**? … 1 of 2: Eve [Allow once] [Deny] [Withdraw vote]");
    }
}

story! {
    /// The requester cannot decide with another account, linked or not; denying is always possible.
    /// Proves A13.
    async fn the_requester_is_not_somebody_else_in_the_console(world: &mut World) {
        world.guard("{ approvers = { who = ['role:approver'], except_requester = true } }");
        asked_in_group(world).await;
        assert_eq!(in_the_console(world, "ann", Choice::Once).await.0, DecisionOutcome::Refused);
        world.ann_says("/link").await;
        let own = code(world);
        links(world, "ann", own).await;
        let (came, text) = in_the_console(world, "ann", Choice::Once).await;
        assert_eq!(came, DecisionOutcome::Refused);
        assert_snapshot!(stable(&text), @"Someone other than the requester has to decide this.");
        assert_eq!(world.deletions(), 0);

        let private = Place { chat: "8".into(), thread: None, kind: PlaceKind::Private };
        let said = world.said("/link");
        world.happens_at(private, ("2", &[]), said).await;
        let bobs = code(world);
        links(world, "bob", bobs).await;
        world.model_will(say("Done."));
        assert_eq!(in_the_console(world, "bob", Choice::Once).await.0, DecisionOutcome::Done);
        assert_eq!(world.deletions(), 1);

        asked_in_group(world).await;
        world.model_will(say("Then not."));
        let deny = Choice::Deny { reason: None };
        assert_eq!(in_the_console(world, "eve", deny).await.0, DecisionOutcome::Done);
    }
}

story! {
    /// A code works once, for ten minutes, in a private chat; an account can be unlinked.
    async fn a_code_links_two_accounts(world: &mut World) {
        let said = world.said("/link");
        world.happens_at(World::group(), ("1", &[]), said).await;
        assert_snapshot!(world.last(), @"Other people can read messages here. Send /link in a private chat with the bot.");
        world.ann_says("/link").await;
        let own = code(world);
        world.ann_says(&format!("/link {own}")).await;
        assert_snapshot!(world.last(), @"This code is from this account. Send it from your other account.");
        world.ann_says("/link").await;
        let other = code(world);
        let private = Place { chat: "8".into(), thread: None, kind: PlaceKind::Private };
        world.clock.advance(TimeDelta::minutes(11));
        let said = world.said(&format!("/link {other}"));
        world.happens_at(private.clone(), ("2", &[]), said).await;
        assert_snapshot!(world.last(), @"This code doesn't work, or it has expired. Send /link from your other account to get a new one.");
        world.ann_says("/link").await;
        let third = code(world);
        let mut answers = vec![];
        for _ in 0..2 {
            let said = world.said(&format!("/link {}", third.to_lowercase()));
            world.happens_at(private.clone(), ("2", &[]), said).await;
            answers.push(world.last());
        }
        assert_eq!(world.rows_of("identities").await.len(), 2);
        assert!(world.rows_of("audit").await.iter().any(|row| row.contains("linked")));
        for _ in 0..2 {
            world.ann_says("/link off").await;
            answers.push(world.last());
        }
        assert_snapshot!(answers.join("\n"), @"
        This account is now linked to Ann on room: both count as one person. If that isn't you, send /link off.
        This code doesn't work, or it has expired. Send /link from your other account to get a new one.
        This account is no longer linked.
        This account isn't linked.
        ");
    }
}

story! {
    /// An owner links accounts that cannot enter a code, such as tokens.
    async fn an_owner_links_a_token(world: &mut World) {
        world.guard("{ approvers = 'others' }");
        asked_in_group(world).await;
        let served = Served::of(world).await;
        let owner = served.token("root", Role::Owner).await;
        let approver = served.token("bot", Role::Approver).await;
        let open = served.get(&owner, "/approvals").await["items"][0]["id"].clone();
        let path = format!("/approvals/{}/decision", open.as_str().unwrap());
        let allow = json!({ "decision": "allow" });
        let decides = async |allow| served.ask(&approver, Method::POST, &path, Some(allow)).await;
        let (status, _) = decides(allow.clone()).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        let link = "/people/api/token:bot/link";
        let bob = json!({ "channel": "room", "person": "2" });
        let (status, problem) = served.ask(&owner, Method::PUT, link, Some(bob)).await;
        assert_eq!(status, StatusCode::NO_CONTENT, "{problem}");
        let (status, answer) = decides(allow).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
    }
}
