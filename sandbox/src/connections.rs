//! Accepts the connections of a program to a proxy, and limits their number.

use std::{convert::Infallible, io, time::Duration};
use tokio::{
    net::{UnixListener, UnixStream},
    task::JoinSet,
};

/// How long no connection is accepted after the system has refused one.
const NEXT_ATTEMPT: Duration = Duration::from_millis(100);

/// Gives each connection to `pass`, at most `at_once` at the same time. Never returns; if it is
/// dropped, all connections end.
pub async fn serve<F>(
    listener: UnixListener,
    at_once: usize,
    pass: impl Fn(UnixStream) -> F,
) -> Infallible
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let mut passing = JoinSet::new();
    loop {
        tokio::select! {
            taken = listener.accept(), if passing.len() < at_once => {
                match taken {
                    // A lost connection is treated like one that ended.
                    Ok((from, _)) => drop(passing.spawn(pass(from))),
                    // The process has no file descriptor left: others have to be closed first.
                    #[expect(clippy::disallowed_methods, reason = "nothing signals a free descriptor")]
                    Err(_) => tokio::time::sleep(NEXT_ATTEMPT).await,
                }
            }
            Some(_) = passing.join_next() => {}
        }
    }
}
