//! Tools as an agent uses them, without a conversation around them: documents, the browser, the
//! software builder, the workspace, tools of operators.

mod atomic_writes;
pub mod browser;
pub mod builder;
mod custom_tools;
pub mod documents;
pub mod fuzz;
mod long_tables;
pub mod office_previews;
mod old_formats;
mod web_pages;
