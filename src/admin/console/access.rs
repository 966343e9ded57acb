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
    visit: PageContext,
    Params(slice): Params<Slice>,
    Params(TokenPage { tokens: cursor }): Params<TokenPage>,
) -> Result<Response, Problem> {
    let found = sessions::page(&visit.admin, slice.stretch()?).await?;
    let slice = Slice { cursor, ..Slice::default() };
    let tokens = tokens::page(&visit.admin, slice.stretch()?).await?;
    visit.page("access.html", json!({ "found": found, "tokens": tokens })).await
}

pub async fn end_session(visit: PageContext, Path(id): Path<String>) -> Result<Redirect, Problem> {
    let ended = sessions::end(&visit.admin, &visit.caller, &id).await?;
    ended.then(|| back("access", "revoked")).ok_or_else(|| none("session"))
}

pub async fn revoke_token(visit: PageContext, Path(id): Path<String>) -> Result<Redirect, Problem> {
    let revoked = tokens::end(&visit.admin, &visit.caller, &id).await?;
    revoked.then(|| back("access", "revoked")).ok_or_else(|| none("token"))
}
