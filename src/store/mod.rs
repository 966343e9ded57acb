//! Remembers: the only place with SQL, and with the artifact folder.

pub mod files;
