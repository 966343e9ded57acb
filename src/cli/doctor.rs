//! `countersign doctor`: checks that everything a gateway needs is in place, and suggests fixes.

use anyhow::{Context as _, Result, ensure};
use chrono::DateTime;
use clap::Args;
use futures::{FutureExt as _, future::join_all};
use renderers::{
    Document,
    document::{Block, Inline},
};
use sandbox::Sandbox;
use secrecy::ExposeSecret as _;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use super::{
    browser, builder, extensions, mcp, media, output::OutputFormat, report::Report, say, wasm,
    web_access,
};
use crate::{
    admin::reload::{CheckExtent, CheckStatus},
    agent::{
        advice,
        catalog::{Subject, ToolSpec},
        redact::Redactor,
    },
    app,
    clock::SystemClock,
    config::{
        ChannelEntry, Config, ProviderName, datasources::DatasourceEntry, guard::policy, oidc,
        webhooks,
    },
    llm::Model,
    store::{
        Store,
        datasources::ReadError,
        db::{backup, modes},
    },
    telemetry,
    tools::documents::{fonts, office::Office},
};

#[derive(Debug, Args)]
pub struct Doctor {
    /// Also contact the models, platforms and MCP servers, with one small request each
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    output: OutputFormat,
}

/// Less free disk space than this is reported.
const LOW_BYTES: u64 = 1024 * 1024 * 1024;
/// A larger difference from the database's clock makes approvals expire at other times than shown.
const SKEW_MS: i64 = 2_000;
/// The database counts as unavailable if it takes longer than this.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// Characters of scripts and symbols that documents may contain.
const SAMPLE: &str = "a ä Ω я 中 あ 한 ع א 😀";

/// Runs all checks and prints the report. Fails if there is a fault.
pub async fn run(
    file: Option<&Path>,
    variables: &BTreeMap<String, String>,
    args: &Doctor,
) -> Result<()> {
    let extent = if args.live { CheckExtent::Live } else { CheckExtent::Local };
    let report = report(file, variables, extent).await;
    say(&report.shown(args.output)?)?;
    let faults = report.faults();
    ensure!(faults == 0, "{faults} of {} checks failed", report.count());
    Ok(())
}

/// Runs all checks. The report contains no secrets.
pub(super) async fn report(
    file: Option<&Path>,
    variables: &BTreeMap<String, String>,
    extent: CheckExtent,
) -> Report {
    let mut report = Report::default();
    let mut secrets = BTreeSet::new();
    match Config::load(file, variables) {
        Err(problem) => report.add(CheckStatus::Fault, "configuration", format!("{problem:#}")),
        Ok(config) => {
            match config.renamed.as_slice() {
                [] => report.add(CheckStatus::Fine, "configuration", "all keys are valid"),
                renamed => report.add(CheckStatus::Warning, "configuration", renamed.join("; ")),
            }
            secrets = app::secrets(&config, variables);
            telemetry::hide(&secrets);
            run_checks(&mut report, &config, variables).await;
            if extent == CheckExtent::Live {
                live(&mut report, &config, variables).await;
            } else {
                let says = "models, platforms and MCP servers were not contacted; use --live";
                report.add(CheckStatus::Warning, "live", says);
            }
        }
    }
    report.redact(&Redactor::new(secrets.iter().map(String::as_str)));
    report
}

