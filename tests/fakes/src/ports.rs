//! Listening, and ports that must be known before anybody listens on them.

use std::{
    fs::{self, File, TryLockError},
    io,
    net::{Ipv4Addr, TcpListener},
    ops::Range,
    sync::atomic::{AtomicU16, Ordering},
};

/// Connections that may wait to be accepted, if the system allows that many. A client beyond them
/// waits for a second before it tries again.
const BACKLOG: u32 = 16_384;

/// Listens on a port of the loopback (0 for a free one), for thousands of clients that connect at
/// once.
#[expect(clippy::unused_async, reason = "its callers are asynchronous, as in the other fakes")]
pub(crate) async fn listen(port: u16) -> io::Result<tokio::net::TcpListener> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    socket.listen(BACKLOG)
}

/// Below Linux's range for outgoing connections (32768 and up), whose ports can be taken at any
/// time by any client.
const RANGE: Range<u16> = 20_000..32_000;

/// A port of the loopback that no other test uses until this is dropped. Where a program can listen
/// on port 0 and say which one it got, prefer that.
#[derive(Debug)]
pub struct ReservedPort {
    number: u16,
    /// Locked while the port is reserved; the lock ends with the process.
    _lock: File,
}

impl ReservedPort {
    /// Reserves a port on which nobody listens.
    ///
    /// # Panics
    /// If the folder for temporary files cannot be written to, or all ports are taken.
    pub fn new() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let folder = std::env::temp_dir().join("countersign-test-ports");
        fs::create_dir_all(&folder).expect("the folder for temporary files is writable");
        let count = RANGE.len() as u16;
        // Processes begin at different places, so that they seldom meet.
        let first = (std::process::id() as u16).wrapping_mul(97) % count;
        for _ in 0..count {
            let offset = NEXT.fetch_add(1, Ordering::Relaxed);
            let number = RANGE.start + first.wrapping_add(offset) % count;
            let lock = File::create(folder.join(number.to_string())).expect("a lock file");
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => panic!("cannot lock port {number}: {error}"),
            }
            if TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Self { number, _lock: lock };
            }
        }
        panic!("no port is free");
    }

    pub fn number(&self) -> u16 {
        self.number
    }
}

impl Default for ReservedPort {
    fn default() -> Self {
        Self::new()
    }
}
