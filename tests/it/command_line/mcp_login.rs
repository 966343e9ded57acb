//! Signing in to an MCP server as an operator at another machine.

use fakes::guarded::Guarded;

use crate::support::process::{On, Site, eventually};

/// The printed URL is opened on another machine, and the resulting URL is pasted; then the gateway
/// has the server's tools. A foreign URL is rejected.
/// Proves CA-32.
#[tokio::test]
async fn somebody_signs_in_by_a_browser_on_another_machine() {
    let server = Guarded::start().await;
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:8642", &format!("[[mcp]]\nname = \"g\"\nurl = {:?}\n", server.url()));
    let (fine, said) = site.run(&["doctor", "--live"]).await;
    assert!(!fine && said.contains("countersign mcp login g"), "{said}");

    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let browser = browser.build().unwrap();
    for forged in [true, false] {
        let mut login = site.asks(&["mcp", "login", "g", "--paste"]);
        let address = eventually("it prints an address", async || {
            let said = login.said();
            said.lines().find(|line| line.starts_with("http://")).map(str::to_owned)
        });
        let page = browser.get(address.await).send().await.unwrap();
        let back = page.headers()["location"].to_str().unwrap().to_owned();
        let pasted = if forged { back.replace("state=", "state=x") } else { back };
        login.types(format!("{pasted}\n").as_bytes()).await;
        assert_eq!(login.ended().await.success(), !forged, "{}", login.said());
        assert_eq!(login.said().contains("Signed in."), !forged, "{}", login.said());
        assert_eq!(site.path("data/mcp_logins").exists(), !forged);
    }
    assert_eq!(server.asked()["redirect_uri"], "http://127.0.0.1:33418/callback");
    let (fine, said) = site.run(&["doctor", "--live"]).await;
    assert!(fine && said.contains("ok    mcp g, live"), "{said}");
    site.end().await;
}
