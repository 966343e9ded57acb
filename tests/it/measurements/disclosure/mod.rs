//! Measures the cost and the accuracy of disclosure: the real agent, prompt and catalogue with a
//! scripted model, for catalogues of several sizes, in tokens of cl100k.
//!
//! Four strategies are compared. *everything* puts all schemas into the prompt. *enable_tool* is
//! the gateway's own. *found at once* is the gateway's with `find_tool(enable: true)`.
//! *search–describe–call* is common elsewhere: three tools that search, describe and call, so that
//! no schema is in the prompt.
//!
//! The scripted model uses only the prompt. It picks the tool in the prompt whose words are most
//! similar to the goal (by trigrams, not by the ranking of `find_tool`). If the tool is wrong, it
//! tries the next one, up to three in all. This measures what the prompt shows and in which order,
//! not the ability of a model.
//!
//! Two facts limit the figures. The gateway's instructions and core tools, about 3,000 tokens, are
//! in every prompt of every strategy: with 100 tools the prompt is about 78 % shorter, although 97
//! % of the servers' schemas are left out. An enabled tool is inserted after the other tools and
//! before instructions and dialogue, which a provider must then read again; the tool listing
//! precedes it. In long turns with 50 tools, 92 % of the tokens are therefore cached.

mod picking;
mod tools;

use countersign::testing::{
    agent::{
        Agent,
        catalog::{Catalog, Tier, ToolSchema, ToolSpec},
        disclosure::Disclosure,
        limits::Budget,
        next::{Effect, next},
        policy::{GuardContext, Policy},
        prompt::{self, Message, Prompt},
        tool_listing,
    },
    journal::{
        event::{Call, Entry, Event, Outcome, Speaker, ToolResult, Usage},
        session::Session,
    },
};
use picking::{Goal, Model, Way};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};

use crate::support::world::World;

/// The prompt without any server tool, as at startup.
async fn own() -> (String, Vec<ToolSpec>) {
    let world = World::on_sqlite();
    let app = world.node().await;
    let specs = app.worker.toolbox.specs().into_iter();
    // Two tools are part of the test world.
    let specs = specs.filter(|spec| !["delete", "rare"].contains(&spec.name.as_str())).collect();
    let prompt = world.config.agents[0].system_prompt.clone();
    world.end().await;
    (prompt, specs)
}

fn agent(way: Way, prompt: &str, mut specs: Vec<ToolSpec>, served: usize) -> Agent {
    match way {
        Way::Search => specs.extend(searching()),
        _ => specs.extend(tools::served(served)),
    }
    let mode = if way == Way::Everything { Disclosure::Legacy } else { Disclosure::default() };
    Agent {
        id: "default".into(),
        model: "main".into(),
        system_prompt: prompt.into(),
        catalog: Catalog::new(specs, vec![]).unwrap().disclosing(mode),
        policy: Policy::default(),
        budget: Budget::default(),
    }
}

/// The three tools of the fourth strategy.
fn searching() -> Vec<ToolSpec> {
    let tool = |name: &str, about: &str, parameters: &[&str]| {
        let properties: serde_json::Map<_, _> =
            parameters.iter().map(|p| ((*p).to_owned(), json!({}))).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": parameters });
        ToolSpec { tier: Tier::Core, ..ToolSpec::read_only(name, about, schema) }
    };
    vec![
        tool("search_tools", "Searches the tools there are by words.", &["query"]),
        tool("describe_tool", "Tells the parameters of a tool that was found.", &["name"]),
        tool("call_tool", "Calls a tool that was described.", &["name", "arguments"]),
    ]
}

/// The cost of one task.
#[derive(Debug, Default, Clone)]
struct Cost {
    trips: usize,
    tokens: usize,
    cached: usize,
    largest: usize,
    picks: usize,
    wrong: usize,
    undone: usize,
}

impl Cost {
    fn add(&mut self, other: &Self) {
        self.trips += other.trips;
        self.tokens += other.tokens;
        self.cached += other.cached;
        self.largest = self.largest.max(other.largest);
        self.picks += other.picks;
        self.wrong += other.wrong;
        self.undone += other.undone;
    }

    fn cached_share(&self) -> f64 {
        self.cached as f64 / self.tokens.max(1) as f64
    }

    fn wrong_share(&self) -> f64 {
        self.wrong as f64 / self.picks.max(1) as f64
    }
}

/// Counts each text once.
struct Tokens {
    encoding: &'static tiktoken_rs::CoreBPE,
    known: HashMap<String, usize>,
}

