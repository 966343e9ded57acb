//! The surroundings of the tests, which contain no tests of the program: the world of a story, the
//! program as a child process, a fake channel.

pub mod fake_channel;
pub mod process;
pub mod stable_output;
mod templates;
pub mod tools;
pub mod world;
