//! Accepts the connections of a program to a proxy, and limits their number.

use std::{convert::Infallible, io};
use tokio::{
    net::{UnixListener, UnixStream},
    task::JoinSet,
};

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
                if let Ok((from, _)) = taken {
                    // A lost connection is treated like one that ended.
                    passing.spawn(pass(from));
                }
            }
            Some(_) = passing.join_next() => {}
        }
    }
}
