//! `countersign wasm`: lists WASM tools, and trusts them.

use anyhow::{Context as _, Result, bail};
use clap::Subcommand;
use std::collections::BTreeMap;

use super::{OPERATOR, examples, output::OutputFormat, say};
use crate::{
    admin::reload::CheckStatus,
    app,
    clock::{Clock as _, SystemClock},
    config::Config,
    store::{
        Store,
        tools::pins::{self, MODULES, Pin, Reviewed, TrustOutcome},
    },
    tools::wasm::modules::{ModuleState, ModuleStatus},
};

#[derive(Debug, Subcommand)]
pub enum WasmCommand {
    /// List the components that were found, with their trust and problems
    #[command(after_help = examples::WASM_LIST)]
    List(OutputFormat),
    /// Trust a component as reviewed, with what its manifest grants. Without `--digest`, show what
    /// is to be reviewed
    #[command(after_help = examples::WASM_TRUST)]
    Trust {
        /// The name of the component's file, without `.wasm`
        module: String,
        /// The digest of the reviewed definition; if it has changed since, nothing is trusted
        #[arg(long)]
        digest: Option<String>,
    },
}

/// Runs the command and prints its output.
pub async fn run(
    config: &Config,
    variables: &BTreeMap<String, String>,
    store: &Store,
    command: WasmCommand,
) -> Result<()> {
    let found = app::wasm::statuses(config, variables, store).await?;
    match command {
        WasmCommand::List(output) => {
            say(&output.list(&found, "No components: put some into the folder tools.", line)?)
        }
        WasmCommand::Trust { module, digest: Some(digest) } => {
            must_be_valid(&found, &module)?;
            say(&trust(store, module, digest).await?)
        }
        WasmCommand::Trust { module, digest: None } => {
            must_be_valid(&found, &module)?;
            let of = store.read(|tx| Box::pin(pins::of_server(tx, MODULES))).await?;
            let Some(pin) = of.get(&module) else { bail!("`{module}` is not pinned yet") };
            say(&shown(pin))?;
            bail!(
                "nothing was trusted yet. Review the component and what its manifest grants; if \
                    they are right, run `countersign wasm trust {module} --digest {}`",
                pins::digest_of([pin])
            )
        }
    }
}

/// The check of `doctor`: components that cannot be loaded, and those that nobody trusts.
pub(super) async fn check(
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<(CheckStatus, String)> {
    if app::database::missing(config).is_some() {
        return Ok((CheckStatus::Warning, "are checked when there is a database".to_owned()));
    }
    let store = app::database::open_store(config).await.context("the trust in WASM tools")?;
    let found = app::wasm::statuses(config, variables, &store).await?;
    let problems: Vec<_> = found.iter().filter_map(ModuleStatus::warning).collect();
    Ok(if problems.is_empty() {
        (CheckStatus::Fine, format!("{} components, all trusted", found.len()))
    } else {
        (CheckStatus::Warning, problems.join("; "))
    })
}

fn line(status: &ModuleStatus) -> String {
    let state = match status.state {
        ModuleState::Trusted => "trusted",
        ModuleState::Untrusted => "not trusted",
        ModuleState::Changed => "CHANGED, withheld",
        ModuleState::Invalid => "INVALID",
    };
    let tool = status.tool.as_deref().map(|tool| format!(" (tool {tool})")).unwrap_or_default();
    let problem = status.problem.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("{}{tool}: {state}{problem}", status.module)
}

fn must_be_valid(found: &[ModuleStatus], module: &str) -> Result<()> {
    match found.iter().find(|status| status.module == module) {
        None => bail!("there is no component `{module}`; `countersign wasm list` lists them"),
        Some(ModuleStatus { state: ModuleState::Invalid, problem, .. }) => {
            bail!("`{module}` cannot be loaded: {}", problem.as_deref().unwrap_or_default())
        }
        Some(_) => Ok(()),
    }
}

/// The pinned definition, and the current one if it differs.
fn shown(pin: &Pin) -> String {
    let plain = channels::text::neutralise;
    match &pin.offered {
        None => format!("{}\n  is  {}", pin.tool, plain(&pin.definition)),
        Some(offered) => {
            format!("{}\n  was {}\n  is  {}", pin.tool, plain(&pin.definition), plain(offered))
        }
    }
}

async fn trust(store: &Store, module: String, digest: String) -> Result<String> {
    let reviewed = Reviewed { server: MODULES.to_owned(), tool: Some(module.clone()), digest };
    let now = SystemClock.now();
    let trust = store.write("trust a WASM tool", move |tx| {
        let reviewed = reviewed.clone();
        Box::pin(async move { pins::trust(tx, &reviewed, OPERATOR, now).await })
    });
    match trust.await? {
        TrustOutcome::Trusted(_) => {
            Ok(format!("Trusted as reviewed, effective within ten seconds: {module}."))
        }
        TrustOutcome::Missing => bail!("there is no component `{module}`"),
        TrustOutcome::Changed => bail!(
            "nothing was trusted: the definition is not the one with this digest. Review it again \
                with `countersign wasm trust {module}`"
        ),
    }
}
