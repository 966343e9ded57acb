//! Browser sessions and API tokens.

use axum::{
    extract::Path,
    response::{Redirect, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::page::{PageContext, back};
use crate::admin::{
    api::{
        parts::{Params, Slice, none},
        sessions, tokens,
    },
    problem::Problem,
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
    let found = sessions::page(&context.admin, slice.page_request()?).await?;
    let slice = Slice { cursor, ..Slice::default() };
    let tokens = tokens::page(&context.admin, slice.page_request()?).await?;
    context.page("access.html", json!({ "found": found, "tokens": tokens })).await
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
