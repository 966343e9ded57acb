//! The current configuration, reloading it, the checks of the installation, and what operators
//! changed.

use axum::{
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::page::{PageContext, back};
use crate::{
    admin::{
        api::{
            audit as facts,
            parts::{Params, Slice},
        },
        problem::{Problem, ProblemText},
        reload::{self, CheckExtent},
        templates::extend,
    },
    store::audit::{ADMIN, AuditKind},
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SettingsQuery {
    /// Whether to compare the configuration with its file
    compare: bool,
}

/// The current configuration, and the changes that operators made.
pub async fn index(
    context: PageContext,
    Params(slice): Params<Slice>,
    Params(query): Params<SettingsQuery>,
) -> Result<Response, Problem> {
    let (mut differences, mut fault) = (None, None);
    if query.compare {
        match reload::ask(&context.admin, None).await {
            Ok(changes) => differences = Some(changes),
            Err(problem) => {
                fault = Some(ProblemText::not_available(&problem).text(context.language));
            }
        }
    }
    let values = json!({ "differences": differences, "fault": fault });
    shown(&context, &slice, values).await
}

async fn shown(context: &PageContext, slice: &Slice, values: Value) -> Result<Response, Problem> {
    let filter =
        facts::AuditFilter { conversation: ADMIN.to_owned(), ..facts::AuditFilter::default() };
    let changes = facts::page(&context.admin, filter, slice.page_request()?).await?;
    let mut all = json!({ "configuration": context.admin.configured, "found": changes });
    extend(&mut all, values);
    context.page("settings.html", all).await
}

/// Applies the file. If anything in it is invalid, nothing changes, and the page says what.
pub async fn reload(context: PageContext) -> Result<Response, Problem> {
    let fact = context.caller.did(AuditKind::ConfigurationReloaded);
    match reload::ask(&context.admin, Some(fact)).await {
        Ok(_) => Ok(back("settings", "reloaded").into_response()),
        Err(problem) => {
            let fault = ProblemText::not_applied(&problem).text(context.language);
            let values = json!({ "differences": null, "fault": fault });
            let shown = shown(&context, &Slice::default(), values).await?;
            Ok((StatusCode::CONFLICT, shown).into_response())
        }
    }
}

/// The checks of `countersign doctor` that stay on this machine.
pub async fn doctor(context: PageContext) -> Result<Response, Problem> {
    checked(&context, CheckExtent::Local).await
}

/// All checks, with a small request to each model, platform and MCP server.
pub async fn doctor_live(context: PageContext) -> Result<Response, Problem> {
    checked(&context, CheckExtent::Live).await
}

async fn checked(context: &PageContext, extent: CheckExtent) -> Result<Response, Problem> {
    let (checks, fault) = match reload::check(&context.admin, extent).await {
        Ok(checks) => (checks, None),
        Err(problem) => {
            let fault = ProblemText::not_available(&problem).text(context.language);
            (Vec::new(), Some(fault))
        }
    };
    let values = json!({ "checks": checks, "fault": fault });
    context.page("doctor.html", values).await
}
