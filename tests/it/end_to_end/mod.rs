//! The whole program: over real sockets and pipes, with fake platforms and a fake language model,
//! and killed in between.

mod discord;
mod fault_matrix;
mod first_hour;
mod kills;
mod reload;
pub mod telegram;
mod terminal;
mod traces;
