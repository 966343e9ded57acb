//! How often a platform is written to: so often in any window of time, per chat and for the whole
//! bot. Counted by this node only; what others send beside it, the platform counts itself.

use channels::{
    Place, PlaceKind,
    limits::{Pace, Paces as Limits},
};
use chrono::{DateTime, TimeDelta, Utc};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Room in each window that drafts leave to answers and questions.
const RESERVE: usize = 1;
/// Windows that are kept before the empty ones are thrown away.
const KEPT: usize = 10_000;

/// What was sent lately.
#[derive(Debug, Default)]
pub struct Paces {
    windows: Mutex<HashMap<(String, String), Window>>,
}

#[derive(Debug, Default)]
struct Window {
    sent: VecDeque<DateTime<Utc>>,
    parked_until: Option<DateTime<Utc>>,
}

impl Paces {
    /// Counts a message, if it may be sent now; otherwise, when to ask again.
    pub fn take(
        &self,
        (channel, place): (&str, &Place),
        limits: &Limits,
        now: DateTime<Utc>,
    ) -> Result<(), DateTime<Utc>> {
        self.count((channel, place), limits, 0, now)
    }

    /// Counts an edit of a draft, if there is more room than what matters more may need.
    pub fn may_draft(
        &self,
        (channel, place): (&str, &Place),
        limits: &Limits,
        now: DateTime<Utc>,
    ) -> bool {
        self.count((channel, place), limits, RESERVE, now).is_ok()
    }

    /// No drafts there for a while: the platform has had enough.
    pub fn park(&self, (channel, place): (&str, &Place), now: DateTime<Utc>, after: Duration) {
        let until = now + TimeDelta::from_std(after).unwrap_or(TimeDelta::minutes(5));
        let key = (channel.to_owned(), place.chat.clone());
        self.windows().entry(key).or_default().parked_until = Some(until);
    }

    fn count(
        &self,
        (channel, place): (&str, &Place),
        limits: &Limits,
        reserve: usize,
        now: DateTime<Utc>,
    ) -> Result<(), DateTime<Utc>> {
        let of_chat = match place.kind {
            PlaceKind::Private => limits.private,
            PlaceKind::Group => limits.group,
        };
        let whole = (channel.to_owned(), String::new());
        let chat = (channel.to_owned(), place.chat.clone());
        let mut windows = self.windows();
        if windows.len() > KEPT {
            windows.retain(|_, window| !window.is_over(now));
        }
        let paced = [(chat, of_chat), (whole, limits.bot)];
        for (key, pace) in &paced {
            windows.entry(key.clone()).or_default().room(*pace, reserve, now)?;
        }
        for (key, _) in paced {
            windows.entry(key).or_default().sent.push_back(now);
        }
        Ok(())
    }

    fn windows(&self) -> MutexGuard<'_, HashMap<(String, String), Window>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    fn room(
        &mut self,
        pace: Option<Pace>,
        reserve: usize,
        now: DateTime<Utc>,
    ) -> Result<(), DateTime<Utc>> {
        // What matters comes out of the outbox, where the chat is parked too.
        if let Some(until) = self.parked_until.filter(|until| reserve > 0 && *until > now) {
            return Err(until);
        }
        let Some(pace) = pace else {
            self.sent.clear();
            return Ok(());
        };
        let within = TimeDelta::from_std(pace.within).unwrap_or_default();
        while self.sent.front().is_some_and(|at| *at + within <= now) {
            self.sent.pop_front();
        }
        match self.sent.front() {
            Some(oldest) if self.sent.len() + reserve >= pace.most => Err(*oldest + within),
            _ => Ok(()),
        }
    }

    /// No pace looks back further than an hour.
    fn is_over(&self, now: DateTime<Utc>) -> bool {
        self.parked_until.is_none_or(|until| until <= now)
            && self.sent.back().is_none_or(|at| *at + TimeDelta::hours(1) <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(chat: &str, kind: PlaceKind) -> Place {
        Place { chat: chat.into(), thread: None, kind }
    }

    const LIMITS: Limits = Limits {
        private: Some(Pace { most: 3, within: Duration::from_secs(3) }),
        group: Some(Pace { most: 2, within: Duration::from_mins(1) }),
        bot: Some(Pace { most: 4, within: Duration::from_secs(1) }),
    };

    fn at(ms: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(ms).unwrap()
    }

    /// M4: per chat, per group and for the whole bot.
    #[test]
    fn each_window_takes_so_many() {
        let paces = Paces::default();
        let (ann, team) = (place("1", PlaceKind::Private), place("2", PlaceKind::Group));
        let take = |place: &Place, ms| paces.take(("tg", place), &LIMITS, at(ms));
        assert_eq!([take(&ann, 0), take(&ann, 1), take(&ann, 2)], [Ok(()); 3]);
        assert_eq!(take(&ann, 3), Err(at(3_000)), "when the first of the three is over");
        assert_eq!(take(&team, 4), Ok(()), "another chat flows");
        assert_eq!(take(&team, 5), Err(at(1_000)), "the bot as a whole has said enough");
        assert_eq!(take(&team, 1_000), Ok(()));
        assert_eq!(take(&team, 9_000), Err(at(60_004)));
        assert_eq!(take(&ann, 3_000), Ok(()));
    }

    /// M4: what matters goes before drafts, and a parked chat has none.
    #[test]
    fn drafts_leave_room_for_answers() {
        let paces = Paces::default();
        let ann = place("1", PlaceKind::Private);
        let drafts = |ms| paces.may_draft(("tg", &ann), &LIMITS, at(ms));
        assert!(drafts(0) && drafts(1));
        assert!(!drafts(2), "one is left, for the answer");
        assert_eq!(paces.take(("tg", &ann), &LIMITS, at(2)), Ok(()));
        paces.park(("tg", &ann), at(5_000), Duration::from_secs(30));
        assert!(!drafts(34_000));
        assert!(drafts(36_000));
    }
}
