//! The tools and skills of an agent, as data.

use jsonschema::Validator;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{Arc, OnceLock},
};

pub use super::spec::{
    ApprovalMode, CallTerms, Confinement, Domain, EffectClass, ModuleDigest, Rate, Subject, Tier,
    ToolSchema, ToolSource, ToolSpec, Variable,
};
use super::{
    argument_check,
    disclosure::{self, Disclosure},
    naming,
    search::Index,
    tool_family, tool_listing,
};
use crate::texts;

/// Validated tools in order, and skills.
#[derive(Clone)]
pub struct Catalog {
    tools: Vec<CatalogTool>,
    /// Unavailable tools by name, with the reasons.
    unavailable: BTreeMap<String, String>,
    skills: Vec<Skill>,
    pub(super) coworkers: Vec<Coworker>,
    /// Built when it is needed first, because only a search needs it.
    index: OnceLock<Index>,
    /// What prompts say about each tool, by name, built for the first prompt.
    schemas: OnceLock<BTreeMap<String, Arc<ToolSchema>>>,
    enable_tool: ToolSpec,
    find_tool: ToolSpec,
    load_skill: ToolSpec,
    /// Whether the agent has `load_skill`. Otherwise the prompt contains the skills.
    loads_skills: bool,
    mode: Disclosure,
}

#[derive(Clone)]
struct CatalogTool {
    spec: ToolSpec,
    arguments: Validator,
}

/// The main file of a skill.
pub const MAIN_FILE: &str = "SKILL.md";

/// A skill. The model loads it when needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// File contents by path within the skill. `SKILL.md` is the main file.
    pub files: BTreeMap<String, String>,
    /// Whether it is untrusted content, so that loading it taints the conversation.
    pub untrusted: bool,
}

/// An agent that others can delegate work to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coworker {
    pub id: String,
    /// What it is good at.
    pub description: String,
}

/// What the tool name of a call refers to.
#[derive(Debug, PartialEq)]
pub enum ResolvedTool<'a> {
    Tool(&'a ToolSpec),
    Enable,
    Find,
    LoadSkill,
    Unavailable {
        why: &'a str,
    },
    /// At most three similar names.
    Nothing {
        near: Vec<String>,
    },
}

/// Why a tool cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CatalogError {
    #[error("two tools have the name `{0}`")]
    Twice(String),
    #[error("the parameters of `{tool}` are not a valid JSON Schema: {problem}")]
    Schema { tool: String, problem: String },
}

impl Catalog {
    pub fn new(specs: Vec<ToolSpec>, skills: Vec<Skill>) -> Result<Self, CatalogError> {
        let mut catalog = Self {
            tools: Vec::new(),
            unavailable: BTreeMap::new(),
            skills,
            coworkers: Vec::new(),
            index: OnceLock::new(),
            schemas: OnceLock::new(),
            enable_tool: disclosure::enable_tool(),
            find_tool: disclosure::find_tool(),
            load_skill: disclosure::load_skill(),
            loads_skills: true,
            mode: Disclosure::default(),
        };
        catalog.list(specs)?;
        Ok(catalog)
    }

    fn list(&mut self, specs: impl IntoIterator<Item = ToolSpec>) -> Result<(), CatalogError> {
        let mut taken: BTreeSet<String> = self.names().map(str::to_owned).collect();
        taken.extend(disclosure::TOOLS.map(str::to_owned));
        for spec in specs {
            if !taken.insert(spec.name.clone()) {
                return Err(CatalogError::Twice(spec.name));
            }
            if let Some(why) = spec.unavailable {
                self.unavailable.insert(spec.name, why);
                continue;
            }
            let arguments =
                jsonschema::options().offline().build(&spec.parameters).map_err(|problem| {
                    CatalogError::Schema { tool: spec.name.clone(), problem: problem.to_string() }
                })?;
            self.tools.push(CatalogTool { spec, arguments });
        }
        self.forget_derived();
        Ok(())
    }

    /// Sets the disclosure mode.
    pub fn disclosing(mut self, mode: Disclosure) -> Self {
        if mode.is_at_once(self.extensions().count()) {
            for listed in &mut self.tools {
                listed.spec.tier = Tier::Core;
            }
        }
        self.forget_derived();
        self.mode = mode;
        self
    }

    /// What is computed from the tools has to be computed again.
    fn forget_derived(&mut self) {
        self.index = OnceLock::new();
        self.schemas = OnceLock::new();
    }

