//! What people live through, each on both databases.

mod approvals;
mod delivery;
mod disclosure;
mod languages;
mod main_job;
mod nodes;
mod people;
