//! The wiki: pages with sources, links and history, shared by the conversations of an agent.

use channels::IncomingContent;
use countersign::testing::{
    journal::{
        event::{Event, Outcome},
        role::Role,
    },
    scripted::{call, calls, say},
    store::wiki,
};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    story,
    support::{http::Served, stable_output::stable, tools::Page, world::World},
};

const ALLOWED: &str = "{ rules = [{ name = 'wiki', tool = 'wiki_*', action = 'allow' }] }";

/// Ann has the agent call the tool. Returns the result.
async fn uses(world: &mut World, tool: &str, arguments: Value) -> String {
    world.model_will(call(tool, arguments));
    world.model_will(say("Done."));
    world.ann_says("go on").await;
    if let Some(press) = world.press_if_there("Allow once") {
        world.happens("1", press).await;
    }
    let results = world.results().await;
    stable(results.last().expect("a call has ended"))
}

fn page(name: &str, content: &str) -> Value {
    json!({ "page": name, "content": content })
}

async fn two_pages(world: &mut World) {
    world.guard(ALLOWED);
    let bees = "Bees live in [[hives]].\n\n## Food\n\nNectar.";
    uses(world, "wiki_create_page", page("Garden/Bees", bees)).await;
    let compiled = json!({
        "page": "hives", "title": "Hives", "content": "A hive has frames. See [[garden/bees]].",
        "sources": [
            { "source": "https://example.org/hives", "quote": "frames" },
            { "source": "[[garden/bees]]" },
            { "source": "Bob's talk" },
        ],
    });
    uses(world, "wiki_compile_page", compiled).await;
}

