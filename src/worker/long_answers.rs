//! Sends a very long answer as a few messages and a file with the full text.

use channels::Outgoing;

use super::turn::Turn;

/// The maximum number of messages per answer, since platforms accept one or two per second.
const MOST_PARTS: usize = 5;
const NAME: &str = "answer.md";

/// The messages and files for an answer.
pub(super) async fn parts(turn: &Turn<'_>, markdown: String) -> Vec<Outgoing> {
    let whole = Outgoing::Text { markdown: markdown.clone(), reply_to: turn.reply_to() };
    let mut parts = turn.fitting(whole.clone());
    if parts.len() <= MOST_PARTS || turn.claimed.sub_agent.is_some() || !fits(turn, &markdown) {
        return vec![whole];
    }
    let artifacts = &turn.worker.gateway.artifacts;
    let file = match artifacts.put(NAME, "text/markdown", markdown.into_bytes()).await {
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
    parts.truncate(MOST_PARTS - 1);
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

fn fits(turn: &Turn<'_>, markdown: &str) -> bool {
    let connected = turn.worker.gateway.channels.get(&turn.claimed.channel);
    connected.is_some_and(|c| markdown.len() as u64 <= c.channel.limits().upload_bytes)
}
