//! The threads that read from SQLite. Each has a connection of its own, so that a long read delays
//! neither the tasks of the runtime nor the writer. A thread starts when all others are busy, and
//! the thread that read last reads next, because its statements and pages are in memory.

use anyhow::{Result, anyhow};
use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;
use std::{
    collections::VecDeque,
    io,
    path::PathBuf,
    sync::Arc,
    thread::{self, Thread},
};
use tokio::sync::oneshot;

use super::{Tx, sqlite, unavailable};

/// The maximum number of threads.
const THREADS: usize = 4;

/// Receives the connection of the thread, or the reason why it could not be opened.
type ReadJob = Box<dyn FnOnce(rusqlite::Result<&mut Connection>) + Send>;

/// The threads end when the last clone is dropped.
#[derive(Clone)]
pub(in crate::store) struct Readers(Arc<Owner>);

struct Owner(Arc<Queue>);

struct Queue {
    file: PathBuf,
    state: Mutex<ReaderQueue>,
}

#[derive(Default)]
struct ReaderQueue {
    jobs: VecDeque<ReadJob>,
    /// The threads that wait for a job; the last one has waited for the shortest time.
    idle: Vec<Thread>,
    threads: usize,
    is_closed: bool,
}

impl Readers {
    pub fn new(file: PathBuf) -> Self {
        Self(Arc::new(Owner(Arc::new(Queue { file, state: Mutex::default() }))))
    }

    /// Runs `work` on the next thread that is free. Nothing is kept for a caller that is not polled.
    pub async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static,
    {
        let (answer, wait) = oneshot::channel();
        let span = tracing::Span::current();
        let started = self.start(Box::new(move |conn| {
            if answer.is_closed() {
                return;
            }
            let _entered = span.enter();
            let result = match conn {
                Ok(conn) => sqlite::complete(conn, work).0,
                Err(problem) => Err(problem.into()),
            };
            // The caller may no longer wait.
            let _ = answer.send(result);
        }));
        started.map_err(|problem| unavailable(&format!("starting to read: {problem}")))?;
        wait.await.map_err(|_| anyhow!("the read was aborted"))?
    }

    /// Passes the job to a thread that waits, or to a new one, or to the first that is done.
    pub fn start(&self, job: ReadJob) -> io::Result<()> {
        let Owner(queue) = &*self.0;
        let mut state = queue.state();
        if let Some(idle) = state.idle.pop() {
            state.jobs.push_back(job);
            drop(state);
            idle.unpark();
            return Ok(());
        }
        if state.threads < THREADS {
            let own = queue.clone();
            let named = thread::Builder::new().name("sqlite-reader".to_owned());
            match named.spawn(move || own.work()) {
                Ok(_) => state.threads += 1,
                Err(problem) if state.threads == 0 => return Err(problem),
                Err(problem) => tracing::warn!(%problem, "could not start another reading thread"),
            }
        }
        state.jobs.push_back(job);
        Ok(())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_closed = true;
        state.idle.drain(..).for_each(|idle| idle.unpark());
    }
}

impl Queue {
    fn work(&self) {
        let mut open = None;
        while let Some(job) = self.next() {
            if open.is_none() {
                match sqlite::connect(&self.file) {
                    Ok(conn) => open = Some(conn),
                    Err(problem) => {
                        job(Err(problem));
                        continue;
                    }
                }
            }
            if let Some(conn) = &mut open {
                job(Ok(conn));
            }
        }
    }

    /// Waits for a job; `None` when no more will come.
    fn next(&self) -> Option<ReadJob> {
        let own = thread::current();
        loop {
            let mut state = self.state();
            // A thread may be woken without a reason.
            state.idle.retain(|idle| idle.id() != own.id());
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state.idle.push(own.clone());
            drop(state);
            thread::park();
        }
    }

    fn state(&self) -> MutexGuard<'_, ReaderQueue> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn readers(folder: &tempfile::TempDir) -> Readers {
        let file = folder.path().join("test.db");
        Connection::open(&file).unwrap().execute_batch("CREATE TABLE rows (id INTEGER)").unwrap();
        Readers::new(file)
    }

    /// Reads one after another use one connection; a long one delays no other.
    #[tokio::test]
    async fn a_thread_starts_only_if_all_others_are_busy() {
        let folder = tempfile::tempdir().unwrap();
        let readers = readers(&folder);
        let nothing = || readers.read(|_| Box::pin(async { Ok(()) }));
        for _ in 0..20 {
            nothing().await.unwrap();
            while readers.0.0.state().idle.is_empty() {
                thread::yield_now();
            }
        }
        assert_eq!(readers.0.0.state().threads, 1);
        let (end, ended) = mpsc::channel::<()>();
        let long = readers.start(Box::new(move |_| ended.recv().unwrap()));
        long.unwrap();
        nothing().await.unwrap();
        assert_eq!(readers.0.0.state().threads, 2);
        end.send(()).unwrap();
    }

    /// More reads than threads are all answered, and the threads end with the last owner.
    #[tokio::test]
    async fn all_reads_are_answered_and_the_threads_end() {
        let folder = tempfile::tempdir().unwrap();
        let readers = readers(&folder);
        let all = (0..200).map(|n| readers.read(move |_| Box::pin(async move { Ok(n) })));
        for (n, read) in futures::future::join_all(all).await.into_iter().enumerate() {
            assert_eq!(read.unwrap(), n);
        }
        let queue = readers.0.0.clone();
        assert!(queue.state().threads <= THREADS);
        drop(readers);
        while Arc::strong_count(&queue) > 1 {
            thread::yield_now();
        }
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_opened_fails_each_read() {
        let folder = tempfile::tempdir().unwrap();
        let readers = Readers::new(folder.path().join("missing.db"));
        for _ in 0..2 {
            let read = readers.read(|_| Box::pin(async { Ok(()) }));
            let problem = read.await.unwrap_err();
            assert!(crate::store::db::transient::is_transient(&problem), "{problem:#}");
        }
    }
}
