//! The web server as a browser sees it: over a socket, with a real database.

mod access;
mod chat;
mod http_server;
mod own;
mod push;
mod setup;
mod widget;
mod world;
