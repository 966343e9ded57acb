//! A fake Bot API on its own port, for third-party clients: `fake-telegram PORT`.
//!
//! The token is [`fakes::telegram::TOKEN`]; one private chat with Ann, with the id 500, is open.

use fakes::telegram::FakeTelegram;

#[tokio::main]
async fn main() {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let Some(port) = port else {
        eprintln!("usage: fake-telegram PORT");
        std::process::exit(2);
    };
    let fake = FakeTelegram::start_on(port).await;
    let chat = fake.private("Ann");
    eprintln!("{} token {} chat {chat}", fake.url(), fakes::telegram::TOKEN);
    std::future::pending::<()>().await;
}
