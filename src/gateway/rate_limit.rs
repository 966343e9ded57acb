//! Rate limits for calls to a platform, per chat and for the whole bot, as sliding windows. Counts
//! calls of this node only; the platform itself enforces the limit over all nodes.

use channels::{
    Place, PlaceKind,
    limits::{RateLimit, RateLimits as Limits},
};
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

/// The capacity of each window that drafts leave free for answers and approvals.
const RESERVE: usize = 1;
/// The number of windows from which expired ones are removed.
const SWEPT_FROM: usize = 1_000;
/// The maximum number of windows. Further chats are not counted; the platform still enforces its
/// own limit.
const MAX_WINDOWS: usize = 100_000;
/// The minimum time between two sweeps of expired windows.
const SWEPT_EVERY: TimeDelta = TimeDelta::seconds(1);

/// Recent messages, per chat and for the whole bot.
#[derive(Debug, Default)]
pub struct RateLimiter {
    windows: Mutex<Windows>,
}

#[derive(Debug, Default)]
struct Windows {
    of: HashMap<(String, String), Window>,
    /// How many windows remained after the last sweep, and when it ran.
    left: usize,
    swept_at: Option<DateTime<Utc>>,
}

/// Recent messages to one chat, or by the whole bot.
#[derive(Debug, Default)]
struct Window {
    sent: VecDeque<DateTime<Utc>>,
    /// How long a message counts.
    within: TimeDelta,
    parked_until: Option<DateTime<Utc>>,
}

/// A place of a channel.
struct ChatRef<'a> {
    channel: &'a str,
    place: &'a Place,
}

impl RateLimiter {
    /// Counts a message if it may be sent now; otherwise returns when to ask again.
    pub fn take(
        &self,
        channel: &str,
        place: &Place,
        limits: &Limits,
        now: DateTime<Utc>,
    ) -> Result<(), DateTime<Utc>> {
        self.count(ChatRef { channel, place }, limits, 0, now)
    }

    /// Counts a draft edit if enough capacity remains for other messages.
    pub fn may_draft(
        &self,
        channel: &str,
        place: &Place,
        limits: &Limits,
        now: DateTime<Utc>,
    ) -> bool {
        self.count(ChatRef { channel, place }, limits, RESERVE, now).is_ok()
    }

    /// How many messages the whole bot may send now; if none, when to ask again.
    pub fn room(
        &self,
        channel: &str,
        limits: &Limits,
        now: DateTime<Utc>,
    ) -> Result<usize, DateTime<Utc>> {
        let Some(limit) = limits.bot else { return Ok(usize::MAX) };
        let mut windows = self.windows();
        match windows.of.get_mut(&of_bot(channel)) {
            Some(window) => window.room(limit, 0, now),
            None => Ok(limit.messages),
        }
    }

    /// Stops drafts in a place for some time, after the platform asked to slow down.
    pub fn park(&self, channel: &str, place: &Place, now: DateTime<Utc>, after: Duration) {
        let until = now + TimeDelta::from_std(after).unwrap_or(TimeDelta::minutes(5));
        if let Some(window) = self.windows().at(channel.to_owned(), place.chat.clone(), now) {
            window.parked_until = Some(until);
        }
    }

    fn count(
        &self,
        ChatRef { channel, place }: ChatRef<'_>,
        limits: &Limits,
        reserve: usize,
        now: DateTime<Utc>,
    ) -> Result<(), DateTime<Utc>> {
        let of_chat = match place.kind {
            PlaceKind::Private => limits.private,
            PlaceKind::Group => limits.group,
        };
        let chat = (channel.to_owned(), place.chat.clone());
        let mut windows = self.windows();
        // Messages come from the outbox, where the chat is parked as well.
        let parked = windows.of.get(&chat).and_then(|window| window.parked_until);
        if let Some(until) = parked.filter(|until| reserve > 0 && *until > now) {
            return Err(until);
        }
        let limited =
            [of_chat.map(|limit| (chat, limit)), limits.bot.map(|p| (of_bot(channel), p))];
        let limited: Vec<_> = limited.into_iter().flatten().collect();
        for (key, limit) in &limited {
            if let Some(window) = windows.of.get_mut(key) {
                window.room(*limit, reserve, now)?;
            }
        }
        for ((channel, chat), limit) in limited {
            if let Some(window) = windows.at(channel, chat, now) {
                window.within = TimeDelta::from_std(limit.within).unwrap_or_default();
                window.sent.push_back(now);
            }
        }
        Ok(())
    }

    fn windows(&self) -> MutexGuard<'_, Windows> {
        self.windows.lock()
    }
}

fn of_bot(channel: &str) -> (String, String) {
    (channel.to_owned(), String::new())
}

impl Windows {
    /// The window for a key. Expired windows are removed before there are twice as many as after
    /// the last sweep. `None` if there are still too many.
    fn at(&mut self, channel: String, chat: String, now: DateTime<Utc>) -> Option<&mut Window> {
        let key = (channel, chat);
        let full_at = SWEPT_FROM.max(self.left * 2).min(MAX_WINDOWS);
        if self.of.len() >= full_at && !self.of.contains_key(&key) {
            if self.swept_at.is_none_or(|at| at + SWEPT_EVERY <= now || full_at < MAX_WINDOWS) {
                self.of.retain(|_, window| !window.is_over(now));
                (self.left, self.swept_at) = (self.of.len(), Some(now));
            }
            if self.of.len() >= MAX_WINDOWS {
                return None;
            }
        }
        Some(self.of.entry(key).or_default())
    }
}

