//! `countersign init`: asks for a chat platform and a language model, tests both, and writes the configuration.

mod draft;

use anyhow::{Context as _, Result, ensure};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use toml::Value;

use super::{
    pair::{self, PairArgs},
    prompt, say,
};
use crate::{
    admin::first_steps::{PLATFORMS, PROVIDERS, PlatformChoice, ProviderChoice},
    agent::redact::Redactor,
    app::{
        self,
        secret_files::{self, NewSecretFiles},
    },
    config::{Config, DEFAULT_FILE},
    journal::role::Role,
};
use draft::{DraftConfig, loadable};

/// How many hours the first pairing code is valid.
const CODE_HOURS: u32 = 24;

/// A key or token, and the variable that usually contains it.
struct NewSecret {
    variable: &'static str,
    /// `None` if the variable is set.
    typed: Option<TypedSecret>,
}

/// A key or token that was typed.
struct TypedSecret {
    value: String,
    /// Where it will be stored, relative to the configuration file.
    file: String,
}

impl NewSecret {
    /// Asks for it, unless the variable is set. `None` if the answer is empty.
    fn ask(
        label: &str,
        variable: &'static str,
        variables: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Result<Option<Self>> {
        if variables.get(variable).is_some_and(|value| !value.trim().is_empty()) {
            say(&format!("Using the environment variable {variable}."))?;
            return Ok(Some(Self { variable, typed: None }));
        }
        let value = prompt::secret(label)?;
        if value.is_empty() {
            return Ok(None);
        }
        let typed = Some(TypedSecret { value, file: secret_files::unused_name(folder, variable) });
        Ok(Some(Self { variable, typed }))
    }
}

/// What a value in the file refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretTarget {
    /// The file that is kept: typed secrets are in files beside it.
    Kept,
    /// A file for the tests: typed secrets are in variables.
    Draft,
}

/// A language model.
struct NewModel {
    choice: &'static ProviderChoice,
    model: String,
    address: Option<String>,
    key: Option<NewSecret>,
}

/// A bot on a platform.
struct NewChannel {
    choice: &'static PlatformChoice,
    token: NewSecret,
}

#[derive(Default)]
struct Answers {
    /// The folder of the configuration file.
    folder: PathBuf,
    model: Option<NewModel>,
    channel: Option<NewChannel>,
}

/// Asks, tests, writes the file, and prints a pairing code and the next step. An existing file is
/// not changed, and nothing is written before the last answer.
pub(super) async fn run(file: Option<&Path>, variables: &BTreeMap<String, String>) -> Result<()> {
    let file = file.unwrap_or(Path::new(DEFAULT_FILE));
    let shown = file.display();
    ensure!(
        !file.exists(),
        "{shown} exists: edit it, or pass the name of a new file with --config"
    );
    say(&format!(
        "This writes {shown}: a bot on a chat platform, and a language model. Enter takes the value \
            in brackets."
    ))?;
    let folder = file.parent().map_or_else(PathBuf::new, Path::to_owned);
    let mut answers = Answers { folder, ..Answers::default() };
    ask_channel(&mut answers, variables).await?;
    let role = answers.channel.as_ref().map(|_| first_role()).transpose()?;
    ask_model(&mut answers, variables).await?;
    write(file, &answers)?;
    say(&format!("\nWrote {shown}."))?;
    if let Some((role, channel)) = role.zip(answers.channel.as_ref()) {
        let config = Config::load(Some(file), variables)?;
        let channel = Some(channel.choice.kind.to_owned());
        let code = PairArgs { channel, role: Some(role), hours: CODE_HOURS };
        say(&format!("\nPairing code: {}", pair::offer(&config, variables, code).await?))?;
    }
    let is_default = file == Path::new(DEFAULT_FILE);
    let option = if is_default { String::new() } else { format!(" --config {shown}") };
    say(&format!("\nNext: `countersign{option}` starts the gateway."))
}

/// Asks for a bot until its token is accepted, or the operator keeps it anyway or skips the step.
async fn ask_channel(answers: &mut Answers, variables: &BTreeMap<String, String>) -> Result<()> {
    let mut options: Vec<_> = PLATFORMS.iter().map(|choice| choice.shown).collect();
    options.push("None for now: only the web chat");
    loop {
        answers.channel = None;
        let Some(choice) = PLATFORMS.get(prompt::choice("Chat platform", &options)?) else {
            return Ok(());
        };
        let label = format!("Token from {}", choice.source);
        let Some(token) = NewSecret::ask(&label, choice.variable, variables, &answers.folder)?
        else {
            say("A bot needs a token.")?;
            continue;
        };
        answers.channel = Some(NewChannel { choice, token });
        let Some(draft) = loadable(answers, variables)? else { continue };
        say("Checking the token…")?;
        let tested = test_channel(&draft).await;
        if is_kept(answers, tested, "The platform accepts the token.")? {
            return Ok(());
        }
    }
}

async fn test_channel(DraftConfig { config, variables }: &DraftConfig) -> Result<()> {
    for entry in config.channels.iter().filter(|entry| entry.token.is_some()) {
        app::channels::check(entry, variables).await?;
    }
    Ok(())
}

