//! Retries database operations, so that finished work is not lost to a temporary failure.
//!
//! The result of a call or a model cannot be obtained again for free, or at all. Its write is
//! retried until it is recorded, until another worker has the lease, or until it keeps failing while
//! the database accepts others. The fence makes retries safe. A commit whose acknowledgement was
//! lost is found in the journal before the next attempt.

use anyhow::{Context as _, Result};
use std::{
    future::Future,
    time::{Duration, Instant},
};

use super::turn::Turn;
use crate::{
    clock::pause,
    store::{
        conversations::record::{Attempt, ConversationChange, Recorded},
        db::transient::is_transient,
    },
};

/// The number of rejections of a write, while the database accepts others, after which it is given
/// up.
const REFUSALS: u32 = 6;
/// A write is also given up after it has met temporary failures, such as lock timeouts or a full
/// disk, for this long, while the database accepted others.
const TEMPORARY_FOR: Duration = Duration::from_mins(10);
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The attempts of one operation.
#[derive(Debug, Default)]
pub(super) struct Retry {
    failures: u32,
    refusals: u32,
    /// The first of the temporary failures during which the database accepted other writes.
    temporary_since: Option<Instant>,
}

/// Whether another attempt is useful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryVerdict {
    Again,
    /// Another worker has the lease.
    Fenced,
}

impl Retry {
    /// Waits after a failure. Returns the error if the operation was rejected too often.
    pub async fn after(&mut self, turn: &Turn<'_>, problem: anyhow::Error) -> Result<RetryVerdict> {
        let conversation = turn.claimed.lease.conversation();
        let wait = self.next_wait();
        tracing::warn!(
            conversation.id = %conversation,
            failures = self.failures,
            error = format!("{problem:#}"),
            "database operation failed, will retry"
        );
        // In real time: nothing signals that the database is available again.
        pause(wait).await;
        let accepts = turn.worker.gateway.store.accepts_writes(&turn.claimed.lease).await;
        self.verdict(problem, &accepts, Instant::now())
    }

    /// Whether to try again, now that the database has accepted another write (`Ok(true)`) or has
    /// said that another worker has the lease (`Ok(false)`).
    fn verdict(
        &mut self,
        problem: anyhow::Error,
        accepts: &Result<bool>,
        now: Instant,
    ) -> Result<RetryVerdict> {
        match accepts {
            Ok(true) if self.is_exhausted(&problem, now) => Err(problem),
            Ok(true) => Ok(RetryVerdict::Again),
            Ok(false) => Ok(RetryVerdict::Fenced),
            // The database is unavailable or rejects all writes, so no other worker can take over
            // either.
            Err(_) => {
                self.temporary_since = None;
                Ok(RetryVerdict::Again)
            }
        }
    }

    /// Counts a failure, and returns the time until the next attempt, which doubles each time.
    fn next_wait(&mut self) -> Duration {
        let wait = FIRST_WAIT * 2_u32.pow(self.failures.min(10));
        self.failures += 1;
        wait.min(LONGEST_WAIT)
    }

    /// Whether no further attempt is made, now that the database has accepted another write.
    fn is_exhausted(&mut self, problem: &anyhow::Error, now: Instant) -> bool {
        if is_transient(problem) {
            return now - *self.temporary_since.get_or_insert(now) >= TEMPORARY_FOR;
        }
        self.refusals += 1;
        self.refusals >= REFUSALS
    }
}

impl Turn<'_> {
    /// Records a change, with as many attempts as necessary.
    pub async fn persist(&self, change: ConversationChange) -> Result<Recorded> {
        let gateway = &self.worker.gateway;
        let (store, lease) = (&gateway.store, &self.claimed.lease);
        // Without an event, a repetition finds the change only by the id of its first message. A
        // caller that assigns one repeats it.
        if change.events.is_empty() {
            return store.record(lease, change, gateway.clock.now()).await;
        }
        let mut attempt = change.attempt;
        let record = || {
            let attempt = std::mem::replace(&mut attempt, Attempt::Repeated);
            let change = ConversationChange { attempt, ..change.clone() };
            store.record(lease, change, gateway.clock.now())
        };
        Ok(self.repeat(record).await?.unwrap_or(Recorded::Fenced))
    }

    /// Reads data that is needed to record finished work, with as many attempts as necessary.
    pub async fn retry_read<T, F>(&self, read: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        self.repeat(read).await?.context("another worker has the lease")
    }

    /// Repeats an operation until it succeeds. `None` if another worker has the lease.
    async fn repeat<T, F>(&self, mut operation: impl FnMut() -> F) -> Result<Option<T>>
    where
        F: Future<Output = Result<T>>,
    {
        let mut retry = Retry::default();
        loop {
            let problem = match operation().await {
                Ok(value) => return Ok(Some(value)),
                Err(problem) => problem,
            };
            if retry.after(self, problem).await? == RetryVerdict::Fenced {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::db::transient::Unavailable;
    use anyhow::anyhow;

    #[test]
    fn an_operation_is_repeated_after_a_growing_delay() {
        let mut retry = Retry::default();
        let waits = (0..8).map(|_| retry.next_wait().as_millis()).collect::<Vec<_>>();
        assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        assert!((0..99).all(|_| retry.next_wait() == LONGEST_WAIT));
    }

    /// A result that was paid for is not given up because of a few seconds without a free
    /// connection.
    #[test]
    fn temporary_failures_are_not_refusals() {
        let (mut retry, now) = (Retry::default(), Instant::now());
        let busy = || anyhow::Error::new(Unavailable("busy".into())).context("record");
        let minutes = |count| now + Duration::from_mins(count);
        let exhausted = (0..=10).map(|at| retry.is_exhausted(&busy(), minutes(at)));
        assert_eq!(exhausted.filter(|exhausted| *exhausted).count(), 1, "after ten minutes");
        let mut retry = Retry::default();
        let refused = (0..6).map(|_| retry.is_exhausted(&anyhow!("refused"), now));
        assert_eq!(refused.collect::<Vec<_>>(), [false, false, false, false, false, true]);
    }

    #[test]
    fn an_operation_is_given_up_only_while_the_database_accepts_others() {
        let (mut retry, now) = (Retry::default(), Instant::now());
        let mut after = |accepts| retry.verdict(anyhow!("refused"), &accepts, now).ok();
        for _ in 1..REFUSALS {
            assert_eq!(after(Ok(true)), Some(RetryVerdict::Again));
        }
        assert_eq!(after(Err(anyhow!("down"))), Some(RetryVerdict::Again));
        assert_eq!(after(Ok(false)), Some(RetryVerdict::Fenced));
        assert_eq!(after(Ok(true)), None);
    }

    /// The time during which the database accepts no other writes does not count.
    #[test]
    fn an_outage_restarts_the_time_of_temporary_failures() {
        let (mut retry, now) = (Retry::default(), Instant::now());
        let mut after = |minutes, accepts| {
            let busy = anyhow::Error::new(Unavailable("busy".into()));
            retry.verdict(busy, &accepts, now + Duration::from_mins(minutes)).ok()
        };
        let again = Some(RetryVerdict::Again);
        assert_eq!(after(0, Ok(true)), again);
        assert_eq!(after(9, Err(anyhow!("down"))), again);
        assert_eq!([after(11, Ok(true)), after(20, Ok(true))], [again, again]);
        assert_eq!(after(21, Ok(true)), None);
    }
}
