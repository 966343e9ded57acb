//! No token in logs or errors.

use channels::CheckError;

use super::{shared::Sink, *};

/// Proves O1.
#[tokio::test]
async fn the_token_stands_in_no_error_and_in_no_log() {
    let sink = Sink::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(sink.clone())
        .finish();
    let logging = tracing::subscriber::set_default(subscriber);
    let fake = FakeDiscord::start().await;
    let (ann, general) = (fake.person("Ann"), fake.general());
    let channel = discord(&fake);
    let mut read = vec![format!("{:?}", discord_config_of(&fake))];
    let echo = format!("the token {TOKEN} is odd");
    let troubles = [
        Trouble::Refuse { status: 400, code: 50035, message: echo.clone() },
        Trouble::Refuse { status: 500, code: 0, message: echo.clone() },
        Trouble::Cut,
        Trouble::LoseAnswer,
        Trouble::Page { status: 502 },
    ];
    for trouble in troubles {
        for what in [text("x"), file("a", None)] {
            fake.fault("send", trouble.clone());
            let sent = show(&channel, general, what).await;
            read.push(format!("{sent:?} {}", sent.as_ref().expect_err("a fault")));
        }
    }
    let nobody = discord_at("http://127.0.0.1:9", TOKEN, None);
    read.push(format!("{:?}", show(&nobody, general, text("x")).await));
    fake.fault("gateway", Trouble::Refuse { status: 500, code: 0, message: echo });
    let mut listening = Listening::connected(&fake).await;
    fake.says(general, ann, "x");
    listening.batch().await;
    read.push(format!("{:?}", listening.end().await));
    drop(logging);

    let logged = sink.logged();
    let logged = String::from_utf8_lossy(&logged).into_owned();
    assert!(logged.contains("reconnecting"), "the log was collected");
    read.push(logged);
    for text in read {
        assert!(!text.contains(TOKEN), "{text}");
    }
}

fn discord_config_of(fake: &FakeDiscord) -> DiscordConfig {
    let api_url = Some(fake.url().parse().expect("a URL"));
    DiscordConfig { api_url, ..DiscordConfig::new("dc", TOKEN.into()) }
}

/// Whether the platform accepts the token, rejects it, or is unreachable.
#[tokio::test]
async fn the_platform_says_whether_it_knows_the_token() {
    let fake = FakeDiscord::start().await;
    assert_eq!(discord(&fake).check().await, Ok(()));
    let refused = discord_at(&fake.url(), "another", None).check().await.unwrap_err();
    assert!(matches!(refused, CheckError::Refused(_)), "{refused}");
    let silent = discord_at("http://127.0.0.1:9", TOKEN, None).check().await.unwrap_err();
    assert!(matches!(silent, CheckError::Silent(_)), "{silent}");
    assert!(!format!("{refused} {silent}").contains(TOKEN));
}
