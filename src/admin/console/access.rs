//! Browser sessions and API tokens.

use axum::{
    extract::Path,
    response::{IntoResponse as _, Redirect, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::page::{self, PageContext, Sent, back};
use crate::{
    admin::{
        api::{
            parts::{Params, Slice, none},
            sessions,
            tokens::{self, NewToken, RequestedToken},
        },
        problem::{INVALID_FORM, Problem, TOKEN_DAYS},
    },
    journal::role::Role,
};

#[derive(Deserialize)]
pub struct TokenPage {
    /// The cursor of the second list of the page.
    tokens: Option<String>,
}

pub async fn index(
    context: PageContext,
    Params(slice): Params<Slice>,
    Params(TokenPage { tokens: cursor }): Params<TokenPage>,
) -> Result<Response, Problem> {
    let lists = AccessLists { sessions: slice, tokens: Slice { cursor, ..Slice::default() } };
    shown(&context, lists, AccessView::default()).await
}

/// The parts of the two lists that are shown.
#[derive(Default)]
struct AccessLists {
    sessions: Slice,
    tokens: Slice,
}

/// What the page shows besides the lists.
#[derive(Default)]
struct AccessView {
    /// A new token with its secret, which is shown here only.
    created: Option<NewToken>,
    form: TokenForm,
    /// What is wrong with the form.
    fault: Option<String>,
}

async fn shown(
    context: &PageContext,
    lists: AccessLists,
    shown: AccessView,
) -> Result<Response, Problem> {
    let found = sessions::page(&context.admin, lists.sessions.page_request()?).await?;
    let tokens = tokens::page(&context.admin, lists.tokens.page_request()?).await?;
    let roles = [Role::Viewer, Role::Member, Role::Approver, Role::Operator, Role::Owner];
    let values = json!({
        "found": found,
        "tokens": tokens,
        "roles": roles,
        "created": shown.created,
        "form": shown.form,
        "fault": shown.fault,
    });
    context.page("access.html", values).await
}

/// What was typed.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct TokenForm {
    name: String,
    role: String,
    /// Empty for a token that does not expire.
    days: String,
}

impl Default for TokenForm {
    fn default() -> Self {
        let role = Role::Viewer.as_str().to_owned();
        Self { name: String::new(), role, days: "90".to_owned() }
    }
}

impl TokenForm {
    fn request(&self) -> Result<RequestedToken, Problem> {
        let role = Role::parse(&self.role).ok_or_else(|| Problem::unfit(INVALID_FORM))?;
        let days = match self.days.trim() {
            "" => None,
            text => Some(text.parse().map_err(|_| Problem::unfit(TOKEN_DAYS))?),
        };
        Ok(RequestedToken { name: self.name.trim().to_owned(), role, days })
    }
}

/// Creates a token, and shows its secret. A form that is not accepted is shown again, with the
/// reason.
pub async fn create_token(
    context: PageContext,
    Sent(form): Sent<TokenForm>,
) -> Result<Response, Problem> {
    let issued = match form.request() {
        Ok(request) => tokens::issue(&context.admin, &context.caller, request).await,
        Err(problem) => Err(problem),
    };
    match issued {
        Ok(token) => {
            let created = AccessView { created: Some(token), ..AccessView::default() };
            shown(&context, AccessLists::default(), created).await
        }
        Err(problem) => {
            let fault = Some(page::form_error(problem.clone(), context.language)?);
            let rejected = AccessView { form, fault, ..AccessView::default() };
            let page = shown(&context, AccessLists::default(), rejected).await?;
            Ok((problem.status(), page).into_response())
        }
    }
}

pub async fn end_session(
    context: PageContext,
    Path(id): Path<String>,
) -> Result<Redirect, Problem> {
    let ended = sessions::end(&context.admin, &context.caller, &id).await?;
    ended
        .then(|| back("access", "revoked"))
        .ok_or_else(|| none(|page| page.problems.missing.session))
}

pub async fn revoke_token(
    context: PageContext,
    Path(id): Path<String>,
) -> Result<Redirect, Problem> {
    let revoked = tokens::end(&context.admin, &context.caller, &id).await?;
    revoked
        .then(|| back("access", "revoked"))
        .ok_or_else(|| none(|page| page.problems.missing.token))
}
