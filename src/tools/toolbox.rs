//! stub
use super::{Context, Tool};
use crate::{
    agent::guard::Cleared,
    journal::event::{Call, ToolResult},
};
pub struct Toolbox {
    pub tools: Vec<std::sync::Arc<dyn Tool>>,
}
impl Toolbox {
    pub async fn run(&self, _c: &Cleared, _x: &Context) -> ToolResult {
        unreachable!()
    }
    pub async fn preview(&self, _c: &Call, _x: &Context) -> Option<String> {
        None
    }
}