async fn run_checks(report: &mut Report, config: &Config, variables: &BTreeMap<String, String>) {
    report.check("data_dir", data_dir(config));
    report.check("database", database(config).await);
    confined(config, report).await;
    report.check("tools", tools(config, variables).await);
    report.check("wasm tools", wasm::check(config, variables).await);
    report.check("extensions", extensions::check(config));
    report.check("builder", builder::check(config).await);
    report.check("fonts", Ok(fonts(config)));
    report.check("guard", guard(config));
    report.check("models", models(config, variables));
    report.check("web chat", web_chat(config).await);
    for entry in config.channels.iter().filter(|entry| entry.token.is_some()) {
        let token =
            token(entry, variables).map(|_| (CheckStatus::Fine, "has its token".to_owned()));
        report.check(&format!("channel {}", entry.id), token);
    }
    report.check("webhooks", webhook_secrets(config, variables));
    if let Some(issuer) = oidc::issuer(config, variables).transpose() {
        let known = issuer.map(|_| (CheckStatus::Fine, "has its credentials".to_owned()));
        report.check("issuer", known);
    }
    let sources = config.datasources.iter().map(|entry| datasource(entry, variables));
    for (entry, found) in config.datasources.iter().zip(join_all(sources).await) {
        report.check(&format!("datasource {}", entry.name), found);
    }
    media::report(report, config, variables);
    let open = !config.admin.listen.ip().is_loopback() && config.admin.public_url.is_none();
    let (found, says) = if open {
        (
            CheckStatus::Warning,
            "is open to other machines: put a TLS proxy in front of it and set public_url",
        )
    } else {
        (CheckStatus::Fine, "is only reachable from this machine, or behind a public_url")
    };
    report.add(found, "admin.listen", says);
}

fn data_dir(config: &Config) -> Result<(CheckStatus, String)> {
    let folder = config.data_dir.as_path();
    let shown = folder.display();
    if !folder.exists() {
        let says = format!("{shown} does not exist yet; the gateway creates it when it starts");
        return Ok((CheckStatus::Warning, says));
    }
    let file = folder.join(format!(".doctor-{}", uuid::Uuid::new_v4().simple()));
    std::fs::write(&file, b"x").with_context(|| format!("{shown} is not writable: chown it"))?;
    std::fs::remove_file(&file).context("removing the test file")?;
    let disk = rustix::fs::statvfs(folder)?;
    let free = disk.f_bavail * disk.f_frsize;
    let open = modes::open_to_others(folder, backup::file_of(&config.store_url()).as_deref());
    if !open.is_empty() {
        let paths: Vec<_> = open.iter().map(|path| path.display().to_string()).collect();
        let paths = paths.join(" ");
        let says = format!("other users of this machine can read the data: chmod go= {paths}");
        return Ok((CheckStatus::Warning, says));
    }
    let says = format!("{shown} is writable, {} MiB are free", free / 1024 / 1024);
    let found = if free < LOW_BYTES { CheckStatus::Warning } else { CheckStatus::Fine };
    Ok((found, says))
}

async fn database(config: &Config) -> Result<(CheckStatus, String)> {
    let what_to_do = "store.url: start the database, or correct the address; its tables are migrated \
            automatically";
    app::database::not_left_behind(config)?;
    if let Some(file) = app::database::missing(config) {
        let file = file.display();
        let says = format!("{file} does not exist yet; the gateway creates it when it starts");
        return Ok((CheckStatus::Warning, says));
    }
    // A gateway waits for its database at startup. This command reports the current state.
    Store::reach(&config.store_url(), CHECK_TIMEOUT).await.context(what_to_do)?;
    let store = app::database::open_store(config).await.context(what_to_do)?;
    if let Some(file) = backup::file_of(&config.store_url()) {
        backup::check(&file).await.context("restore a backup with `countersign restore`")?;
    }
    let theirs = store.read(|tx| Box::pin(async move { tx.now_ms().await })).await?;
    let skew = (theirs - SystemClock::wall().timestamp_millis()).abs();
    Ok(if skew > SKEW_MS {
        let at = DateTime::from_timestamp_millis(theirs).unwrap_or_default();
        (
            CheckStatus::Warning,
            format!(
                "its clock says {at}, {skew} ms from this machine's: synchronise both with NTP"
            ),
        )
    } else {
        (
            CheckStatus::Fine,
            "answers, its tables are up to date and intact, its clock agrees".to_owned(),
        )
    })
}