    /// Sets whether skills are loaded by tool.
    pub fn loading_skills(mut self, by_tool: bool) -> Self {
        self.loads_skills = by_tool;
        self
    }

    /// Adds agents to delegate to, and the tools for that.
    pub fn with_coworkers(mut self, coworkers: Vec<Coworker>) -> Self {
        self.coworkers = coworkers;
        self
    }

    /// Applies `change` to all tools, and removes those for which it returns `false`.
    #[must_use]
    pub fn arranged(&self, mut change: impl FnMut(&mut ToolSpec) -> bool) -> Self {
        let mut arranged = self.clone();
        arranged.tools.retain_mut(|listed| change(&mut listed.spec));
        arranged.disclosing(self.mode)
    }

    pub fn find(&self, name: &str) -> ResolvedTool<'_> {
        match name {
            disclosure::ENABLE_TOOL => return ResolvedTool::Enable,
            disclosure::FIND_TOOL => return ResolvedTool::Find,
            disclosure::LOAD_SKILL if self.loads_skills => return ResolvedTool::LoadSkill,
            _ => {}
        }
        if let Some(listed) = self.tools.iter().find(|t| t.spec.name == name) {
            return ResolvedTool::Tool(&listed.spec);
        }
        match self.unavailable.get(name) {
            Some(why) => ResolvedTool::Unavailable { why },
            None => ResolvedTool::Nothing { near: naming::near(name, self.names()) },
        }
    }

    /// The canonical name of the tool that `name` refers to. An unknown name is returned unchanged.
    pub fn meant(&self, name: &str) -> String {
        let names = disclosure::TOOLS.into_iter().chain(self.names());
        let names = names.chain(self.unavailable.keys().map(String::as_str));
        naming::meant(name, names).unwrap_or(name).to_owned()
    }

    /// The names of all tools.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.tools.iter().map(|t| t.spec.name.as_str())
    }

    /// The tools whose schemas are in the prompt: core tools, `enable_tool` with the tool listing,
    /// then the enabled tools in that order. Enabling a tool or changing the listing therefore
    /// keeps the beginning of the prompt.
    pub fn disclosed<'a>(&'a self, enabled: &'a [String]) -> Vec<&'a ToolSpec> {
        let mut specs = Vec::new();
        if self.loads_skills && !self.skills.is_empty() {
            specs.push(&self.load_skill);
        }
        specs.extend(self.tools.iter().map(|t| &t.spec).filter(|s| s.tier == Tier::Core));
        if disclosure::is_large(self.extensions().count()) {
            specs.push(&self.find_tool);
        }
        if self.extensions().next().is_some() {
            specs.push(&self.enable_tool);
        }
        specs.extend(
            enabled.iter().filter_map(|name| self.extensions().find(|spec| spec.name == *name)),
        );
        specs
    }

    /// The schemas of these tools as they are sent to models, shared by all prompts in flight.
    pub fn schemas(&self, enabled: &[String]) -> Vec<Arc<ToolSchema>> {
        let all = self.schemas.get_or_init(|| {
            let tools = self.tools.iter().map(|listed| &listed.spec);
            let every = tools.chain([&self.enable_tool, &self.find_tool, &self.load_skill]);
            every.map(|spec| (spec.name.clone(), Arc::new(self.schema(spec)))).collect()
        });
        self.disclosed(enabled).iter().filter_map(|spec| all.get(&spec.name).cloned()).collect()
    }

    fn schema(&self, spec: &ToolSpec) -> ToolSchema {
        let mut schema = ToolSchema::of(spec);
        if spec.name == disclosure::ENABLE_TOOL {
            let extensions: Vec<_> = self.extensions().collect();
            schema.parameters["properties"]["names"]["description"] =
                tool_listing::directory(&extensions).into();
        }
        schema
    }

    /// Whether an MCP server with this name has listed tools.
    pub fn has_tools_of(&self, server: &str) -> bool {
        self.tools.iter().any(|listed| match &listed.spec.source {
            ToolSource::Mcp { server: own, .. } => own == server,
            ToolSource::Builtin | ToolSource::Wasm { .. } => false,
        })
    }

    /// The tools whose schemas are not in every prompt.
    pub fn extensions(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|t| &t.spec).filter(|s| s.tier == Tier::Extension)
    }

    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    pub fn loads_skills(&self) -> bool {
        self.loads_skills
    }

    /// Validates the arguments against the tool's schema. The error names the path.
    pub fn check(&self, spec: &ToolSpec, arguments: &Value) -> Result<(), String> {
        if !arguments.is_object() {
            return Err("Arguments must be a JSON object or string".into());
        }
        let Some(listed) = self.tools.iter().find(|t| t.spec.name == spec.name) else {
            return Ok(());
        };
        argument_check::fits(&listed.arguments, arguments)
    }

    /// The names that an `enable_tool` call requests. Fails unless all of them can be enabled.
    pub fn enabling(&self, arguments: &Value) -> Result<Vec<String>, String> {
        let wanted: Vec<_> =
            disclosure::names_in(arguments).iter().flat_map(|name| self.wanted(name)).collect();
        if wanted.is_empty() {
            return Err("Invalid parameters: /names must hold at least one tool name".into());
        }
        for name in &wanted {
            match self.find(name) {
                ResolvedTool::Nothing { near } => return Err(texts::no_such_tool(name, &near)),
                ResolvedTool::Unavailable { why } => {
                    return Err(texts::tool_unavailable(name, why));
                }
                _ => {}
            }
        }
        Ok(wanted.into_iter().filter(|n| self.extensions().any(|s| s.name == *n)).collect())
    }

    /// The tool with this name, or all tools of the family with this name.
    fn wanted(&self, name: &str) -> Vec<String> {
        let meant = self.meant(name);
        let is_tool = !matches!(self.find(&meant), ResolvedTool::Nothing { .. });
        let own = self.extensions().filter(|spec| spec.source == ToolSource::Builtin);
        let members = tool_family::members(name, own);
        if is_tool || members.is_empty() { vec![meant] } else { members }
    }

    /// The tools that a `find_tool` call finds, best match first.
    pub fn finding(&self, arguments: &Value) -> Result<Vec<&ToolSpec>, String> {
        let query = disclosure::query_in(arguments);
        if query.is_empty() {
            return Err("Invalid parameters: /query must describe what the tool should do".into());
        }
        let extensions: Vec<_> = self.extensions().collect();
        let found = self
            .index
            .get_or_init(|| Index::of(self.extensions()))
            .find(&query)
            .into_iter()
            .take(disclosure::FOUND);
        Ok(found.map(|place| extensions[place]).collect())
    }

    /// The skill, and the file content that a `load_skill` call requests.
    pub fn loading(&self, arguments: &Value) -> Result<(&Skill, String), String> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str);
        let name = text("name").or_else(|| text("skillName")).unwrap_or_default();
        let file = text("file").or_else(|| text("filePath")).unwrap_or(MAIN_FILE);
        let known = || self.skills.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
        let skill =
            self.skills.iter().find(|s| s.name == name).ok_or_else(|| {
                format!("There is no skill `{name}`. Available skills: {}.", known())
            })?;
        let files = |but: &str| {
            let others = skill.files.keys().filter(|path| *path != but);
            others.map(String::as_str).collect::<Vec<_>>().join(", ")
        };
        let content = skill.files.get(file).ok_or_else(|| {
            format!("The skill `{name}` has no file `{file}`. Its files: {}.", files(""))
        })?;
        let from = arguments.get("line").and_then(Value::as_u64).unwrap_or(1).max(1) as usize;
        let (part, next) = lines_from(content, from);
        let line = if from > 1 { format!(" line=\"{from}\"") } else { String::new() };
        let mut text = format!("<skill name=\"{name}\" file=\"{file}\"{line}>\n{part}\n</skill>");
        if let Some(next) = next {
            let _ = write!(text, "\nMore follows: call again with `line` {next}.");
        }
        if file == MAIN_FILE && skill.files.len() > 1 {
            text.push_str("\nIts other files: ");
            text.push_str(&files(MAIN_FILE));
        }
        Ok((skill, text))
    }
}

/// The maximum number of characters of a skill file that one call loads.
const LOADED_CHARS: usize = 16_000;

/// The whole lines from line `from` on that fit into one load, and the number of the next line.
fn lines_from(content: &str, from: usize) -> (String, Option<usize>) {
    let (mut text, mut left) = (String::new(), LOADED_CHARS);
    for (number, line) in (1..).zip(content.split_inclusive('\n')).skip(from - 1) {
        match left.checked_sub(line.chars().count()) {
            Some(rest) => left = rest,
            None if text.is_empty() => {
                text.extend(line.chars().take(LOADED_CHARS));
                text.push_str(" [… the rest of this line is left out]");
                return (text, Some(number + 1));
            }
            None => return (text, Some(number)),
        }
        text.push_str(line);
    }
    (text, None)
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|t| &t.spec.name)).finish()
    }
}
