//! Rate limits of the platform, per bucket of calls and for the whole bot.
//! <https://discord.com/developers/docs/topics/rate-limits>

use std::{collections::HashMap, time::Duration};

use reqwest::{Method, header::HeaderMap};
use tokio::time::Instant;

/// When there are this many pauses, expired ones are removed.
const MANY: usize = 1024;

/// The calls that share a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bucket {
    /// The method and the path without its ids.
    shape: String,
    /// The channel or interaction that the limit applies to.
    whose: String,
}

impl Bucket {
    pub(super) fn of(method: &Method, path: &str) -> Self {
        let segments: Vec<&str> = path.split('/').collect();
        let major = if matches!(segments[0], "interactions" | "webhooks") { 3 } else { 2 };
        let is_id = |(at, segment): (usize, &&str)| {
            (at == 2 && major == 3) || segment.bytes().all(|byte| byte.is_ascii_digit())
        };
        let named = |(at, segment)| if is_id((at, &segment)) { "*" } else { segment };
        let shape: Vec<&str> = segments.iter().copied().enumerate().map(named).collect();
        let whose = segments[..segments.len().min(major)].join("/");
        Self { shape: format!("{method} {}", shape.join("/")), whose }
    }
}

/// How long a call has to wait, and whether all other calls have to wait as well.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RemainingPause {
    pub(super) after: Duration,
    pub(super) everywhere: bool,
}

#[derive(Default)]
pub(super) struct Pauses {
    everywhere: Option<Instant>,
    until: HashMap<(String, String), Instant>,
    /// The platform's name of the limit for each kind of path. Paths with the same name share a
    /// limit.
    shared: HashMap<String, String>,
}

impl Pauses {
    /// `unsigned` means that the call has no token and does not count towards the bot's limit.
    pub(super) fn left(&self, bucket: &Bucket, unsigned: bool) -> Option<RemainingPause> {
        let everywhere = self.everywhere.filter(|_| !unsigned);
        let here = self.until.get(&self.key(bucket)).copied();
        let until = everywhere.into_iter().chain(here).max()?;
        let after = until.saturating_duration_since(Instant::now());
        (!after.is_zero())
            .then_some(RemainingPause { after, everywhere: everywhere == Some(until) })
    }

    /// Records the bucket of a response, and its limit if that is exhausted.
    pub(super) fn note(&mut self, bucket: &Bucket, headers: &HeaderMap) {
        if let Some(name) = text(headers, "x-ratelimit-bucket") {
            self.shared.insert(bucket.shape.clone(), name.to_owned());
        }
        if text(headers, "x-ratelimit-remaining") == Some("0")
            && let Some(after) = text(headers, "x-ratelimit-reset-after").and_then(seconds_of)
        {
            self.hold(bucket, after);
        }
    }

    pub(super) fn hold(&mut self, bucket: &Bucket, after: Duration) {
        let now = Instant::now();
        if self.until.len() >= MANY {
            self.until.retain(|_, until| *until > now);
        }
        self.until.insert(self.key(bucket), now + after);
    }

    pub(super) fn hold_everything(&mut self, after: Duration) {
        self.everywhere = Some(Instant::now() + after);
    }

    fn key(&self, bucket: &Bucket) -> (String, String) {
        let name = self.shared.get(&bucket.shape).unwrap_or(&bucket.shape);
        (name.clone(), bucket.whose.clone())
    }
}

pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

pub(super) fn seconds_of(text: &str) -> Option<Duration> {
    seconds(text.parse().ok()?)
}

/// At most a day, because a longer pause cannot be correct.
pub(super) fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.clamp(0.0, 86_400.0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(chat: u8) -> Bucket {
        Bucket::of(&Method::POST, &format!("channels/{chat}/messages"))
    }

    /// Proves M4.
    #[tokio::test(start_paused = true)]
    async fn a_limit_that_is_used_up_holds_its_chat_and_a_global_one_the_bot() {
        let mut pauses = Pauses::default();
        pauses.hold(&post(1), Duration::from_secs(3));
        let here = RemainingPause { after: Duration::from_secs(3), everywhere: false };
        assert_eq!(pauses.left(&post(1), false), Some(here));
        assert_eq!(pauses.left(&post(2), false), None);
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(pauses.left(&post(1), false), None);
        pauses.hold_everything(Duration::from_secs(2));
        let all = RemainingPause { after: Duration::from_secs(2), everywhere: true };
        assert_eq!(pauses.left(&post(2), false), Some(all));
        assert_eq!(pauses.left(&post(2), true), None, "an acknowledgement is not held up");
    }

    /// Proves M4.
    #[tokio::test(start_paused = true)]
    async fn calls_that_the_platform_counts_together_wait_together() {
        let mut pauses = Pauses::default();
        let edit =
            |message: u8| Bucket::of(&Method::PATCH, &format!("channels/1/messages/{message}"));
        let said = |left: &str| {
            let named = [
                ("x-ratelimit-bucket", "abc"),
                ("x-ratelimit-remaining", left),
                ("x-ratelimit-reset-after", "1.5"),
            ];
            let header = |(name, value): (&'static str, &str)| {
                (name.parse().expect("a name"), value.parse().expect("a value"))
            };
            named.map(header).into_iter().collect::<HeaderMap>()
        };
        pauses.note(&post(1), &said("4"));
        assert_eq!(pauses.left(&post(1), false), None);
        pauses.note(&edit(7), &said("0"));
        for bucket in [edit(8), post(1)] {
            let left = pauses.left(&bucket, false).map(|left| left.after);
            assert_eq!(left, Some(Duration::from_millis(1500)));
        }
        assert_eq!(pauses.left(&post(2), false), None, "another channel's is its own");
    }

    #[test]
    fn no_token_of_an_interaction_is_part_of_a_shape() {
        let bucket = Bucket::of(&Method::POST, "interactions/1/secret/callback");
        assert_eq!(bucket.shape, "POST interactions/*/*/callback");
        assert_eq!(bucket.whose, "interactions/1/secret");
        assert_eq!(Bucket::of(&Method::GET, "gateway/bot").shape, "GET gateway/bot");
    }
}
