//! The generated parts of the reference.

use clap::{Arg, ArgAction, Command};
use countersign::testing::{
    admin::{api, metrics::METRICS},
    agent::{
        catalog::{ApprovalMode, Tier},
        rules,
    },
    app::{App, Overrides},
    config::{
        Config,
        keys::{ConfigKey, ConfigSection, sections},
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

/// Each part by its name.
pub async fn parts(cli: &Command) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("configuration", configuration()),
        ("cli", commands(cli)),
        ("metrics", metrics()),
        ("api", operations()),
        ("rules", shipped_rules()),
        ("tools", tools().await),
        ("skill-scan", crate::security::skill_scan::table()),
    ])
}

/// A text for a cell of a table. Within code, `<` is not escaped.
fn cell(text: &str) -> String {
    let text = text.replace('\n', " ").replace('|', "\\|");
    let escape = |(at, part): (usize, &str)| match at % 2 {
        0 => part.replace('<', "\\<"),
        _ => part.to_owned(),
    };
    text.split('`').enumerate().map(escape).collect::<Vec<_>>().join("`")
}

fn table(columns: &[&str]) -> String {
    let rule = vec!["---"; columns.len()];
    format!("| {} |\n| {} |\n", columns.join(" | "), rule.join(" | "))
}

/// A table of keys for each section.
fn configuration() -> String {
    sections().iter().map(section).collect()
}

fn section(section: &ConfigSection) -> String {
    let heading = match section.path.as_str() {
        "" => "Top level".to_owned(),
        _ => format!("`{}`\n\n{}.", section.header(), section.description),
    };
    let rows: String = section.keys.iter().map(key).collect();
    format!("## {heading}\n\n{}{rows}\n", table(&["Key", "Default", "Description"]))
}

fn key(key: &ConfigKey) -> String {
    let default = match key.default.to_string().as_str() {
        "" => "–".to_owned(),
        default => format!("`{}`", default.replace('|', "\\|")),
    };
    format!("| `{}` | {default} | {} |\n", key.path, cell(&key.description))
}

/// The help of every command, with its options.
fn commands(cli: &Command) -> String {
    let mut cli = cli.clone();
    cli.build();
    let mut text = String::new();
    let global: BTreeSet<_> =
        cli.get_arguments().filter(|a| a.is_global_set()).map(|a| a.get_id().clone()).collect();
    let _ = writeln!(text, "## Options of every command\n");
    let options = cli.get_arguments().filter(|argument| global.contains(argument.get_id()));
    text += &arguments(options);
    let mut waiting: Vec<_> = visible(&cli).collect();
    waiting.reverse();
    while let Some(command) = waiting.pop() {
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "\n## `{name}`\n\n{}.\n", about.trim_end_matches('.'));
        let usage = command.clone().render_usage().to_string();
        let _ = writeln!(text, "```text\n{}\n```", usage.trim_start_matches("Usage: "));
        let own = command.get_arguments();
        let own = arguments(own.filter(|a| !global.contains(a.get_id()) || is_own(command, a)));
        if !own.is_empty() {
            let _ = write!(text, "\n{own}");
        }
        if let Some(examples) = command.get_after_help() {
            let examples = examples.to_string().replace("\n  ", "\n");
            let examples = examples.trim_start_matches("Examples:\n");
            let _ = write!(text, "\n```sh\n{examples}\n```\n");
        }
        let mut below: Vec<_> = visible(command).collect();
        below.reverse();
        waiting.extend(below);
    }
    text
}

/// Global options of the program are listed once, those of a command with the command.
fn is_own(command: &Command, argument: &Arg) -> bool {
    argument.get_id() == "agent" && command.get_name() == "skill"
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

fn arguments<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    use ArgAction::{Help, HelpLong, HelpShort, Version};
    let is_shown = |argument: &&Arg| {
        let is_builtin = matches!(argument.get_action(), Help | HelpLong | HelpShort | Version);
        !is_builtin && !argument.is_hide_set()
    };
    let rows: Vec<_> = arguments.filter(is_shown).map(row).collect();
    if rows.is_empty() { String::new() } else { table(&["Argument", "Meaning"]) + &rows.concat() }
}

fn row(argument: &Arg) -> String {
    let takes = argument.get_action().takes_values();
    let values = argument.get_value_names().unwrap_or_default();
    let values: Vec<_> = values.iter().map(AsRef::as_ref).filter(|_| takes).collect();
    let long = argument.get_long().map(|long| format!("--{long}"));
    let short = argument.get_short().map(|short| format!("-{short}"));
    let names: Vec<_> = short.into_iter().chain(long).collect();
    let name = format!("{} {}", names.join(", "), values.join(" "));
    let mut says = argument.get_help().map(ToString::to_string).unwrap_or_default();
    if !says.is_empty() && !says.ends_with('.') {
        says.push('.');
    }
    let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy());
    for default in defaults.filter(|default| takes && !default.is_empty()) {
        let _ = write!(says, " Default: `{default}`.");
    }
    format!("| `{}` | {} |\n", name.trim(), cell(says.trim()))
}

fn metrics() -> String {
    let row =
        |(name, kind, says): &(&str, countersign::testing::admin::metrics::MetricKind, &str)| {
            let kind = format!("{kind:?}").to_lowercase();
            format!("| `{name}` | {kind} | {says} |\n")
        };
    table(&["Metric", "Kind", "Meaning"]) + &METRICS.iter().map(row).collect::<String>()
}

fn operations() -> String {
    let document = api::openapi();
    let mut text = table(&["Operation", "Least role", "What it does"]);
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let role = operation["x-role"].as_str().unwrap_or("–");
            let says = operation["summary"].as_str().or(operation["description"].as_str());
            let says = cell(says.unwrap_or_default());
            let method = method.to_uppercase();
            let _ = writeln!(text, "| `{method} {path}` | {role} | {says} |");
        }
    }
    text
}

fn shipped_rules() -> String {
    let mut text = table(&["Rule", "Action", "Severity"]);
    for rule in rules::shipped(&[]) {
        let (action, severity) = (rule.action, rule.severity);
        let row = format!("| {} | {action:?} | {severity:?} |", cell(&rule.name));
        let _ = writeln!(text, "{}", row.to_lowercase());
    }
    text
}

/// The built-in tools of a gateway with all their requirements.
async fn tools() -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::load(None, &BTreeMap::new()).unwrap();
    folder.path().clone_into(&mut config.data_dir);
    let app = App::open(&config, &BTreeMap::new(), Overrides::default()).await.unwrap();
    let mut text = table(&["Tool", "Tier", "Approval", "What it does"]);
    for spec in app.worker.toolbox.specs() {
        let tier = if spec.tier == Tier::Core { "core" } else { "extension" };
        let approval = match spec.approval {
            ApprovalMode::Never => "none",
            ApprovalMode::UnlessAllowed => "unless allowed",
            ApprovalMode::Always => "always",
        };
        // Markdown links in a description are not links of this page.
        let says = spec.description.lines().next().unwrap_or_default().replace("](", "\\](");
        let _ = writeln!(text, "| `{}` | {tier} | {approval} | {} |", spec.name, cell(&says));
    }
    text
}