/// Checks that everyone with a sign-in link may talk in the web chat.
async fn web_chat(config: &Config) -> Result<(CheckStatus, String)> {
    if app::database::missing(config).is_some() {
        return Ok((CheckStatus::Fine, "nobody has a sign-in link yet".to_owned()));
    }
    let store = app::database::open_store(config).await.context("the sessions")?;
    let warnings = web_access::warnings(config, &store).await?;
    Ok(if warnings.is_empty() {
        (CheckStatus::Fine, "everybody with a sign-in link may talk".to_owned())
    } else {
        (CheckStatus::Warning, warnings.join("; "))
    })
}

/// Checks that a data source can be reached, and whether its account could write.
async fn datasource(
    entry: &DatasourceEntry,
    variables: &BTreeMap<String, String>,
) -> Result<(CheckStatus, String)> {
    let source = entry.build(variables)?;
    let catalog = source.database.catalog().await.map_err(|problem| match &problem {
        ReadError::Unreachable(why) => anyhow::anyhow!("url: {problem}: {why}"),
        _ => anyhow::anyhow!("url: {problem}"),
    })?;
    let (seen, all) = (source.visibility.of(&catalog).tables.len(), catalog.relations.len());
    let says = format!("answers; agents see {seen} of {all} tables");
    Ok(if catalog.is_writable {
        (
            CheckStatus::Warning,
            format!("{says}; its account can write: give it one that can only read"),
        )
    } else if seen == 0 {
        (CheckStatus::Warning, format!("{says}: correct tables, hidden_tables or hidden_columns"))
    } else {
        (CheckStatus::Fine, says)
    })
}

/// Checks the sandbox, and rendering in it.
async fn confined(config: &Config, report: &mut Report) {
    let sandbox = match std::env::current_exe() {
        Ok(program) => Arc::new(Sandbox::probe(&program).await),
        Err(problem) => return report.add(CheckStatus::Fault, "sandbox", problem.to_string()),
    };
    if let Some(missing) = sandbox.missing() {
        return report.add(CheckStatus::Warning, "sandbox", missing);
    }
    report.add(CheckStatus::Fine, "sandbox", "works");
    if let Some(found) = browser::check(config, &sandbox).await {
        report.check("browser", found);
    }
    let missing = Office::packages(Office::installed(&sandbox).as_ref());
    let (found, says) = if !config.documents.office_previews {
        (CheckStatus::Fine, "are shown for PDFs only (documents.office_previews is off)".to_owned())
    } else if missing.is_empty() {
        (CheckStatus::Fine, "are also shown for Word, Excel and PowerPoint files".to_owned())
    } else {
        let install = missing.join(" ");
        let says = format!(
            "are shown only for PDFs, or not for all Office files: apt-get install \
                --no-install-recommends {install} fonts-liberation"
        );
        (CheckStatus::Warning, says)
    };
    report.add(found, "document previews", says);
}

