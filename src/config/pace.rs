//! The rate limits of a channel: those that the platform documents, none, or custom ones.

use anyhow::{Context as _, Result, bail};
use channels::limits::{RateLimit, RateLimits};

use super::build;

/// The default: the limits that the platform documents.
const PLATFORM: &str = "platform";
/// No limit at all, or none of one kind.
const OFF: &str = "off";

pub(super) fn default_pace() -> String {
    PLATFORM.into()
}

/// The rate limits of a channel: `platform`, `off`, or some of `private 5/5s, group 20/1m,
/// bot 30/1s`, where the others stay those of the platform.
pub fn rate_limits(pace: &str, platform: RateLimits) -> Result<RateLimits> {
    match pace.trim() {
        PLATFORM => return Ok(platform),
        OFF => return Ok(RateLimits::default()),
        _ => {}
    }
    let mut limits = platform;
    for part in pace.split(',') {
        let wrong = || {
            format!(
                "`{}` is not a rate limit; use platform, off, or limits such as \
                    `private 5/5s, group 20/1m, bot 30/1s`",
                part.trim()
            )
        };
        let (scope, limit) = part.trim().split_once(' ').with_context(wrong)?;
        let limit = rate_limit(limit.trim()).with_context(wrong)?;
        match scope {
            "private" => limits.private = limit,
            "group" => limits.group = limit,
            "bot" => limits.bot = limit,
            _ => bail!(wrong()),
        }
    }
    Ok(limits)
}

/// Parses `20/1m`; `None` for `off`.
fn rate_limit(text: &str) -> Result<Option<RateLimit>> {
    if text == OFF {
        return Ok(None);
    }
    let (messages, within) = text.split_once('/').context("there is no `/`")?;
    let messages: usize = messages.trim().parse().context("the number of messages")?;
    anyhow::ensure!(messages > 0, "no message could be sent");
    let within = build::duration(within)?.to_std()?;
    Ok(Some(RateLimit { messages, within }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const PLATFORMS: RateLimits = RateLimits {
        private: Some(RateLimit { messages: 5, within: Duration::from_secs(5) }),
        group: Some(RateLimit { messages: 20, within: Duration::from_mins(1) }),
        bot: Some(RateLimit { messages: 30, within: Duration::from_secs(1) }),
    };

    #[test]
    fn limits_are_those_of_the_platform_unless_they_are_set() {
        let limits = |pace| rate_limits(pace, PLATFORMS).unwrap();
        assert_eq!(limits("platform"), PLATFORMS);
        assert_eq!(limits("off"), RateLimits::default());
        let bot = Some(RateLimit { messages: 1_000, within: Duration::from_secs(1) });
        assert_eq!(limits("bot 1000/1s"), RateLimits { bot, ..PLATFORMS });
        let group = Some(RateLimit { messages: 5, within: Duration::from_millis(500) });
        let own = RateLimits { private: None, group, ..PLATFORMS };
        assert_eq!(limits(" private off,group 5/500ms "), own);
    }

    #[test]
    fn an_invalid_limit_is_rejected_with_an_example() {
        for pace in
            ["", "of", "bot", "bot 0/1s", "bot 5", "bot 5/1", "bot x/1s", "chat 1/1s", "off,"]
        {
            let problem = rate_limits(pace, PLATFORMS).unwrap_err().to_string();
            assert!(problem.contains("private 5/5s, group 20/1m, bot 30/1s"), "{problem}");
        }
    }
}
