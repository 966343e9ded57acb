//! A reminder that is due when the process dies fires once.

use fakes::telegram::{FakeTelegram, TOKEN};

use crate::support::process::{On, Site, eventually};

/// Proves R7.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_while_a_reminder_fires_costs_nothing() {
    let points = ["run schedule/before commit#1", "run schedule/after commit#1"];
    for on in [On::Sqlite, On::Postgres] {
        for point in points {
            comes_once(on, point).await;
        }
    }
}

async fn comes_once(on: On, point: &str) {
    let mut site = Site::new(on).await;
    let telegram = FakeTelegram::start().await;
    let chat = telegram.private("Ann");
    site.variable("TELEGRAM_BOT_TOKEN", TOKEN);
    let url = telegram.url();
    site.configure(
        "127.0.0.1:0",
        &format!(
            "[[channels]]\nid = \"tg\"\nkind = \"telegram\"\n\
             token = {{ env = \"TELEGRAM_BOT_TOKEN\" }}\napi_url = \"{url}\"\nallow = [\"{chat}\"]"
        ),
    );
    let mut dies = site.start(&[("COUNTERSIGN_CRASH_AT", point)]);
    dies.greeted().await;
    telegram.user_says(chat, "Ann", "remind me in 2 seconds to look up");
    let shown = || {
        let messages = telegram.messages(chat).into_iter();
        messages.filter(|message| message.text.starts_with('⏰')).count()
    };
    dies.died().await;
    assert_eq!(shown(), 0, "{point}: it died first");
    let mut lives = site.start(&[]);
    eventually("the reminder", async || (shown() > 0).then_some(())).await;
    // A message makes a round trip: everything sent before has been shown.
    telegram.user_says(chat, "Ann", "what can you do");
    eventually("the help", async || {
        let messages = telegram.messages(chat);
        messages.iter().any(|m| m.from_bot && m.text.contains("I understand")).then_some(())
    })
    .await;
    assert_eq!(shown(), 1, "{point}: {}", site.said());
    assert!(lives.stop().await.success());
    let rows = site.rows("schedules").await;
    assert!(rows.len() == 1 && rows[0]["status"] == "done", "{rows:?}");
    site.end().await;
}