impl Tokens {
    fn of(&mut self, text: String) -> usize {
        let encoding = self.encoding;
        *self.known.entry(text).or_insert_with_key(|text| encoding.encode_ordinary(text).len())
    }

    /// A name identifies one tool, except for the tool that holds the directory.
    fn of_tool(&mut self, tool: &ToolSchema) -> usize {
        let holds = &tool.parameters["properties"]["names"]["description"];
        let key = format!("tool {} {}", tool.name, holds.as_str().unwrap_or_default());
        if let Some(tokens) = self.known.get(&key) {
            return *tokens;
        }
        let ToolSchema { name, description, parameters } = tool;
        let all = json!({ "name": name, "description": description, "parameters": parameters });
        let tokens = self.of(all.to_string());
        self.known.insert(key, tokens);
        tokens
    }

    /// The request in the order in which providers cache it: tools, instructions, dialogue.
    fn parts(&mut self, prompt: &Prompt) -> Vec<(String, usize)> {
        let tools = prompt.tools.iter().map(|tool| (tool.name.clone(), self.of_tool(tool)));
        let mut parts: Vec<_> = tools.collect();
        let texts = [prompt.system.clone()].into_iter();
        for text in texts.chain(prompt.messages.iter().map(written)) {
            parts.push((text.clone(), self.of(text)));
        }
        parts
    }
}

fn written(message: &Message) -> String {
    match message {
        Message::User { text } | Message::Tool { text, .. } => text.clone(),
        Message::Picture(picture) => picture.line(),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| format!("{}{}", call.tool, call.arguments));
            text.clone() + &calls.collect::<String>()
        }
    }
}

fn sum(parts: &[(String, usize)]) -> usize {
    parts.iter().map(|(_, tokens)| tokens).sum()
}

/// A conversation of one task.
struct Talk<'a> {
    agent: &'a Agent,
    /// The catalogue of `search_tools`, in the fourth strategy.
    library: &'a Catalog,
    /// The start of every conversation of the agent.
    fixed: &'a [(String, usize)],
    session: Session,
}

impl Talk<'_> {
    fn record(&mut self, event: Event) {
        let seq = self.session.seq + 1;
        self.session.apply(&Entry { seq, at: chrono::DateTime::UNIX_EPOCH, event });
    }

    /// Runs until the scripted model has finished.
    fn goes(&mut self, goals: &[Goal], way: Way, tokens: &mut Tokens) -> Cost {
        let mut model = Model::new(goals, way);
        let mut cost = Cost::default();
        // Other conversations have the same tools and instructions, so the provider has cached
        // them.
        let mut before = self.fixed.to_vec();
        let by = Speaker { id: "1".into(), name: "Ann".into() };
        let text = goals.iter().map(|goal| goal.says.as_str()).collect::<Vec<_>>().join(", then ");
        self.record(Event::Said { by, text, message: "m".into() });
        loop {
            match next(&self.session, self.agent, &BTreeSet::new(), &GuardContext::default()) {
                Effect::Think => {
                    let prompt = prompt::build(&self.session, self.agent, false);
                    let parts = tokens.parts(&prompt);
                    let shared = parts.iter().zip(&before).take_while(|(a, b)| a == b).count();
                    cost.trips += 1;
                    cost.tokens += sum(&parts);
                    cost.cached += sum(&parts[..shared]);
                    cost.largest = cost.largest.max(sum(&parts));
                    before = parts;
                    let id = format!("call{}", self.session.seq);
                    let calls = model.calls(&prompt).into_iter().map(|(tool, arguments)| Call {
                        id: id.as_str().into(),
                        model_id: id.clone(),
                        tool,
                        arguments,
                    });
                    let (upto, calls) = (self.session.seq, calls.collect());
                    let (text, usage) = (String::new(), Usage::default());
                    self.record(Event::Replied { text, calls, upto, usage });
                }
                Effect::Settle(events) => events.into_iter().for_each(|event| self.record(event)),
                Effect::Run(cleared) => {
                    for cleared in cleared {
                        let text = self.answer(cleared.call(), &mut model);
                        let result = ToolResult::text(Outcome::Done, text);
                        let call = cleared.call().id.clone();
                        self.record(Event::ToolFinished { call, result });
                    }
                }
                Effect::Rest => break,
                other => panic!("{way:?}: {other:?}"),
            }
        }
        Cost { picks: goals.len(), wrong: model.wrong, undone: model.undone, ..cost }
    }

    fn answer(&self, call: &Call, model: &mut Model<'_>) -> String {
        let text = |key: &str| call.arguments[key].as_str().unwrap_or_default();
        match call.tool.as_str() {
            "search_tools" => {
                let found = self.library.finding(&call.arguments).unwrap();
                tool_listing::search_result(self.library.extensions().count(), &found, &[])
            }
            "describe_tool" => described(self.library, text("name")).to_string(),
            "call_tool" => model.ran(text("name")),
            tool => model.ran(tool),
        }
    }
}

