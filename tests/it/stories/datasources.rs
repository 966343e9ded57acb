//! External databases that agents read, and the roles that they require.

use countersign::testing::{
    agent::disclosure::Disclosure,
    config::Config,
    scripted::{call, say},
};
use serde_json::json;
use sqlx::Connection as _;

use crate::{story, support::world::World};

/// Configures a shop database, for operators only.
async fn configured(world: &mut World) {
    let file = world.config.data_dir.join("shop.db");
    let url = format!("sqlite://{}?mode=rwc", file.display());
    let mut shop = sqlx::SqliteConnection::connect(&url).await.unwrap();
    for sql in [
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, card TEXT)",
        "INSERT INTO orders VALUES (1, 'Miller', 'canary-4111'), (2, 'Okafor', 'canary-4222')",
    ] {
        sqlx::query(sql).execute(&mut shop).await.unwrap();
    }
    shop.close().await.unwrap();
    let source = format!(
        r#"[{{ name = "shop", url = "sqlite://{}", roles = ["operator", "owner"], hidden_columns = ["card"] }}]"#,
        file.display()
    );
    let variables = [("COUNTERSIGN__DATASOURCES".to_owned(), source)].into();
    world.config.agents[0].disclosure = Disclosure::Legacy;
    world.config.datasources = Config::load(None, &variables).unwrap().datasources;
}

fn query() -> countersign::testing::scripted::ScriptStep {
    call("query_sql", json!({ "source": "shop", "sql": "SELECT * FROM orders ORDER BY id" }))
}

story! {
    /// The lowest role of the people in the turn decides. The result taints the conversation.
    /// Proves MC-40.
    async fn a_database_is_read_for_those_who_may(world: &mut World) {
        configured(world).await;
        world.model_will(query()).will(say("I may not."));
        world.ann_says("which orders are there?").await;
        let results = world.results().await;
        assert!(results[0].contains("datasources.shop"), "{results:?}");
        world.make_owner("1").await;
        world.ann_says("/new").await;
        world.model_will(query()).will(say("Two orders."));
        world.ann_says("and now?").await;
        assert_eq!(world.last(), "Two orders.");
        let result = world.results().await.pop().unwrap();
        assert!(result.starts_with("| id | customer |\n| --- | --- |\n| 1 | Miller |"), "{result}");
        let all = format!("{:?}{}", world.prompts(), world.rows_of("events").await.join("\n"));
        assert!(!all.contains("canary"), "{all}");
        assert!(world.rows_of("events").await.iter().any(|row| row.contains("tainted")), "{all}");
    }
}
