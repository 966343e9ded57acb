//! Test doubles for the integration tests and the unit tests of several modules. The feature `testing`
//! includes them, so that a release contains none.
//!
//! - [`scripted`]: a model that follows a script
//! - `manual_clock`: a clock that a test moves
//! - `internals`: what the integration tests use of private modules

mod internals;
mod manual_clock;
pub mod scripted;

pub use internals::*;
pub use manual_clock::ManualClock;