fn described(library: &Catalog, name: &str) -> Value {
    let spec = library.extensions().find(|spec| spec.name == name).unwrap();
    json!({ "name": spec.name, "description": spec.description, "parameters": spec.parameters })
}

/// One line of the table.
struct Row {
    served: usize,
    way: Way,
    fixed: usize,
    all: Cost,
    /// The cost of tasks that take five requests or more.
    long: Cost,
    tasks: usize,
}

async fn measure(sizes: &[usize], tasks: &[Vec<Goal>]) -> Vec<Row> {
    let (instructions, own) = own().await;
    let mut rows = Vec::new();
    let mut tokens =
        Tokens { encoding: tiktoken_rs::cl100k_base_singleton(), known: HashMap::new() };
    for &served in sizes {
        // Without a server, the model can only answer.
        let tasks = if served == 0 { &[vec![]][..] } else { tasks };
        for way in [Way::Everything, Way::Enable, Way::FoundAtOnce, Way::Search] {
            let agent = agent(way, &instructions, own.clone(), served);
            let library = Catalog::new(tools::served(served), vec![]).unwrap();
            let fixed = tokens.parts(&prompt::build(&Session::default(), &agent, false));
            let (mut all, mut long) = (Cost::default(), Cost::default());
            for goals in tasks {
                let (agent, library, fixed) = (&agent, &library, fixed.as_slice());
                let mut talk = Talk { agent, library, fixed, session: Session::default() };
                let cost = talk.goes(goals, way, &mut tokens);
                all.add(&cost);
                if cost.trips >= 5 {
                    long.add(&cost);
                }
            }
            let fixed = sum(&fixed);
            rows.push(Row { served, way, fixed, all, long, tasks: tasks.len() });
        }
    }
    rows
}

fn print(rows: &[Row]) {
    eprintln!(
        "\n{:>6}  {:<21} {:>8} {:>11} {:>8} {:>6} {:>7} {:>7} {:>7} {:>7}",
        "tools",
        "way",
        "fixed",
        "tokens/task",
        "largest",
        "trips",
        "cached",
        "(long)",
        "wrong",
        "undone",
    );
    for Row { served, way, fixed, all, long, tasks } in rows {
        eprintln!(
            "{served:>6}  {:<21} {fixed:>8} {:>11} {:>8} {:>6.2} {:>6.1}% {:>6.1}% {:>6.1}% {:>7}",
            way.name(),
            all.tokens / tasks,
            all.largest,
            all.trips as f64 / *tasks as f64,
            all.cached_share() * 100.0,
            long.cached_share() * 100.0,
            all.wrong_share() * 100.0,
            all.undone,
        );
    }
}

/// The benchmark: prints the table.
#[tokio::test]
#[ignore = "takes a minute; docs/development/benchmarks.md says how to run it"]
async fn disclosure_is_measured() {
    let tasks = picking::tasks();
    assert!(tasks.len() >= 60);
    let rows = measure(&[0, 50, 100, 200, 1000], &tasks).await;
    print(&rows);
    promises(&rows);
}

/// Properties that hold at any size, with fewer tasks.
#[tokio::test]
async fn disclosure_keeps_its_promises() {
    let tasks: Vec<_> = picking::tasks().into_iter().rev().step_by(5).collect();
    let rows = measure(&[0, 50, 100], &tasks).await;
    print(&rows);
    promises(&rows);
}

fn promises(rows: &[Row]) {
    let row = |served, way| {
        rows.iter().find(|row| row.served == served && row.way == way).expect("it was measured")
    };
    assert!(row(0, Way::Enable).fixed <= 2_560);
    let sizes: BTreeSet<_> =
        rows.iter().map(|row| row.served).filter(|served| *served > 0).collect();
    for served in sizes {
        let (everything, ours) = (row(served, Way::Everything), row(served, Way::Enable));
        assert!(ours.fixed <= 2_700, "{served}");
        assert!(ours.all.tokens < everything.all.tokens, "{served}");
        assert!(ours.all.wrong <= everything.all.wrong, "{served}");
        assert_eq!(ours.all.undone, 0, "{served}");
        assert!(ours.long.cached_share() >= 0.9, "{served}");
        let by_hand = row(served, Way::Search);
        assert!(ours.all.trips <= by_hand.all.trips, "{served}");
    }
}
