//! Restarts background tasks that panic.

use futures::FutureExt as _;
use std::{panic::AssertUnwindSafe, time::Duration};
use tokio_util::sync::CancellationToken;

use super::Gateway;
use crate::clock::stops_within;

/// The delay before a task that has panicked is started again.
const RESTART_AFTER: Duration = Duration::from_secs(1);

impl Gateway {
    /// Spawns a background task that is started again if it panics.
    pub fn spawn_supervised<W>(
        &self,
        task: &'static str,
        work: impl Fn() -> W + Send + Sync + 'static,
    ) where
        W: Future<Output = ()> + Send + 'static,
    {
        let stop = self.stop.clone();
        self.tasks.spawn(async move { supervise(task, &stop, work).await });
    }
}

/// Runs a task until it ends. A panic is a bug, but one invalid row or response must not end the
/// task for the rest of the process.
async fn supervise<W>(task: &'static str, stop: &CancellationToken, work: impl Fn() -> W)
where
    W: Future<Output = ()>,
{
    while AssertUnwindSafe(work()).catch_unwind().await.is_err() {
        tracing::error!(task.name = task, "a background task panicked and will be restarted");
        if stops_within(RESTART_AFTER, stop).await {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_is_started_again_until_shutdown() {
        let (runs, stop) = (AtomicUsize::new(0), CancellationToken::new());
        supervise("test", &stop, || async {
            let run = runs.fetch_add(1, Ordering::Relaxed);
            assert!(run >= 2, "the first two runs panic");
        })
        .await;
        assert_eq!(runs.load(Ordering::Relaxed), 3, "a task that has ended is not started again");

        stop.cancel();
        supervise("test", &stop, || async {
            runs.fetch_add(1, Ordering::Relaxed);
            panic!("during shutdown");
        })
        .await;
        assert_eq!(runs.load(Ordering::Relaxed), 4);
    }
}
