//! A model for tests that follows a script and records its prompts.

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use std::{collections::VecDeque, sync::Arc};
use tokio::sync::Semaphore;

use crate::{
    agent::prompt::Prompt,
    journal::{
        event::{Call, Usage},
        ids::CallId,
    },
    llm::{Model, ModelError, OnText, Reply},
};

/// Clones share their state: one serves as the model, another writes the script.
#[derive(Clone)]
pub struct ScriptedModel {
    id: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    script: VecDeque<ScriptStep>,
    prompts: Vec<Prompt>,
    sees: bool,
}

/// One answer, or a wait before the next answer.
pub struct ScriptStep(Act);

enum Act {
    Answer { text: String, calls: Vec<(String, Value)>, gate: Option<Gate> },
    Fail(ModelError),
    Wait(Gate),
    Think(Thought),
}

type Thought = Box<dyn FnOnce(&Prompt) -> Result<Reply, ModelError> + Send>;

pub fn say(text: impl Into<String>) -> ScriptStep {
    ScriptStep(Act::Answer { text: text.into(), calls: Vec::new(), gate: None })
}

pub fn call(tool: impl Into<String>, arguments: Value) -> ScriptStep {
    calls(vec![(tool.into(), arguments)])
}

/// Several calls in one answer.
pub fn calls(calls: Vec<(String, Value)>) -> ScriptStep {
    ScriptStep(Act::Answer { text: String::new(), calls, gate: None })
}

pub fn fail(error: ModelError) -> ScriptStep {
    ScriptStep(Act::Fail(error))
}

/// Waits until the gate is opened, then continues with the next step.
pub fn wait(gate: &Gate) -> ScriptStep {
    ScriptStep(Act::Wait(gate.clone()))
}

/// An answer that depends on the prompt. Use [`answer`] to build the reply.
pub fn think(of: impl FnOnce(&Prompt) -> Result<Reply, ModelError> + Send + 'static) -> ScriptStep {
    ScriptStep(Act::Think(Box::new(of)))
}

/// An answer with calls that have new ids.
pub fn answer(text: impl Into<String>, calls: Vec<(String, Value)>) -> Reply {
    let usage = Usage { input_tokens: 100, output_tokens: 10, cached_tokens: 0 };
    Reply {
        text: text.into(),
        calls: calls.into_iter().map(|(tool, arguments)| made(tool, arguments)).collect(),
        usage,
        by: None,
    }
}

fn made(tool: String, arguments: Value) -> Call {
    let id = CallId::new();
    Call { model_id: format!("call_{id}"), id, tool, arguments }
}

impl ScriptStep {
    /// Text before the calls of the same answer.
    #[must_use]
    pub fn saying(mut self, words: impl Into<String>) -> Self {
        if let Act::Answer { text, .. } = &mut self.0 {
            *text = words.into();
        }
        self
    }

    /// Sends the text except for its last letters, waits for the gate, then sends the rest.
    #[must_use]
    pub fn pausing(mut self, at: &Gate) -> Self {
        if let Act::Answer { gate, .. } = &mut self.0 {
            *gate = Some(at.clone());
        }
        self
    }
}

/// Pauses a model in the middle of its answer.
#[derive(Clone)]
pub struct Gate {
    reached: Arc<Semaphore>,
    opened: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self { reached: closed(), opened: closed() }
    }
}

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until a model is at the gate.
    pub async fn reached(&self) {
        pass(&self.reached).await;
    }

    /// Stops at the gate until it is opened.
    pub async fn stand(&self) {
        self.reached.add_permits(1);
        pass(&self.opened).await;
    }

    /// Lets one model through.
    pub fn open(&self) {
        self.opened.add_permits(1);
    }
}

async fn pass(gate: &Semaphore) {
    gate.acquire().await.expect("nobody closes these semaphores").forget();
}

impl ScriptedModel {
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), state: Arc::default() }
    }

    /// Adds a step to the end of the script.
    pub fn will(&self, step: ScriptStep) -> &Self {
        self.state().script.push_back(step);
        self
    }

    /// Enables image support.
    pub fn enable_vision(&self) {
        self.state().sees = true;
    }

    /// Every prompt it was given, in order, including retries.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.state().prompts.clone()
    }

    /// The number of unused steps.
    pub fn left(&self) -> usize {
        self.state().script.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn next(&self) -> Option<Act> {
        self.state().script.pop_front().map(|step| step.0)
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn sees(&self) -> bool {
        self.state().sees
    }

    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        self.state().prompts.push(prompt.clone());
        let (reply, gate) = loop {
            match self.next() {
                None => return Err(ModelError::Rejected("(the script is over)".to_owned())),
                Some(Act::Fail(error)) => return Err(error),
                Some(Act::Answer { text, calls, gate }) => break (answer(text, calls), gate),
                Some(Act::Think(of)) => break (of(prompt)?, None),
                Some(Act::Wait(gate)) => gate.stand().await,
            }
        };
        let letters: Vec<char> = reply.text.chars().collect();
        let pieces: Vec<String> = letters.chunks(5).map(|piece| piece.iter().collect()).collect();
        for (place, piece) in pieces.iter().enumerate() {
            if let Some(gate) = gate.as_ref().filter(|_| place + 1 == pieces.len()) {
                gate.stand().await;
            }
            on_text(piece);
        }
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::prompt::Message;
    use serde_json::json;

    fn prompt(text: &str) -> Prompt {
        let messages = vec![Message::User { text: text.into() }];
        Prompt { system: String::new(), tools: vec![], messages, max_output_tokens: 1 }
    }

    #[tokio::test]
    async fn the_script_is_followed_and_the_prompts_are_kept() {
        let model = ScriptedModel::new("m");
        model
            .will(call("read_file", json!({ "path": "a" })).saying("Let me look."))
            .will(think(|p| Ok(answer(format!("{} messages", p.messages.len()), vec![]))));
        let first = model.reply(&prompt("one"), &|_| {}).await.expect("scripted");
        assert_eq!(
            (first.text.as_str(), first.calls[0].tool.as_str()),
            ("Let me look.", "read_file")
        );
        let second = model.reply(&prompt("two"), &|_| {}).await.expect("scripted");
        assert_eq!(second.text, "1 messages");
        let over = model.reply(&prompt("three"), &|_| {}).await;
        assert_eq!(over, Err(ModelError::Rejected("(the script is over)".into())));
        assert_eq!(model.prompts().len(), 3);
    }

    #[tokio::test]
    async fn a_gate_stops_the_model_until_it_is_opened() {
        let (model, gate) = (ScriptedModel::new("m"), Gate::new());
        model.will(wait(&gate)).will(say("Now."));
        let asked = prompt("go");
        let watch = async {
            gate.reached().await;
            assert_eq!(model.left(), 1);
            gate.open();
        };
        let (answer, ()) = tokio::join!(model.reply(&asked, &|_| {}), watch);
        assert_eq!(answer.expect("scripted").text, "Now.");
    }
}
