//! Where documents are drawn: threads of their own, few at a time, whose breakdown breaks nothing.

use renderers::{Document, Format, RenderError, Rendered};
use std::sync::Arc;
use tokio::sync::{Semaphore, oneshot};

use crate::tools::ToolError;

/// A drawing that has run out of time cannot be ended, only outwaited. So it keeps its turn, and
/// there are never more than these.
const AT_ONCE: usize = 2;

/// Deeply nested text takes deep recursion; an overflow would end the whole program.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Reads and draws.
pub struct Press {
    turns: Arc<Semaphore>,
    read: fn(&str) -> Result<Document, RenderError>,
    draw: Draw,
}

type Draw = Arc<dyn Fn(&Document, Format) -> Result<Rendered, RenderError> + Send + Sync>;

impl Press {
    pub fn new(
        read: fn(&str) -> Result<Document, RenderError>,
        draw: impl Fn(&Document, Format) -> Result<Rendered, RenderError> + Send + Sync + 'static,
    ) -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), read, draw: Arc::new(draw) }
    }

    pub async fn read(&self, markdown: String) -> Result<Document, ToolError> {
        let read = self.read;
        self.apart(move || read(&markdown)).await
    }

    pub async fn draw(&self, document: Document, format: Format) -> Result<Rendered, ToolError> {
        let draw = self.draw.clone();
        self.apart(move || draw(&document, format)).await
    }

    /// Does `work` on a thread of its own, when it is its turn.
    pub async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, RenderError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let turn = self.turns.clone().acquire_owned().await;
        let turn = turn.expect("the semaphore is never closed");
        let (done, outcome) = oneshot::channel();
        std::thread::Builder::new()
            .name("document".into())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let _turn = turn;
                // Nobody waits any more when the time was over.
                let _ = done.send(work());
            })
            .map_err(|error| {
                ToolError::ExecutionFailed(format!("No thread to draw in: {error}"))
            })?;
        match outcome.await {
            Ok(result) => result.map_err(|error| ToolError::ExecutionFailed(error.to_string())),
            // A panic dropped the sender.
            Err(_) => Err(ToolError::ExecutionFailed(
                "The document could not be drawn: this text is more than the renderer can take. \
                 Simplify it"
                    .into(),
            )),
        }
    }
}
