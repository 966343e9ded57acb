//! Downloads: only files that were sent in the person's own conversation.

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::{
        HeaderValue, StatusCode,
        header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    },
    response::{IntoResponse as _, Response},
};
use channels::Outgoing;
use serde::Deserialize;
use std::sync::Arc;

use super::participant::Participant;
use crate::{
    admin::{
        Admin, percent,
        problem::{FILE_GONE, NO_SUCH_FILE, Problem},
    },
    store::conversations::{history, journal},
};

/// A file in a chat.
#[derive(Deserialize)]
pub struct RequestedFile {
    digest: String,
    name: String,
}

pub async fn download(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    Path(RequestedFile { digest, name }): Path<RequestedFile>,
) -> Result<Response, Problem> {
    let none = || Problem::new(StatusCode::NOT_FOUND, NO_SUCH_FILE);
    let media_type = shown(&admin, &participant, &digest, &name).await?.ok_or_else(none)?;
    let bytes = admin.gateway.artifacts.read(&digest).await.map_err(|problem| {
        tracing::error!(problem = format!("{problem:#}"), "could not read an artifact");
        Problem::new(StatusCode::GONE, FILE_GONE)
    })?;
    let mut response = attached(&name, bytes);
    if let Ok(media_type) = HeaderValue::from_str(&media_type) {
        response.headers_mut().insert(CONTENT_TYPE, media_type);
    }
    Ok(response)
}

/// A download under the given name.
pub fn attached(name: &str, bytes: Bytes) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (CONTENT_DISPOSITION, attachment(name)),
        // Even if a browser displays it, it can do nothing.
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox")),
        (CACHE_CONTROL, HeaderValue::from_static("private, no-store")),
    ];
    (headers, bytes).into_response()
}

/// The media type of a file that was sent to this person under this name.
async fn shown(
    admin: &Admin,
    participant: &Participant,
    digest: &str,
    name: &str,
) -> anyhow::Result<Option<String>> {
    let is_digest = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_digest {
        return Ok(None);
    }
    let (channel, digest) = (participant.channel.clone(), digest.to_owned());
    let place = participant.place();
    let files = admin
        .gateway
        .store
        .read(move |tx| {
            Box::pin(async move {
                match journal::find_conversation(tx, &channel, &place).await? {
                    Some(conversation) => history::files_shown(tx, &conversation, &digest).await,
                    None => Ok(Vec::new()),
                }
            })
        })
        .await?;
    Ok(files.into_iter().find_map(|file| match file {
        Outgoing::File { name: own, media_type, .. } if own == name => Some(media_type),
        _ => None,
    }))
}

/// RFC 6266: a plain name for old clients, the real one in UTF-8.
fn attachment(name: &str) -> HeaderValue {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let value =
        format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{}", percent::encoded(name));
    HeaderValue::from_str(&value).expect("made of ASCII letters, digits and marks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_break_out_of_its_header() {
        let value = attachment("a\"; x=\r\nSet-Cookie: é.pdf");
        assert_eq!(
            value.to_str().unwrap(),
            "attachment; filename=\"a__ x___Set-Cookie_ _.pdf\"; \
             filename*=UTF-8''a%22%3B%20x%3D%0D%0ASet-Cookie%3A%20%C3%A9.pdf"
        );
    }
}
