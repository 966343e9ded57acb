//! Models and channels of the configuration file, edited in forms that follow their schema.

use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::page::{self, PageContext, Sent};
use crate::{
    admin::{
        api::parts::Params,
        problem::{NO_SUCH_LIST, Problem, ProblemText},
        reload,
        settings_file::{EntryChange, EntryList, FieldKind, FileAction, FileChange, FileView},
    },
    store::audit::AuditKind,
};

/// Names of fields in the form begin with this.
const PREFIX: &str = "key_";

/// The entry that the page shows.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct EntryQuery {
    list: String,
    id: String,
}

pub async fn index(
    context: PageContext,
    Params(query): Params<EntryQuery>,
) -> Result<Response, Problem> {
    let values = match reload::view_file(&context.admin).await {
        Ok(view) => {
            let form = EntryForm::of(&view, &query);
            page_values(&view, form, &FormOutcome::default())
        }
        Err(problem) => unavailable(&ProblemText::not_available(&problem).text(context.language)),
    };
    context.page("configuration.html", values).await
}

/// The page if the file cannot be read.
fn unavailable(fault: &str) -> Value {
    json!({ "view": null, "form": null, "changed": null, "fault": fault, "written": false })
}

/// The form of one entry.
#[derive(Debug, Clone)]
struct EntryForm {
    list: EntryList,
    id: String,
    is_new: bool,
    values: BTreeMap<String, String>,
}

impl EntryForm {
    /// The form of an entry of the file, or of a new one; `None` if no list was chosen.
    fn of(view: &FileView, query: &EntryQuery) -> Option<Self> {
        let list = EntryList::parse(&query.list)?;
        let found = view.entries.iter().find(|entry| entry.list == list && entry.id == query.id);
        let values = found.map(|entry| entry.values.clone()).unwrap_or_default();
        Some(Self { list, id: query.id.clone(), is_new: found.is_none(), values })
    }

    fn json(&self, view: &FileView) -> Value {
        let fields = view.fields[self.list.as_str()].iter().filter(|field| field.key != "id");
        let fields: Vec<_> = fields
            .map(|field| {
                let mut shown = json!(field);
                shown["value"] = json!(self.values.get(&field.key).map_or("", String::as_str));
                if shown.get("choices").is_none() {
                    shown["choices"] = json!([]);
                }
                shown
            })
            .collect();
        json!({ "list": self.list, "id": self.id, "new": self.is_new, "fields": fields })
    }
}

/// What came of a change.
#[derive(Default)]
struct FormOutcome {
    changed: Option<FileChange>,
    written: bool,
    fault: Option<String>,
}

fn page_values(view: &FileView, form: Option<EntryForm>, outcome: &FormOutcome) -> Value {
    json!({
        "view": view,
        "form": form.map(|form| form.json(view)),
        "changed": outcome.changed,
        "written": outcome.written,
        "fault": outcome.fault,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EntryAction {
    Preview,
    Test,
    Save,
    Remove,
}

#[derive(Deserialize)]
struct EntryButton {
    list: String,
    id: String,
    version: String,
    then: EntryAction,
}

/// Shows, tests or writes a change. A change that is not accepted is shown again, with the reason.
pub async fn change(
    context: PageContext,
    Sent(sent): Sent<BTreeMap<String, String>>,
) -> Result<Response, Problem> {
    let button: EntryButton = page::parsed(&sent)?;
    let list = EntryList::parse(&button.list).ok_or_else(|| Problem::unfit(NO_SUCH_LIST))?;
    let view = match reload::view_file(&context.admin).await {
        Ok(view) => view,
        Err(problem) => {
            let values = unavailable(&format!("{problem:#}"));
            let shown = context.page("configuration.html", values).await?;
            return Ok((StatusCode::CONFLICT, shown).into_response());
        }
    };
    let (form, secrets) = typed(&view, list, &button, &sent);
    let change = EntryChange {
        list,
        id: form.id.clone(),
        values: (button.then != EntryAction::Remove).then(|| plain(&view, &form)),
        secrets,
        version: Some(button.version.clone()),
    };
    let action = match button.then {
        EntryAction::Preview => FileAction::Preview,
        EntryAction::Test => FileAction::Test,
        EntryAction::Save | EntryAction::Remove => {
            FileAction::Write(context.caller.did(AuditKind::ConfigurationWritten))
        }
    };
    match reload::change_file(&context.admin, change, action).await {
        Ok(changed) => {
            accepted(&context, view, form, Accepted { then: button.then, changed }).await
        }
        Err(problem) => {
            let fault = ProblemText::not_applied(&problem).text(context.language);
            let outcome = FormOutcome { fault: Some(fault), ..FormOutcome::default() };
            // What was typed belongs to that version: after a change by somebody else it is
            // rejected again, until the page is loaded again.
            let view = FileView { version: button.version, ..view };
            let values = page_values(&view, Some(form), &outcome);
            let shown = context.page("configuration.html", values).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
        }
    }
}

/// A change that was carried out.
struct Accepted {
    then: EntryAction,
    changed: FileChange,
}

async fn accepted(
    context: &PageContext,
    view: FileView,
    form: EntryForm,
    Accepted { then, changed }: Accepted,
) -> Result<Response, Problem> {
    let written = matches!(then, EntryAction::Save | EntryAction::Remove);
    let view = if written { reread(context).await? } else { view };
    let is_new = form.is_new && !written;
    let form = (then != EntryAction::Remove).then_some(EntryForm { is_new, ..form });
    let outcome = FormOutcome { changed: Some(changed), written, fault: None };
    let mut values = page_values(&view, form, &outcome);
    values["tested"] = json!(then == EntryAction::Test);
    context.page("configuration.html", values).await
}

async fn reread(context: &PageContext) -> Result<FileView, Problem> {
    Ok(reload::view_file(&context.admin).await?)
}

/// What was typed into the form: its texts, and the secrets, which are not shown again.
fn typed(
    view: &FileView,
    list: EntryList,
    button: &EntryButton,
    sent: &BTreeMap<String, String>,
) -> (EntryForm, BTreeMap<String, SecretString>) {
    let query = EntryQuery { list: button.list.clone(), id: button.id.trim().to_owned() };
    let before = EntryForm::of(view, &query);
    let mut form = EntryForm {
        list,
        id: query.id,
        is_new: before.as_ref().is_none_or(|before| before.is_new),
        values: before.map(|before| before.values).unwrap_or_default(),
    };
    let mut secrets = BTreeMap::new();
    for field in &view.fields[list.as_str()] {
        let Some(text) = sent.get(&format!("{PREFIX}{}", field.key)) else { continue };
        if field.kind == FieldKind::Secret {
            secrets.insert(field.key.clone(), SecretString::from(text.clone()));
        } else {
            form.values.insert(field.key.clone(), text.replace('\r', ""));
        }
    }
    (form, secrets)
}

/// The texts without those of secrets, which only say where a secret is stored.
fn plain(view: &FileView, form: &EntryForm) -> BTreeMap<String, String> {
    let is_secret = |key: &str| {
        let mut fields = view.fields[form.list.as_str()].iter();
        fields.any(|field| field.key == key && field.kind == FieldKind::Secret)
    };
    let texts = form.values.iter().filter(|(key, _)| !is_secret(key) && *key != "id");
    texts.map(|(key, text)| (key.clone(), text.clone())).collect()
}
