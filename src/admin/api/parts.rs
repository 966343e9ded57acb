//! Parts of requests and responses: bodies, parameters, pages.

use axum::{
    Json,
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request},
    http::StatusCode,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use utoipa::{IntoParams, ToSchema};

use crate::{
    admin::problem::{INVALID_CURSOR, INVALID_LIMIT, PageText, Problem},
    journal::{event::Speaker, role::Role},
    store::lists::PageRequest,
};

/// A JSON body.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = Bytes::from_request(Request::from_parts(parts.clone(), body), state).await;
        let bytes = bytes.map_err(|problem| Problem::new(problem.status(), problem.body_text()))?;
        // PostgreSQL does not support NUL characters in text.
        if contains_nul(&bytes) {
            return Err(Problem::unfit("A text in the body contains a NUL character."));
        }
        let request = Request::from_parts(parts, axum::body::Body::from(bytes));
        Ok(Self(Json::from_request(request, state).await?.0))
    }
}

/// Whether a text of the JSON contains a NUL character. `\\u0000` is a backslash and digits, as in a
/// regular expression.
fn contains_nul(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        if rest[at..].starts_with(br"\u0000") {
            return true;
        }
        // The character that is escaped may be a backslash.
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

/// Query parameters.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub struct Params<T>(pub T);

/// Path parameters.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub struct PathNames<T>(pub T);

const USUAL: usize = 50;
const MAX_PAGE: usize = 200;

/// The response to a cursor that no page has given out, or whose item is no longer there.
pub fn bad_cursor() -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, INVALID_CURSOR)
}

/// The page of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Slice {
    /// The maximum number of items
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub limit: Option<usize>,
    /// `next` of the previous page
    #[param(min_length = 1)]
    pub cursor: Option<String>,
}

impl Slice {
    /// Reads one more item than requested, to determine whether there is a next page.
    pub fn page_request(&self) -> Result<PageRequest, Problem> {
        let limit = self.limit.unwrap_or(USUAL);
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(Problem::new(StatusCode::BAD_REQUEST, INVALID_LIMIT));
        }
        let after = match self.cursor.as_deref() {
            None => String::new(),
            Some(cursor) => URL_SAFE_NO_PAD
                .decode(cursor)
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .filter(|after| !after.is_empty() && !after.contains('\0'))
                .ok_or_else(bad_cursor)?,
        };
        Ok(PageRequest { after, limit: limit + 1 })
    }
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The cursor of the next page, if there is one
    #[schema(required)]
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Builds a page from the rows that were read; `key` is the sort key of the list.
    pub fn of<R>(
        mut rows: Vec<R>,
        page_request: &PageRequest,
        key: impl Fn(&R) -> String,
        view: impl Fn(R) -> T,
    ) -> Self {
        let more = rows.len() == page_request.limit;
        rows.truncate(page_request.limit - 1);
        let next = rows.last().filter(|_| more).map(|row| URL_SAFE_NO_PAD.encode(key(row)));
        Self { items: rows.into_iter().map(view).collect(), next }
    }
}

/// One page of a complete list, sorted by its key: the order of databases differs.
pub fn sorted<T>(
    mut items: Vec<T>,
    page_request: &PageRequest,
    key: impl Fn(&T) -> String,
) -> Page<T> {
    items.sort_by_key(&key);
    let behind = |item: &T| key(item) > page_request.after;
    let rows = items.into_iter().filter(behind).take(page_request.limit).collect();
    Page::of(rows, page_request, &key, |row| row)
}

/// A person.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PersonView {
    /// The platform's id
    pub id: String,
    pub name: String,
}

impl From<Speaker> for PersonView {
    fn from(Speaker { id, name }: Speaker) -> Self {
        Self { id, name }
    }
}

/// The role of a person, from lowest to highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleName {
    Viewer,
    /// Can only talk to agents
    Member,
    Approver,
    Operator,
    Owner,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Viewer => Self::Viewer,
            RoleName::Member => Self::Member,
            RoleName::Approver => Self::Approver,
            RoleName::Operator => Self::Operator,
            RoleName::Owner => Self::Owner,
        }
    }
}

/// The response if something does not exist.
pub fn none(says: PageText) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_nul_character_is_told_from_its_spelling() {
        for (text, contains) in [
            ("a\0", true),
            ("\\\0", true),
            (r"[\u0000-\u001f]", false),
            (r"\\u0000", false),
            ("u0000", false),
            ("\\", false),
        ] {
            assert_eq!(
                contains_nul(json!({ "text": text }).to_string().as_bytes()),
                contains,
                "{text:?}"
            );
        }
        assert!(!contains_nul(b"{\"a\\"));
    }
}
