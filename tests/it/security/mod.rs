//! Attacks with their expected refusals, and judges of the guard and the sandbox that do not depend
//! on them: real shells, real processes, collected attacks.

pub mod attack_corpus;
mod refusals;
pub mod sandbox;
mod shell_oracle;
mod shell_programs;
pub mod skill_scan;
