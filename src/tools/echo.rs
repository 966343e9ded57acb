//! `echo`: returns its message, to test tool calls.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{parse, schema},
};
use crate::agent::catalog::{Tier, ToolSpec};

/// `echo`
pub struct Echo;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The message to return.
    message: String,
}

#[async_trait]
impl Tool for Echo {
    fn spec(&self) -> ToolSpec {
        let about = "Returns its message.";
        ToolSpec {
            tier: Tier::Extension,
            ..ToolSpec::read_only("echo", about, schema::<Arguments>())
        }
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        let Arguments { message } = parse(arguments)?;
        Ok(Output::text(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{builtin, testing::ToolFixture};
    use serde_json::json;

    /// Proves IC-45, IC-05, IC-19.
    #[tokio::test]
    async fn the_message_comes_back() {
        let mut tools = builtin().into_iter();
        let echo = tools.find(|tool| tool.spec().name == "echo").expect("it is built in");
        let context = &ToolFixture::new().context;
        let output = echo.run(json!({ "message": "Hello" }), context).await.unwrap();
        assert_eq!(output, Output::text("Hello"));
        let missing = echo.run(json!({}), context).await.unwrap_err();
        assert!(matches!(&missing, ToolError::InvalidParameters(why) if why.contains("message")));
    }
}
