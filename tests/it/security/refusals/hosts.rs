//! DNS rebinding: requests with foreign host names, sent by a browser whose page resolved its own
//! name to this machine.

use reqwest::{Method, StatusCode, header::HOST};

use crate::support::{http::Served, world::World};

/// 9 names on 5 routes, and the routes that stay open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_of_somebody_else_is_refused_on_every_route() {
    let mut world = World::on_sqlite();
    world.config.admin.public_url = Some("https://chat.example/".parse().unwrap());
    world.config.admin.hosts = vec!["gateway".into()];
    let served = Served::of(&world).await;
    let status = async |host: &str, path: &str| {
        let request = served.request(Method::GET, path).header(HOST, host);
        let cookie = served.session("owner").await;
        request.header("cookie", cookie).send().await.unwrap().status()
    };
    for host in [
        "evil.example",
        "evil.example:8642",
        "chat.example.evil.example",
        "evil-chat.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.0.2.1",
        "[2001:db8::1]",
        "2130706433.evil.example",
    ] {
        for path in ["/", "/metrics", "/console", "/api/v1/people", "/sign-in"] {
            let status = status(host, path).await;
            assert_eq!(status, StatusCode::MISDIRECTED_REQUEST, "{host} {path}");
        }
        for path in ["/healthz", "/widget.js"] {
            assert_eq!(status(host, path).await, StatusCode::OK, "{host} {path}");
        }
    }
    for host in ["chat.example", "CHAT.example:443", "gateway:8642", "localhost", "[::1]:1"] {
        for path in ["/", "/metrics", "/api/v1/people"] {
            assert_eq!(status(host, path).await, StatusCode::OK, "{host} {path}");
        }
    }
    let refused = served.request(Method::GET, "/").header(HOST, "evil.example").send();
    let text = refused.await.unwrap().text().await.unwrap();
    assert!(text.contains("admin.public_url"), "{text}");
}
