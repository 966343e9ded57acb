//! Sends a very long answer as a few messages and a file with the full text.

use channels::Outgoing;

use super::turn::Turn;

/// The maximum number of messages per answer. Platforms accept one or two messages per second.
const MAX_PARTS: usize = 5;
const NAME: &str = "answer.md";

/// The messages and files for an answer.
pub(super) async fn parts(turn: &Turn<'_>, markdown: String) -> Vec<Outgoing> {
    let whole = Outgoing::Text { markdown: markdown.clone(), reply_to: turn.reply_to() };
    let mut parts = turn.fitting(whole.clone());
    if parts.len() <= MAX_PARTS || turn.claimed.sub_agent.is_some() {
        return vec![whole];
    }
    let contents = cut(markdown, upload_bytes(turn)).into_bytes();
    let artifacts = &turn.worker.gateway.artifacts;
    let file = match artifacts.put(NAME, "text/markdown", contents).await {
        Ok(file) => file,
        Err(problem) => {
            let problem = format!("{problem:#}");
            tracing::error!(
                problem,
                "could not store a long answer as a file; sending it in parts"
            );
            return vec![whole];
        }
    };
    parts.truncate(MAX_PARTS - 1);
    parts.push(Outgoing::File {
        name: file.name,
        media_type: file.media_type,
        size_bytes: file.size_bytes,
        digest: file.digest,
        caption: Some(turn.claimed.words().whole_answer.to_owned()),
        reply_to: None,
    });
    parts
}

/// The maximum size of a file on the channel.
fn upload_bytes(turn: &Turn<'_>) -> usize {
    let connected = turn.worker.gateway.channels.get(&turn.claimed.channel);
    let limit = connected.map_or(u64::MAX, |connected| connected.channel.limits().upload_bytes);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Truncates a text to the maximum size of a file.
fn cut(mut text: String, max_bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(max_bytes));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("aé".into(), 9), "aé");
        assert_eq!(cut("aé".into(), 2), "a");
        assert_eq!(cut("aé".into(), 0), "");
    }
}