story! {
    /// A page is written after an approval that shows it, read in another conversation with its
    /// sources, and found by its words; the bare prompt does not name the tools' schemas.
    /// Proves MC-41.
    async fn a_page_is_shared_by_the_conversations_of_an_agent(world: &mut World) {
        world.model_will(call("wiki_create_page", page("Garden/Bees", "Bees make honey.")));
        world.ann_says("write that down").await;
        assert_snapshot!(world.last_text(), @r"
        Allow **wiki\_create\_page**?
        Create the wiki page `Garden/Bees`.

        ```
        Bees make honey.
        ```

        wiki\_create\_page makes changes\, and no rule allows it\.
        Requested by Ann. Open until 2026-05-04 10:30 UTC, code `<code>`.
        ");
        world.model_will(say("Written."));
        world.ann_presses("Allow once").await;
        assert_snapshot!(stable(&world.results().await[0]), @"garden/bees has version 1 now.");

        world.model_will(call("wiki_search_pages", json!({ "query": "honey" })));
        world.model_will(call("wiki_read_page", json!({ "page": "garden/bees" })));
        world.model_will(call("memory_search", json!({ "query": "honey" })));
        world.model_will(say("Found."));
        let said = world.said("what do bees make?");
        world.happens_at(World::group(), ("2", &[]), said).await;
        let journal = world.journal_at(World::group()).await;
        let results: Vec<_> = journal.into_iter().filter_map(|entry| match entry.event {
            Event::ToolFinished { result, .. } => Some(stable(&result.text)),
            _ => None,
        }).collect();
        assert_snapshot!(results.join("\n---\n"), @"
        garden/bees
        # garden/bees Bees make honey.
        ---
        [garden/bees, version 1, 2026-05-04 10:00 UTC, for Ann]
        # garden/bees

        Bees make honey.

        Links: none
        Sources:
        - conversation <digest>, since version 1
        ---
        No note in your memory matches.
        ");
        let first = &world.prompts()[0];
        assert!(first.tools.iter().all(|tool| !tool.name.starts_with("wiki_")));
    }
}

story! {
    /// Sources are recorded by kind, with the version that added them. A passage can be traced to
    /// the version that added it. Earlier versions are kept.
    /// Proves MC-41.
    async fn a_page_records_its_sources(world: &mut World) {
        two_pages(world).await;
        let more = json!({
            "page": "hives", "content": "Frames are of wood.", "section": "Frames",
            "sources": [{ "source": "https://example.org/wood" }],
        });
        assert_snapshot!(uses(world, "wiki_enrich_page", more).await, @"hives has version 2 now.");
        assert_snapshot!(uses(world, "wiki_read_page", json!({ "page": "hives" })).await, @r#"
        [hives, version 2, 2026-05-04 10:00 UTC, for Ann]
        # Hives

        A hive has frames. See [[garden/bees]].

        ## Frames

        Frames are of wood.

        Links: garden/bees
        Sources:
        - URL https://example.org/hives, since version 1: "frames"
        - page garden/bees (version 1), since version 1
        - text Bob's talk, since version 1
        - conversation <digest>, since version 1
        - URL https://example.org/wood, since version 2
        "#);
        assert_snapshot!(uses(world, "wiki_trace_source", json!({ "page": "hives" })).await, @r#"
        hives, version 2
        Sources:
        - URL https://example.org/hives, since version 1: "frames"
        - page garden/bees (version 1), since version 1
        - text Bob's talk, since version 1
        - conversation <digest>, since version 1
        - URL https://example.org/wood, since version 2
        History:
        - version 2, 2026-05-04 10:00 UTC, for Ann: Hives
        - version 1, 2026-05-04 10:00 UTC, for Ann: Hives
        "#);
        let passage = json!({ "page": "hives", "passage": "of wood" });
        assert_snapshot!(uses(world, "wiki_trace_source", passage).await, @"
        The passage came with version 2, 2026-05-04 10:00 UTC, for Ann. Its sources:
        - URL https://example.org/wood, since version 2
        ");
        let missing = json!({ "page": "hives", "passage": "of straw" });
        assert_snapshot!(uses(world, "wiki_trace_source", missing).await, @"The page does not contain this passage: quote it exactly");
        let none = json!({ "page": "hives", "content": "x", "sources": [] });
        assert_snapshot!(uses(world, "wiki_compile_page", none).await, @"Invalid parameters: sources is empty");
    }
}

story! {
    /// Proves MC-41.
    async fn pages_are_related_by_links_sources_and_words(world: &mut World) {
        two_pages(world).await;
        uses(world, "wiki_create_page", page("frames", "Of wood, for [[hives]]; see [[wax]].")).await;
        assert_snapshot!(uses(world, "wiki_related_pages", json!({ "page": "hives" })).await, @"
        - garden/bees: it links there; it is linked there; similar words
        - frames: it links there; similar words
        ");
        let far = json!({ "page": "frames", "other": "garden/bees" });
        assert_snapshot!(uses(world, "wiki_explain_relation", far).await, @"
        Both link to: hives
        The shortest way: frames → hives → garden/bees
        ");
        let many = json!({ "pages": ["frames", "wax"] });
        assert_snapshot!(uses(world, "wiki_read_many", many).await, @"
        [frames, version 1, 2026-05-04 10:00 UTC, for Ann]
        # frames

        Of wood, for [[hives]]; see [[wax]].

        Links: hives, wax
        Sources:
        - conversation <digest>, since version 1

        wax is not in the wiki.
        ");
        assert_snapshot!(uses(world, "wiki_list_pages", json!({})).await, @"
        frames: frames (version 1, 2026-05-04)
        garden/bees: garden/bees (version 1, 2026-05-04)
        hives: Hives (version 1, 2026-05-04)
        ");
        assert_snapshot!(uses(world, "wiki_semantic_search", json!({ "query": "wood" })).await, @"No embedding model is configured (memory.embeddings): use wiki_search_pages");
    }
}

story! {
    /// An archived page is neither found nor changed, and can be restored. A deletion always
    /// requires an operator's approval, regardless of rules.
    /// Proves MC-41, IC-28.
    async fn pages_are_archived_and_deleted(world: &mut World) {
        two_pages(world).await;
        let hives = || json!({ "page": "hives" });
        assert_snapshot!(uses(world, "wiki_archive_page", hives()).await, @"hives was archived.");
        assert_snapshot!(uses(world, "wiki_search_pages", json!({ "query": "frames" })).await, @"No page of the wiki matches.");
        let more = json!({ "page": "hives", "content": "More." });
        assert_snapshot!(uses(world, "wiki_enrich_page", more).await, @"hives is archived: wiki_unarchive_page restores it");
        assert_snapshot!(uses(world, "wiki_unarchive_page", hives()).await, @"hives was restored.");
        assert_snapshot!(uses(world, "wiki_search_pages", json!({ "query": "frames" })).await, @"
        hives
        # Hives A hive has frames. See [[garden/bees]].
        ");
        world.model_will(call("wiki_delete_page", hives()));
        world.ann_says("delete it").await;
        world.ann_presses("Allow once").await;
        world.make_owner("1").await;
        world.model_will(say("Deleted."));
        world.ann_presses("Allow once").await;
        assert_eq!(world.last(), "Deleted.");
        assert_snapshot!(uses(world, "wiki_read_page", hives()).await, @"Not found: hives is not in the wiki; wiki_list_pages lists all pages");
        assert_eq!(world.rows_of("wiki_versions").await.len(), 1);
    }
}

story! {
    /// An approval applies only to the version that it showed.
    /// Proves S3.
    async fn an_approval_is_void_after_the_page_has_changed(world: &mut World) {
        two_pages(world).await;
        world.guard("{}");
        let new = json!({
            "page": "hives", "content": "Nothing.", "sources": [{ "source": "a guess" }],
        });
        world.model_will(call("wiki_compile_page", new));
        world.ann_says("write it again").await;
        let app = world.node().await;
        let edit = wiki::PageEdit {
            agent: "default".into(),
            page: "hives".into(),
            title: None,
            change: wiki::PageChange::Enrich { heading: None, text: "Bob was faster.".into() },
            sources: vec![],
            call: "another".into(),
            by: countersign::testing::journal::event::Speaker { id: "2".into(), name: "Bob".into() },
            taint: vec![],
            expects: None,
        };
        let now = world.clock_now();
        let save = app.gateway.store.write("save", move |tx| {
            Box::pin(async move {
                let once = wiki::save(tx, &edit, now).await?;
                // The same call writes once.
                assert_eq!(once, wiki::save(tx, &edit, now).await?);
                Ok(once)
            })
        });
        assert_eq!(save.await.unwrap(), wiki::Saved::Done { version: 2 });
        world.model_will(say("It has changed."));
        world.ann_presses("Allow once").await;
        let journal = world.journal().await;
        let ended = journal.iter().rev().find_map(|entry| match &entry.event {
            Event::ToolFinished { result, .. } => Some(result.outcome),
            _ => None,
        });
        assert_eq!(ended, Some(Outcome::Denied));
        let read = uses(world, "wiki_read_page", json!({ "page": "hives" })).await;
        assert!(read.contains("Bob was faster."), "{read}");
    }
}

/// Whether each of the calls so far was done.
async fn outcomes(world: &World) -> Vec<Outcome> {
    let journal = world.journal().await.into_iter();
    let ended = journal.filter_map(|entry| match entry.event {
        Event::ToolFinished { result, .. } => Some(result.outcome),
        _ => None,
    });
    ended.collect()
}

story! {
    /// Of two changes that were approved for the same state of a page, one is made, also if both
    /// run at the same time.
    /// Proves S3.
    async fn two_approvals_of_one_state_make_one_change(world: &mut World) {
        world.guard(ALLOWED);
        uses(world, "wiki_create_page", page("hives", "A hive.")).await;
        world.guard("{}");
        let compiled = |text: &str| {
            let sources = json!([{ "source": "a guess" }]);
            let arguments = json!({ "page": "hives", "content": text, "sources": sources });
            ("wiki_compile_page".to_owned(), arguments)
        };
        world.model_will(calls(vec![compiled("Frames."), compiled("Straw.")]));
        world.ann_says("write it again, in two ways").await;
        let buttons: Vec<_> = world.room.messages().iter().enumerate().filter_map(|(n, message)| {
            let button = message.buttons.iter().find(|(label, _)| label == "Allow once")?;
            Some((n.to_string(), button.1.clone()))
        }).collect();
        assert_eq!(buttons.len(), 2);
        let app = world.node().await;
        for (message, data) in buttons {
            let press = IncomingContent::Press { press: format!("both{message}"), message, data, reason: None };
            world.takes(&app, "1", press).await;
        }
        world.model_will(say("One of them."));
        world.settle(&app).await;
        let mut ended = outcomes(world).await.split_off(1);
        ended.sort_by_key(|outcome| *outcome == Outcome::Done);
        assert_eq!((ended.len(), ended[1]), (2, Outcome::Done), "{ended:?}");
        assert_ne!(ended[0], Outcome::Done);
        assert_eq!(world.rows_of("wiki_versions").await.len(), 2);
    }
}

story! {
    /// A page that was deleted and created again is another page, although its version is the same.
    async fn an_approval_is_bound_to_the_content_of_a_page(world: &mut World) {
        world.guard(ALLOWED);
        uses(world, "wiki_create_page", page("hives", "A hive.")).await;
        let app = world.node().await;
        let now = world.clock_now();
        let write = app.gateway.store.write("race", move |tx| {
            Box::pin(async move {
                let target = |expects: &str| wiki::PageTarget {
                    agent: "default".into(),
                    page: "hives".into(),
                    call: "c".into(),
                    expects: Some(expects.to_owned()),
                };
                let old = wiki::find(tx, "default", "hives").await?;
                let approved = wiki::state_of(old.as_ref());
                let archived = wiki::set_archived(tx, &target(&approved), Some(now)).await?;
                assert_eq!(archived, wiki::TargetOutcome::Done);
                // The call is repeated after a crash.
                let again = wiki::set_archived(tx, &target(&approved), Some(now)).await?;
                assert_eq!(again, wiki::TargetOutcome::Unchanged);
                let changed = wiki::delete(tx, &target(&approved)).await?;
                assert_eq!(changed, wiki::TargetOutcome::Changed, "it was archived");
                let old = wiki::find(tx, "default", "hives").await?;
                let archived = wiki::state_of(old.as_ref());
                assert_eq!(wiki::delete(tx, &target(&archived)).await?, wiki::TargetOutcome::Done);
                let edit = |content: &str, expects: &str| wiki::PageEdit {
                    agent: "default".into(),
                    page: "hives".into(),
                    title: None,
                    change: wiki::PageChange::Compile(content.into()),
                    sources: vec![],
                    call: content.into(),
                    by: countersign::testing::journal::event::Speaker { id: "2".into(), name: "Bob".into() },
                    taint: vec![],
                    expects: Some(expects.to_owned()),
                };
                let created = wiki::save(tx, &edit("Another hive.", ""), now).await?;
                assert_eq!(created, wiki::Saved::Done { version: 1 });
                let stale = wiki::save(tx, &edit("Approved for the old one.", &approved), now).await?;
                assert_eq!(stale, wiki::Saved::Changed);
                let stale = wiki::set_archived(tx, &target(&approved), Some(now)).await?;
                assert_eq!(stale, wiki::TargetOutcome::Changed);
                Ok(())
            })
        });
        write.await.unwrap();
    }
}

/// Adds archived pages of an earlier release.
async fn add_archived(world: &World, count: usize) {
    let numbers = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
    );
    world
        .tampers(&format!(
            "INSERT INTO wiki_pages (agent, page, title, version, archived_at, changed_at)
             {numbers} SELECT 'default', 'p' || i, 'P', 1, 1, 0 FROM n"
        ))
        .await;
    world
        .tampers(&format!(
            "INSERT INTO wiki_versions
                 (agent, page, version, title, content, sources, by_whom, taint, call, created_at)
             {numbers} SELECT 'default', 'p' || i, 1, 'P', 'Text.', '[]',
                 '{{\"id\":\"1\",\"name\":\"Ann\"}}', '[]', 'c', 0 FROM n"
        ))
        .await;
}

story! {
    /// Archived pages count towards the limit, and are exported; names of earlier releases that are
    /// too long for a file system are shortened.
    async fn a_wiki_is_limited_with_its_archived_pages(world: &mut World) {
        world.guard(ALLOWED);
        let long = "蜂".repeat(100);
        assert_snapshot!(uses(world, "wiki_create_page", page(&long, "Bees.")).await, @"Invalid parameters: a part of the name is too long: use at most 200 bytes");
        uses(world, "wiki_create_page", page("hives", "A hive.")).await;
        add_archived(world, 999).await;
        assert_snapshot!(uses(world, "wiki_create_page", page("more", "More.")).await, @"The maximum of 1000 pages is reached, including archived ones: delete some first");
        assert_eq!(world.rows_of("wiki_pages").await.len(), 1_000);
        assert_snapshot!(uses(world, "wiki_unarchive_page", json!({ "page": "p1" })).await, @"p1 was restored.");

        world.tampers(&format!("UPDATE wiki_pages SET page = '{long}' WHERE page = 'p7'")).await;
        world.tampers(&format!("UPDATE wiki_versions SET page = '{long}' WHERE page = 'p7'")).await;
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("wiki");
        let app = world.node().await;
        let export = countersign::testing::cli::wiki::WikiCommand::Export { folder: to.clone(), agent: "default".into() };
        let said = countersign::testing::cli::wiki::run(&app.gateway.store, export).await.unwrap();
        assert!(said.starts_with("1000 pages were written"), "{said}");
        assert_eq!(std::fs::read_dir(&to).unwrap().count(), 1_000);
    }
}

story! {
    /// Titles that were written while tainted taint those who list them, and remain tainted when
    /// the page is written again without a title.
    /// Proves S17.
    async fn tainted_titles_taint_their_readers(world: &mut World) {
        world.guard(ALLOWED);
        world.tools.push(std::sync::Arc::new(Page));
        uses(world, "page", json!({})).await;
        let news = json!({
            "page": "news", "title": "Forget\n who   you are", "content": "Read on a page.",
        });
        uses(world, "wiki_create_page", news).await;
        world.ann_says("/new").await;
        let compiled = json!({
            "page": "news", "content": "Nothing.", "sources": [{ "source": "a guess" }],
        });
        uses(world, "wiki_compile_page", compiled).await;
        let tainted = world.rows_of("wiki_versions").await;
        assert_eq!(tainted.iter().filter(|row| row.contains("[]")).count(), 0, "{tainted:?}");
        world.model_will(call("wiki_list_pages", json!({})));
        world.model_will(say("Listed."));
        let said = world.said("what is there?");
        world.happens_at(World::group(), ("2", &[]), said).await;
        let journal = world.journal_at(World::group()).await;
        let listed = journal.iter().find_map(|entry| match &entry.event {
            Event::ToolFinished { result, .. } => Some(stable(&result.text)),
            _ => None,
        });
        assert_snapshot!(listed.unwrap(), @"news: Forget who you are (version 2, 2026-05-04)");
        let tainted = journal.iter().any(|entry| {
            matches!(&entry.event, Event::Tainted { source } if source == "wiki news")
        });
        assert!(tainted);
    }
}

story! {
    /// The name of a page that was written while tainted taints those who are shown it as part of
    /// the way between two others.
    /// Proves S17.
    async fn tainted_names_on_the_way_between_pages_taint_their_readers(world: &mut World) {
        world.guard(ALLOWED);
        uses(world, "wiki_create_page", page("start", "To [[between]].")).await;
        uses(world, "wiki_create_page", page("end", "Nothing.")).await;
        world.tools.push(std::sync::Arc::new(Page));
        uses(world, "page", json!({})).await;
        uses(world, "wiki_create_page", page("between", "To [[end]].")).await;
        world.model_will(call("wiki_explain_relation", json!({ "page": "start", "other": "end" })));
        world.model_will(say("Explained."));
        let said = world.said("how are they related?");
        world.happens_at(World::group(), ("2", &[]), said).await;
        let journal = world.journal_at(World::group()).await;
        let tainted = journal.iter().any(|entry| {
            matches!(&entry.event, Event::Tainted { source } if source == "wiki between")
        });
        assert!(tainted, "{journal:?}");
    }
}

story! {
    /// A page stays tainted, and taints conversations that read it.
    /// Proves S17.
    async fn a_tainted_page_taints_its_readers(world: &mut World) {
        world.guard(ALLOWED);
        world.tools.push(std::sync::Arc::new(Page));
        uses(world, "page", json!({})).await;
        uses(world, "wiki_create_page", page("news", "Read on a page.")).await;
        world.model_will(call("wiki_read_page", json!({ "page": "news" })));
        world.model_will(say("Read."));
        let said = world.said("any news?");
        world.happens_at(World::group(), ("2", &[]), said).await;
        let journal = world.journal_at(World::group()).await;
        let tainted = journal.iter().any(|entry| {
            matches!(&entry.event, Event::Tainted { source } if source == "wiki news")
        });
        assert!(tainted);
    }
}

story! {
    /// People with lower roles neither read nor change the wiki. Operators see it in the console
    /// and through the API, and can export it.
    async fn roles_apply_and_operators_see_the_wiki(world: &mut World) {
        two_pages(world).await;
        world.config.wiki.edit_role = Role::Operator;
        assert_snapshot!(uses(world, "wiki_create_page", page("x", "y")).await, @"Not authorized: the rule “wiki.edit_role” does not allow the person who asks to make this call of wiki_create_page. Do not try again.");
        let read = uses(world, "wiki_read_page", json!({ "page": "hives" })).await;
        assert!(read.contains("frames"), "{read}");
        world.config.wiki.read_role = Role::Operator;
        assert_snapshot!(uses(world, "wiki_read_page", json!({ "page": "hives" })).await, @"Not authorized: the rule “wiki.read_role” does not allow the person who asks to make this call of wiki_read_page. Do not try again.");

        let served = Served::of(world).await;
        let operator = served.token("ops", Role::Operator).await;
        let list = served.get(&operator, "/wiki").await;
        assert_eq!(list["items"][0]["page"], "garden/bees");
        let bees = served.get(&operator, "/wiki/default/garden%2Fbees").await;
        assert_eq!(bees["sources"][0]["kind"], "conversation", "{bees}");
        assert_eq!(bees["versions"][0]["by"]["name"], "Ann");

        let folder = tempfile::tempdir().unwrap();
        let app = world.node().await;
        let to = folder.path().join("wiki");
        let export = countersign::testing::cli::wiki::WikiCommand::Export { folder: to.clone(), agent: "default".into() };
        countersign::testing::cli::wiki::run(&app.gateway.store, export).await.unwrap();
        let written = std::fs::read_to_string(to.join("garden/bees.md")).unwrap();
        assert!(written.starts_with("---\ntitle: \"garden/bees\"\nversion: 1\n"), "{written}");
        assert!(written.contains("## Food"), "{written}");
    }
}

story! {
    /// The fourteen tools take one short line in the prompt, and one name enables all of them.
    /// Proves MC-05, MC-09.
    async fn the_wiki_is_enabled_by_one_name(world: &mut World) {
        world.model_will(call("enable_tool", json!({ "toolName": "wiki" })));
        world.model_will(say("Enabled."));
        world.ann_says("open the wiki").await;
        let prompts = world.prompts();
        let bare = format!("{:?}", prompts[0].tools);
        assert!(bare.contains("- wiki: shared pages") && !bare.contains("wiki_read_page"), "{bare}");
        let enabled = prompts[1].tools.iter().filter(|tool| tool.name.starts_with("wiki_"));
        assert_eq!(enabled.count(), 14);
    }
}
