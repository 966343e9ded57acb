//! What tests share, without tests of the program: the world of a story, the program as a child
//! process, a node that serves HTTP, a conversation for document tools, a fake channel.

pub mod documents;
pub mod fake_channel;
pub mod http;
pub mod process;
pub mod program;
pub mod stable_output;
mod templates;
pub mod tools;
pub mod world;