impl Window {
    /// How many messages the window allows now; if none, when it allows the next one.
    fn room(
        &mut self,
        limit: RateLimit,
        reserve: usize,
        now: DateTime<Utc>,
    ) -> Result<usize, DateTime<Utc>> {
        let within = TimeDelta::from_std(limit.within).unwrap_or_default();
        while self.sent.front().is_some_and(|at| *at + within <= now) {
            self.sent.pop_front();
        }
        match self.sent.front() {
            Some(oldest) if self.sent.len() + reserve >= limit.messages => Err(*oldest + within),
            _ => Ok(limit.messages.saturating_sub(self.sent.len())),
        }
    }

    fn is_over(&self, now: DateTime<Utc>) -> bool {
        self.parked_until.is_none_or(|until| until <= now)
            && self.sent.back().is_none_or(|at| *at + self.within <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(chat: &str, kind: PlaceKind) -> Place {
        Place { chat: chat.into(), thread: None, kind }
    }

    const LIMITS: Limits = Limits {
        private: Some(RateLimit { messages: 3, within: Duration::from_secs(3) }),
        group: Some(RateLimit { messages: 2, within: Duration::from_mins(1) }),
        bot: Some(RateLimit { messages: 4, within: Duration::from_secs(1) }),
    };

    fn at(ms: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(ms).unwrap()
    }

    /// Limits apply per chat, per group and to the whole bot.
    /// Proves M4.
    #[test]
    fn each_window_has_its_limit() {
        let rate_limiter = RateLimiter::default();
        let (ann, team) = (place("1", PlaceKind::Private), place("2", PlaceKind::Group));
        let take = |place: &Place, ms| rate_limiter.take("tg", place, &LIMITS, at(ms));
        assert_eq!([take(&ann, 0), take(&ann, 1), take(&ann, 2)], [Ok(()); 3]);
        assert_eq!(take(&ann, 3), Err(at(3_000)), "when the first of the three is over");
        assert_eq!(take(&team, 4), Ok(()), "another chat flows");
        assert_eq!(take(&team, 5), Err(at(1_000)), "the bot as a whole has said enough");
        assert_eq!(take(&team, 1_000), Ok(()));
        assert_eq!(take(&team, 9_000), Err(at(60_004)));
        assert_eq!(take(&ann, 3_000), Ok(()));
    }

    /// Messages take precedence over drafts, and a parked chat gets no drafts.
    /// Proves M4.
    #[test]
    fn drafts_leave_room_for_answers() {
        let rate_limiter = RateLimiter::default();
        let ann = place("1", PlaceKind::Private);
        let drafts = |ms| rate_limiter.may_draft("tg", &ann, &LIMITS, at(ms));
        assert!(drafts(0) && drafts(1));
        assert!(!drafts(2), "one is left, for the answer");
        assert_eq!(rate_limiter.take("tg", &ann, &LIMITS, at(2)), Ok(()));
        rate_limiter.park("tg", &ann, at(5_000), Duration::from_secs(30));
        assert!(!drafts(34_000));
        assert!(drafts(36_000));
    }

    /// Unlimited chats create no windows, and expired windows are removed.
    #[test]
    fn windows_do_not_pile_up() {
        let rate_limiter = RateLimiter::default();
        let free = Limits { private: None, group: None, bot: None };
        for chat in 0..5_000 {
            let visitor = place(&chat.to_string(), PlaceKind::Private);
            assert_eq!(rate_limiter.take("web", &visitor, &free, at(0)), Ok(()));
        }
        assert!(rate_limiter.windows().of.is_empty());
        let slow = Limits { bot: None, ..LIMITS };
        for chat in 0..50_000 {
            let ann = place(&chat.to_string(), PlaceKind::Private);
            assert_eq!(rate_limiter.take("tg", &ann, &slow, at(chat)), Ok(()));
        }
        let left = rate_limiter.windows().of.len();
        assert!((3_000..=12_000).contains(&left), "three seconds of them count: {left}");
    }

    /// The remaining capacity of the bot limits how many rows are claimed.
    /// Proves M4.
    #[test]
    fn the_bot_reports_its_remaining_capacity() {
        let rate_limiter = RateLimiter::default();
        assert_eq!(rate_limiter.room("tg", &LIMITS, at(0)), Ok(4));
        assert_eq!(
            rate_limiter.take("tg", &place("1", PlaceKind::Private), &LIMITS, at(0)),
            Ok(())
        );
        assert_eq!(rate_limiter.room("tg", &LIMITS, at(0)), Ok(3));
        for chat in ["2", "3", "4"] {
            let chat = place(chat, PlaceKind::Private);
            assert_eq!(rate_limiter.take("tg", &chat, &LIMITS, at(5)), Ok(()));
        }
        assert_eq!(rate_limiter.room("tg", &LIMITS, at(6)), Err(at(1_000)));
        assert_eq!(rate_limiter.room("web", &Limits::default(), at(6)), Ok(usize::MAX));
    }
}
