//! Attacks on approvals, egress, names, roles, sessions and sign-in: a table for each class, with the
//! expected refusal. `docs/concepts/threat-model.md` counts them.

mod approvals;
mod egress;
mod files;
mod hosts;
mod people;
mod sessions;
