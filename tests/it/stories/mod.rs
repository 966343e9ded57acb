//! What people live through, each on both databases.

mod approvals;
mod attacks;
mod audit;
mod delivery;
mod disclosure;
mod guard;
mod hooks;
mod languages;
mod lasting;
mod limits;
mod main_job;
mod messages;
mod moved;
mod nodes;
mod people;
mod secrets;
mod who_decides;
