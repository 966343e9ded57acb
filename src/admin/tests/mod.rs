//! The web server as a browser meets it: over a socket, with a real database.

mod chat;
mod doors;
mod own;
mod widget;
mod world;
