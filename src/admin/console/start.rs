//! First steps: a language model, a bot, and the first pairing code, as `countersign init` asks for
//! them.

use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::page::{self, PageContext, Sent, back};
use crate::{
    admin::{
        Admin,
        api::inventory::{all_channels, all_models},
        first_steps::{PLATFORMS, PROVIDERS},
        problem::{NO_BOT_TOKEN, NO_SUCH_PLATFORM, NO_SUCH_PROVIDER, Problem, ProblemText},
        reload,
        settings_file::{EntryChange, EntryList, FileAction},
        templates::extend,
    },
    store::audit::AuditKind,
};

/// The id of the model that is added here, as in a file of `countersign init`.
const MODEL: &str = "main";

pub async fn index(context: PageContext) -> Result<Response, Problem> {
    shown(&context, json!({})).await
}

async fn shown(context: &PageContext, values: Value) -> Result<Response, Problem> {
    let admin = &context.admin;
    let channels = all_channels(admin, context.caller.role).await?;
    let bots: Vec<_> = channels.into_iter().filter(|channel| channel.connects).collect();
    let mut all = json!({
        "providers": PROVIDERS,
        "platforms": PLATFORMS,
        "demo": admin.demo,
        "models": all_models(admin)?,
        "bots": bots,
        "model_fault": null,
        "bot_fault": null,
        "model": ModelForm::default(),
        "bot_form": BotForm::default(),
    });
    extend(&mut all, values);
    context.page("start.html", all).await
}

/// Whether an entry is saved although its test fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tested {
    #[default]
    Must,
    Skipped,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ModelForm {
    /// The position in the list of providers
    provider: usize,
    address: String,
    model: String,
    #[serde(skip_serializing)]
    key: String,
    #[serde(skip_serializing)]
    test: Tested,
}

impl ModelForm {
    fn change(&self) -> Result<EntryChange, Problem> {
        let choice = PROVIDERS.get(self.provider);
        let choice = choice.ok_or_else(|| Problem::unfit(NO_SUCH_PROVIDER))?;
        let model = if self.model.trim().is_empty() { choice.model } else { self.model.trim() };
        let address = match (self.address.trim(), choice.address) {
            ("", usual) => usual.unwrap_or_default(),
            (typed, _) => typed,
        };
        let values = [("provider", choice.provider), ("model", model), ("base_url", address)];
        Ok(entry(EntryList::Models, MODEL, &values, &[("api_key", &self.key)]))
    }
}

#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub struct BotForm {
    /// The position in the list of platforms
    platform: usize,
    #[serde(skip_serializing)]
    token: String,
    api_url: String,
    #[serde(skip_serializing)]
    test: Tested,
}

impl BotForm {
    fn change(&self) -> Result<EntryChange, Problem> {
        let choice = PLATFORMS.get(self.platform);
        let choice = choice.ok_or_else(|| Problem::unfit(NO_SUCH_PLATFORM))?;
        if self.token.trim().is_empty() {
            return Err(Problem::unfit(NO_BOT_TOKEN));
        }
        let values = [("kind", choice.kind), ("api_url", self.api_url.trim())];
        Ok(entry(EntryList::Channels, choice.kind, &values, &[("token", &self.token)]))
    }
}

fn entry(
    list: EntryList,
    id: &str,
    values: &[(&str, &str)],
    secrets: &[(&str, &String)],
) -> EntryChange {
    let values = values.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
    let typed = secrets.iter().filter(|(_, text)| !text.trim().is_empty());
    let secrets: BTreeMap<_, _> = typed
        .map(|(key, text)| ((*key).to_owned(), SecretString::from(text.trim().to_owned())))
        .collect();
    EntryChange { list, id: id.to_owned(), values: Some(values.collect()), secrets, version: None }
}

/// Tests the model, writes it to the configuration file, and reloads.
pub async fn model(context: PageContext, Sent(form): Sent<ModelForm>) -> Result<Response, Problem> {
    let applied = apply(&context, || form.change(), form.test).await;
    let Err(problem) = applied else { return Ok(back("start", "model_connected").into_response()) };
    let values =
        json!({ "model_fault": page::form_error(problem, context.language)?, "model": form });
    let shown = shown(&context, values).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}

/// Tests the token, writes the channel to the configuration file, and reloads.
pub async fn bot(context: PageContext, Sent(form): Sent<BotForm>) -> Result<Response, Problem> {
    let applied = apply(&context, || form.change(), form.test).await;
    let Err(problem) = applied else { return Ok(back("start", "bot_connected").into_response()) };
    let values =
        json!({ "bot_fault": page::form_error(problem, context.language)?, "bot_form": form });
    let shown = shown(&context, values).await?;
    Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
}

async fn apply(
    context: &PageContext,
    change: impl Fn() -> Result<EntryChange, Problem>,
    test: Tested,
) -> Result<(), Problem> {
    let admin: &Admin = &context.admin;
    let failed = |problem: anyhow::Error| Problem::unfit(ProblemText::not_applied(&problem));
    if test == Tested::Must {
        reload::change_file(admin, change()?, FileAction::Test).await.map_err(failed)?;
    }
    let fact = context.caller.did(AuditKind::ConfigurationWritten);
    reload::change_file(admin, change()?, FileAction::Write(fact)).await.map_err(failed)?;
    let fact = context.caller.did(AuditKind::ConfigurationReloaded);
    reload::ask(admin, Some(fact)).await.map_err(failed)?;
    Ok(())
}
