//! The prompts for the model that writes software.

use serde_json::{Value, json};
use std::sync::Arc;

use super::{
    draft::{FILE_BYTES, MAX_FILES, WRITE_FILES},
    requirement::{BuildRequirement, ProgrammingLanguage, SoftwareType},
};
use crate::{
    agent::{
        catalog::ToolSchema,
        prompt::{Message, Prompt},
    },
    llm::Reply,
};

/// The request for the first version.
pub(super) fn first_prompt(requirement: &BuildRequirement, version: &str) -> Prompt {
    let asked = serde_json::to_string_pretty(requirement).unwrap_or_default();
    let messages =
        vec![Message::User { text: format!("Write the software of this requirement:\n{asked}") }];
    Prompt {
        system: system(requirement, version),
        tools: vec![Arc::new(write_files())],
        messages,
        max_output_tokens: 0,
    }
}

/// The request for the next version: the requirement, the last version, and what was found. Earlier
/// versions are left out.
pub(super) fn next_prompt(last: &Prompt, reply: Reply, findings: &str) -> Prompt {
    let found = format!(
        "The gateway has found this. Call {WRITE_FILES} with all files again, corrected.\n{findings}"
    );
    let Reply { text, calls, .. } = reply;
    let results = calls.clone().into_iter().map(|call| {
        let text = if call.tool == WRITE_FILES { found.clone() } else { unknown(&call.tool) };
        Message::Tool { call, text }
    });
    let mut messages: Vec<_> = last.messages.first().cloned().into_iter().collect();
    if calls.is_empty() {
        // An empty answer is not sent back.
        messages.push(Message::Assistant { text, calls });
        messages.push(Message::User { text: found });
    } else {
        let results: Vec<_> = results.collect();
        messages.push(Message::Assistant { text, calls });
        messages.extend(results);
    }
    Prompt { messages, ..last.clone() }
}

fn unknown(tool: &str) -> String {
    format!("There is no tool `{tool}`; the only one is {WRITE_FILES}.")
}

fn system(requirement: &BuildRequirement, version: &str) -> String {
    let BuildRequirement { language, software_type, .. } = requirement;
    let entry = language.entry_point();
    let kind = match software_type {
        SoftwareType::Tool => {
            "a program that is called with arguments and standard input".to_owned()
        }
        SoftwareType::Library => {
            format!("modules for other programs, with {entry} as a small program that uses them")
        }
        SoftwareType::Service => {
            "a program that answers each line of standard input with a line of standard output, \
                until the input ends, and writes each line without delay"
                .to_owned()
        }
    };
    let more = match language {
        ProgrammingLanguage::Rust => {
            " It is compiled by rustc alone, with edition 2021 and no crates."
        }
        ProgrammingLanguage::Shell => {
            " It runs with /bin/sh, a POSIX shell without the extensions of bash."
        }
        ProgrammingLanguage::Python | ProgrammingLanguage::JavaScript => "",
    };
    format!(
        "You write software in {} ({version}): {kind}. Call {WRITE_FILES} once with all files. The \
            program begins with {entry}.{more} It has no network, and nothing can be installed: use \
            only the standard library and the dependencies of the requirement. Errors go to \
            standard error, with an exit status other than 0.\n\n\
            The gateway checks the files and runs the test cases of the requirement in a sandbox. \
            People review the code before it is used: make it short and clear, and solve the task \
            in general, not only for the test cases.",
        language.name()
    )
}

fn write_files() -> ToolSchema {
    let text = |says: &str| json!({ "type": "string", "description": says });
    let parameters: Value = json!({
        "type": "object",
        "properties": {
            "files": {
                "type": "array",
                "maxItems": MAX_FILES,
                "items": {
                    "type": "object",
                    "properties": {
                        "path": text("Relative, such as main.py or lib/words.py"),
                        "content": text("The complete file"),
                    },
                    "required": ["path", "content"],
                },
            },
        },
        "required": ["files"],
    });
    ToolSchema {
        name: WRITE_FILES.to_owned(),
        description: format!(
            "Writes the files of the software, in place of all earlier ones; at most {FILE_BYTES} \
                bytes each."
        ),
        parameters,
    }
}
