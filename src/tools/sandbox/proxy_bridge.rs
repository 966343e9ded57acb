//! Within the walls, the way to a proxy outside: programs look for one at a port, and there is no
//! network but the walls' own loopback.

use anyhow::Result;
use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread,
};

/// Where programs find it.
pub(super) const PROXY: &str = "http://127.0.0.1:3128";
const PORT: u16 = 3128;

/// Takes connections from now on, until this process ends.
pub(super) fn dig(socket: PathBuf) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", PORT))?;
    thread::Builder::new().spawn(move || {
        for from in listener.incoming().flatten() {
            // What cannot be passed on is closed, which the program sees.
            let _ = pass(from, &socket);
        }
    })?;
    Ok(())
}

fn pass(from: TcpStream, socket: &Path) -> io::Result<()> {
    let to = UnixStream::connect(socket)?;
    let (mut up, mut out) = (from.try_clone()?, to.try_clone()?);
    let (mut down, mut back) = (from, to);
    thread::Builder::new().spawn(move || {
        let _ = io::copy(&mut up, &mut out);
        let _ = out.shutdown(Shutdown::Write);
    })?;
    thread::Builder::new().spawn(move || {
        let _ = io::copy(&mut back, &mut down);
        let _ = down.shutdown(Shutdown::Both);
    })?;
    Ok(())
}