/// Asks for a model until it answers, or the operator keeps it anyway or skips the step.
async fn ask_model(answers: &mut Answers, variables: &BTreeMap<String, String>) -> Result<()> {
    let mut options: Vec<_> = PROVIDERS.iter().map(|choice| choice.shown).collect();
    options.push("None for now: a demo model answers");
    loop {
        answers.model = None;
        let Some(choice) = PROVIDERS.get(prompt::choice("Language model", &options)?) else {
            return Ok(());
        };
        let address = choice.address.map(|usual| prompt::line("Address", usual)).transpose()?;
        let key = match choice.variable {
            Some(variable) => NewSecret::ask("API key", variable, variables, &answers.folder)?,
            None => None,
        };
        let model = prompt::line("Model", choice.model)?;
        answers.model = Some(NewModel { choice, model, address, key });
        let Some(draft) = loadable(answers, variables)? else { continue };
        say("Sending a test request…")?;
        let tested = test_model(&draft).await;
        if is_kept(answers, tested, "The model answers.")? {
            return Ok(());
        }
    }
}

async fn test_model(DraftConfig { config, variables }: &DraftConfig) -> Result<()> {
    for model in app::models::alone(config, variables)?.values() {
        app::models::test(model.as_ref()).await?;
    }
    Ok(())
}

/// Whether the values are kept: they work, or the operator wants them although they do not.
fn is_kept(answers: &Answers, tested: Result<()>, success: &str) -> Result<bool> {
    let Err(problem) = tested else {
        say(success)?;
        return Ok(true);
    };
    show(answers, &problem)?;
    let options = ["Enter it again", "Keep it; `countersign doctor --live` tests it again"];
    Ok(prompt::choice("What now?", &options)? == 1)
}

fn first_role() -> Result<Role> {
    let roles = [Role::Owner, Role::Operator, Role::Approver, Role::Member];
    let shown = [
        "owner: may do everything",
        "operator: may also choose models and use the operator pages of the console",
        "approver: may decide the approvals of others",
        "member: may talk to the agent",
    ];
    let index = prompt::choice("Role of the person with the first pairing code", &shown)?;
    Ok(roles[index])
}

/// Shows why something failed, without the typed secrets.
fn show(answers: &Answers, problem: &anyhow::Error) -> Result<()> {
    let secrets = answers.secrets();
    let typed = secrets.iter().filter_map(|secret| Some(secret.typed.as_ref()?.value.as_str()));
    say(&Redactor::new(typed).own(&format!("It failed: {problem:#}")))
}

impl Answers {
    fn secrets(&self) -> Vec<&NewSecret> {
        let key = self.model.as_ref().and_then(|model| model.key.as_ref());
        let token = self.channel.as_ref().map(|channel| &channel.token);
        key.into_iter().chain(token).collect()
    }

    /// The configuration file.
    fn text(&self, written: SecretTarget) -> String {
        let mut text = String::from(
            "# Configuration of Countersign, written by `countersign init`.\n\
             # `countersign config example` prints every key with its description and default,\n\
             # `countersign doctor --live` tests this file.\n\n\
             # The database and all files.\ndata_dir = \"./data\"\n",
        );
        if let Some(model) = &self.model {
            text += "\n# The language model. The first one answers unless [[agents]] name others.\n\
                 [[models]]\nid = \"main\"\n";
            text += &key_value("provider", model.choice.provider);
            if let Some(address) = &model.address {
                text += &key_value("base_url", address);
            }
            text += &key_value("model", &model.model);
            if let Some(key) = &model.key {
                text += &secret_value("api_key", key, written);
            }
        }
        if let Some(channel) = &self.channel {
            let kind = channel.choice.kind;
            text += "\n# The bot. `countersign pair` prints codes that give people access to it.\n\
                 [[channels]]\n";
            text += &(key_value("id", kind) + &key_value("kind", kind));
            text += &secret_value("token", &channel.token, written);
        }
        text
    }
}

fn key_value(key: &str, value: &str) -> String {
    format!("{key} = {}\n", Value::from(value))
}

fn secret_value(key: &str, secret: &NewSecret, written: SecretTarget) -> String {
    match &secret.typed {
        Some(typed) if written == SecretTarget::Kept => {
            format!("{key} = {{ file = {} }}\n", Value::from(typed.file.as_str()))
        }
        _ => format!("{key} = {{ env = {} }}\n", Value::from(secret.variable)),
    }
}

/// Writes the secrets and then the configuration. A file that exists is not overwritten.
fn write(file: &Path, answers: &Answers) -> Result<()> {
    let folder = &answers.folder;
    let created = fs::create_dir_all(folder);
    created.with_context(|| format!("creating the folder {}", folder.display()))?;
    let mut secrets = NewSecretFiles::default();
    for typed in answers.secrets().into_iter().filter_map(|secret| secret.typed.as_ref()) {
        secrets.create(folder, &typed.file, &typed.value)?;
    }
    secret_files::create(file, &answers.text(SecretTarget::Kept))?;
    secrets.keep();
    Ok(())
}