/// Reports unavailable tools with the reasons.
async fn tools(
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<(CheckStatus, String)> {
    if app::database::missing(config).is_some() {
        return Ok((CheckStatus::Warning, "are checked when there is a database".to_owned()));
    }
    let sandbox = Arc::new(Sandbox::probe(&std::env::current_exe()?).await);
    let store = app::database::open_store(config)
        .await
        .context("the tools that are stored in the database")?;
    let missing = app::tools::unavailable(config, variables, &sandbox, &store)?;
    if missing.is_empty() {
        return Ok((CheckStatus::Fine, "are all available".to_owned()));
    }
    let missing = missing.into_iter().map(|(tool, why)| format!("`{tool}` is unavailable: {why}"));
    Ok((CheckStatus::Warning, missing.collect::<Vec<_>>().join("; ")))
}

fn fonts(config: &Config) -> (CheckStatus, String) {
    let blocks = vec![Block::Paragraph(vec![Inline::Text(SAMPLE.into())])];
    let document = Document { blocks, ..Document::default() };
    let missing = fonts::for_document(&document, &config.documents.fonts()).missing(&document);
    if missing.is_empty() {
        return (CheckStatus::Fine, "cover all checked scripts".to_owned());
    }
    let missing: String = missing.into_iter().collect();
    let says = format!(
        "PDFs cannot show {missing}: install fonts-noto-core, fonts-noto-cjk and \
            fonts-noto-color-emoji, or set documents.fonts"
    );
    (CheckStatus::Warning, says)
}

/// Checks that the rules are valid and the policy has no obvious weakness.
fn guard(config: &Config) -> Result<(CheckStatus, String)> {
    let policy = policy(config)?;
    let shell = ToolSpec {
        subject: Some(Subject::Command("command")),
        unavailable: (!config.shell.enabled).then(|| "is disabled".to_owned()),
        ..ToolSpec::read_only("shell", "", serde_json::json!({}))
    };
    let warnings = advice::warnings(&policy, &[shell]);
    Ok(if warnings.is_empty() {
        (CheckStatus::Fine, "its rules are valid".to_owned())
    } else {
        (CheckStatus::Warning, warnings.join(" "))
    })
}

fn models(config: &Config, variables: &BTreeMap<String, String>) -> Result<(CheckStatus, String)> {
    app::models::build(config, variables, &BTreeMap::new())?;
    let demo = config.models.iter().any(|model| model.provider == ProviderName::Demo);
    Ok(if demo {
        (CheckStatus::Warning, "the demo model is answering: set a model API key".to_owned())
    } else {
        (CheckStatus::Fine, "have their keys".to_owned())
    })
}

fn token(entry: &ChannelEntry, variables: &BTreeMap<String, String>) -> Result<String> {
    let token = entry.token.as_ref().context("token is missing")?;
    Ok(token.reveal(variables).context("token")?.expose_secret().to_owned())
}

fn webhook_secrets(
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<(CheckStatus, String)> {
    let taken = webhooks::incoming(config, variables)?;
    let outgoing = webhooks::subscriptions(config, variables)?;
    let closed = config.webhooks_in.iter().filter(|entry| !taken.contains_key(&entry.name));
    let closed: Vec<_> = closed.map(|entry| entry.name.as_str()).collect();
    Ok(if closed.is_empty() {
        (CheckStatus::Fine, format!("{} incoming, {} subscriptions", taken.len(), outgoing.len()))
    } else {
        (CheckStatus::Warning, format!("no route without a secret: {}", closed.join(", ")))
    })
}

/// Runs the checks that need the network and cost a little, all concurrently.
async fn live(report: &mut Report, config: &Config, variables: &BTreeMap<String, String>) {
    let models = app::models::alone(config, variables).unwrap_or_default();
    let models = models.into_iter().map(|(id, model)| {
        let found = async move { answers(model.as_ref()).await };
        (format!("model {id}, live"), found.boxed())
    });
    let channels = config.channels.iter().filter(|entry| entry.token.is_some()).map(|entry| {
        let found = async {
            app::channels::check(entry, variables).await?;
            Ok((CheckStatus::Fine, "the platform accepts the token".to_owned()))
        };
        (format!("channel {}, live", entry.id), found.boxed())
    });
    let issuer = oidc::issuer(config, variables).ok().flatten().map(|issuer| {
        let found = async move {
            issuer.discover().await?;
            Ok((CheckStatus::Fine, "returned its endpoints and keys".to_owned()))
        };
        ("issuer, live".to_owned(), found.boxed())
    });
    let servers = config.mcp.iter().map(|entry| {
        (format!("mcp {}, live", entry.name), mcp::served(entry, config, variables).boxed())
    });
    let extensions = extensions::live(config, variables);
    let (names, asked): (Vec<_>, Vec<_>) =
        models.chain(channels).chain(issuer).chain(servers).chain(extensions).unzip();
    for (name, found) in names.iter().zip(join_all(asked).await) {
        report.check(name, found);
    }
}

async fn answers(model: &dyn Model) -> Result<(CheckStatus, String)> {
    app::models::test(model).await?;
    Ok((CheckStatus::Fine, "answers".to_owned()))
}
