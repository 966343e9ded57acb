//! Connects the sandbox to a proxy outside. Programs expect a proxy at a port, but the sandbox has
//! only a loopback network.

use anyhow::Result;
use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread,
};

/// Where programs find the proxy.
pub(super) const PROXY: &str = "http://127.0.0.1:3128";
/// The port on the loopback of the sandbox at which programs find the proxy.
pub const PROXY_PORT: u16 = 3128;

/// Accepts connections until this process ends.
pub(super) fn forward_connections(socket: PathBuf) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", PROXY_PORT))?;
    thread::Builder::new().spawn(move || {
        for from in listener.incoming().flatten() {
            // A connection that cannot be forwarded is closed, which the program notices.
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
