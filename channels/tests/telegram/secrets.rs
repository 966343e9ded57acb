//! No token in logs or errors.

use channels::{Channel, CheckError, FileRef};
use fakes::telegram::{FakeTelegram, TOKEN, Trouble};

use super::{shared::Sink, *};

/// Proves O1.
#[tokio::test]
async fn the_token_stands_in_no_error_and_in_no_log() {
    let sink = Sink::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(sink.clone())
        .finish();
    let logging = tracing::subscriber::set_default(subscriber);
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let mut read = Vec::new();

    let echo = format!("the token {TOKEN} is odd");
    let half = TOKEN.split(':').nth(1).expect("a token has two halves");
    let troubles = [
        Trouble::Refuse { code: 400, description: echo.clone() },
        Trouble::Refuse { code: 500, description: format!("half {half}") },
        Trouble::Cut,
        Trouble::LoseAnswer,
        Trouble::Page { code: 502 },
        Trouble::TooMany { retry_after: 1 },
    ];
    let channel = telegram(&fake);
    for trouble in troubles {
        fake.faults("*", trouble, 3);
        for what in [text("x"), file("a", None)] {
            let sent = channel.send(&delivery(chat, what, None)).await;
            read.push(format!("{sent:?} {}", sent.as_ref().expect_err("a fault")));
        }
        let file = FileRef {
            id: "f".to_owned(),
            name: String::new(),
            media_type: None,
            size_bytes: None,
            is_voice: false,
        };
        read.push(format!("{:?}", channel.fetch(&file).await));
    }
    let nobody = telegram_at("http://127.0.0.1:9", TOKEN, Mode::Poll);
    read.push(format!("{:?}", nobody.send(&delivery(chat, text("x"), None)).await));
    fake.fault("getMe", Trouble::Refuse { code: 500, description: echo });
    let mut listening = Listening::begin(&channel, None);
    fake.user_says(chat, "Ann", "x");
    listening.batch().await;
    read.push(format!("{:?}", listening.end().await));
    drop(logging);

    let logged = sink.logged();
    let logged = String::from_utf8_lossy(&logged).into_owned();
    assert!(logged.contains("will retry"), "the log was collected");
    read.push(logged);
    for text in read {
        assert!(!text.contains(half), "{text}");
    }
}

/// Whether the platform accepts the token, rejects it, or is unreachable.
#[tokio::test]
async fn the_platform_says_whether_it_knows_the_token() {
    let fake = FakeTelegram::start().await;
    assert_eq!(telegram(&fake).check().await, Ok(()));
    let other = "1:AAwrongtokenofanotherbotxxxxxxxxxxxxx";
    let refused = telegram_at(&fake.url(), other, Mode::Poll).check().await.unwrap_err();
    assert!(matches!(refused, CheckError::Refused(_)), "{refused}");
    let silent = telegram_at("http://127.0.0.1:9", TOKEN, Mode::Poll).check().await.unwrap_err();
    assert!(matches!(silent, CheckError::Silent(_)), "{silent}");
    assert!(!format!("{refused} {silent}").contains(TOKEN) && !refused.to_string().contains(other));
}
