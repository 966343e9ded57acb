//! What people live through, each on both databases.

mod approvals;
mod attacks;
mod delivery;
mod disclosure;
mod guard;
mod languages;
mod main_job;
mod nodes;
mod people;
