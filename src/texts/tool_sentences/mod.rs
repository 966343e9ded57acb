//! A sentence about each built-in tool, for the people who decide about a call.
//!
//! The description of a tool is written for the model. A tool without a sentence, such as one of an
//! MCP server or a custom tool, is described by the first sentence of its description.

mod documents;
mod jobs_and_wiki;
mod media;
mod tools;

/// A sentence in each language. `{name}` is the value of an argument.
#[derive(Debug)]
pub struct ToolSentence {
    pub tool: &'static str,
    pub english: &'static str,
    pub chinese: &'static str,
    pub german: &'static str,
    pub spanish: &'static str,
}

/// The sentence of a built-in tool.
pub fn tool_sentence(tool: &str) -> Option<&'static ToolSentence> {
    let sentences =
        [tools::SENTENCES, jobs_and_wiki::SENTENCES, documents::SENTENCES, media::SENTENCES];
    sentences.into_iter().flatten().find(|sentence| sentence.tool == tool)
}
