//! Revoked sessions, and unknown session ids.

use countersign::testing::journal::role::Role;
use insta::assert_snapshot;
use reqwest::{Method, StatusCode};

use crate::support::{
    http::Served,
    process::{On, Running, Site},
    stable_output::stable,
    world::World,
};

/// A session ends immediately, for its own browser only; 11 unknown ids end nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ended_session_is_rejected_everywhere() {
    let world = World::on_sqlite();
    let served = Served::of(&world).await;
    let token = served.token("boss", Role::Owner).await;
    let (ann, other) = (served.session("ann").await, served.session("bob").await);
    let page = served.get(&token, "/sessions").await;
    let found = page["items"].as_array().unwrap();
    assert_eq!(found.len(), 2, "{page}");
    assert!(!page.to_string().contains(ann.split('=').nth(1).unwrap()), "no secret is listed");
    let of_ann = found.iter().find(|one| one["person"] == "ann").unwrap();
    let id = of_ann["id"].as_str().unwrap().to_owned();
    let hash = id.split_once('-').unwrap().1;
    for odd in [
        "nothing",
        "0",
        "-1",
        hash,
        &format!("0-{hash}"),
        &format!("{}0-{hash}", id.split_once('-').unwrap().0),
        &id.to_uppercase().replace(hash, "0000000000000000"),
        &format!("{id}0"),
        &format!("{id}%25"),
        "%27%20OR%201=1",
        "..%2f..%2fpeople",
    ] {
        let path = format!("/sessions/{odd}");
        let (status, problem) = served.ask(&token, Method::DELETE, &path, None).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{odd}: {problem}");
    }
    let reads = async |cookie: &str| {
        let request = served.request(Method::GET, "/chat/events").header("cookie", cookie);
        request.send().await.unwrap().status()
    };
    assert_eq!(reads(&ann).await, StatusCode::OK);
    let path = format!("/sessions/{id}");
    let end = |token: String| {
        let (served, path) = (&served, path.clone());
        async move { served.ask(&token, Method::DELETE, &path, None).await.0 }
    };
    let operator = served.token("ops", Role::Operator).await;
    assert_eq!(end(operator).await, StatusCode::FORBIDDEN, "an owner ends sessions");
    assert_eq!(end(token.clone()).await, StatusCode::NO_CONTENT);
    assert_eq!(end(token.clone()).await, StatusCode::NOT_FOUND);
    assert_eq!(reads(&ann).await, StatusCode::UNAUTHORIZED);
    assert_eq!(reads(&other).await, StatusCode::OK);
    let audit = served.get(&token, "/audit?kind=session_ended").await;
    assert_eq!(audit["items"].as_array().unwrap().len(), 1, "{audit}");
}

/// The command line lists and ends sessions, links and tokens; a code says which role it gives.
#[tokio::test]
async fn the_command_line_ends_what_it_lists() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:0", "");
    site.migrate().await;
    for arguments in [
        &["token", "--name", "ann"][..],
        &["token", "--name", "ann"],
        &["token", "--api", "ci", "--role", "viewer"],
    ] {
        let (good, said) = site.run(arguments).await;
        assert!(good, "{said}");
    }
    let (_, listed) = site.run(&["token", "list"]).await;
    assert_eq!(listed.matches("link of \"ann\"").count(), 2, "{listed}");
    assert!(listed.contains("API token \"ci\", viewer"), "{listed}");
    let first = listed.split_whitespace().next().unwrap();
    let (good, said) = site.run(&["token", "revoke", first]).await;
    assert!(good, "{said}");
    assert_snapshot!(stable(&said), @r#"The session or link of "ann" was revoked."#);
    let (good, said) = site.run(&["token", "revoke", "--sessions-of", "ann"]).await;
    assert!(good, "{said}");
    assert_snapshot!(stable(&said), @r#"1 sessions and links of "ann" were revoked."#);
    let (good, said) = site.run(&["token", "revoke", "ci"]).await;
    assert!(good, "{said}");
    assert_snapshot!(stable(&said), @r#"The token "ci" was revoked."#);
    let (good, said) = site.run(&["token", "revoke", "ci"]).await;
    assert!(!good, "{said}");
    assert_snapshot!(stable(&said), @r#"Error: there is no session or token "ci"; see `token list`"#);
    let (_, listed) = site.run(&["token", "list"]).await;
    assert_snapshot!(stable(&listed), @"None yet.");

    for (arguments, says) in [
        (&["pair"][..], "the person who redeems the code becomes its owner"),
        (&["pair", "--role", "member"], "The person who redeems the code gets the role member."),
        (
            &["pair", "--role", "approver"],
            "The person who redeems the code gets the role approver.",
        ),
        (&["pair", "--role", "king"], "the roles are viewer, member"),
    ] {
        let (_, said) = site.run(arguments).await;
        assert!(said.contains(says), "{said}");
    }
    site.end().await;
}

/// The output of a service is kept in logs: at its start, it has a sign-in link for an owner only
/// until somebody has signed in. A terminal always gets one.
#[tokio::test]
async fn a_log_has_no_link_for_an_owner_once_somebody_has_signed_in() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:0", "");
    let link = |running: &Running| {
        let said = running.said();
        let start = said.find("/sign-in?token=")?;
        said[start..].split_whitespace().next().map(str::to_owned)
    };
    let mut first = site.start(&[]);
    first.greeted().await;
    assert!(link(&first).is_some(), "{}", first.said());
    first.stop().await;

    let mut second = site.start(&[]);
    second.greeted().await;
    let path = link(&second).expect("nobody has signed in yet");
    let token = path.split('=').nth(1).unwrap();
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let url = format!("{}/sign-in", second.url());
    let redeem = client.build().unwrap().post(&url).header("origin", second.url());
    let redeemed = redeem.form(&[("token", token)]).send().await.unwrap();
    assert_eq!(redeemed.status(), StatusCode::SEE_OTHER);
    second.stop().await;

    let mut third = site.start(&[]);
    third.greeted().await;
    assert_eq!(link(&third), None, "{}", third.said());
    assert!(third.said().contains("`countersign token` prints a link"), "{}", third.said());
    third.stop().await;

    let mut shown = site.start_on_a_terminal();
    shown.greeted().await;
    assert!(link(&shown).is_some(), "{}", shown.said());
    shown.stop().await;
    site.end().await;
}
