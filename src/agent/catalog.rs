//! What the agent can do: its tools and skills as data.

use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

use crate::texts;

/// What a tool tells about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// `snake_case`, at most 64 characters, unique.
    pub name: String,
    /// For the model; its first line stands in the directory of extension tools.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments, an object.
    pub parameters: Value,
    pub effect: EffectClass,
    pub tier: Tier,
    pub source: Source,
    /// When a person is asked, before any rule has spoken.
    pub approval: Approval,
    /// The argument that says what is acted upon; guard rules match on it.
    pub subject: Option<Subject>,
    pub timeout: Duration,
    pub rate: Rate,
    /// How often it may run in one conversation.
    pub max_usage_count: Option<u32>,
    /// Its results are other people's words: they taint the session.
    pub untrusted: bool,
    /// It tells somebody outside something, though it changes nothing: it fetches an address.
    pub outward: bool,
}

/// What a second run would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing.
    ReadOnly,
    /// Changes something; twice is the same as once.
    Idempotent,
    /// Must not run twice.
    AtMostOnce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Its schema is in every prompt.
    Core,
    /// One line in the directory until `enable_tool`.
    Extension,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Builtin,
    Mcp { server: String, original_name: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    Never,
    /// Asked, unless a rule or an earlier decision allows it.
    UnlessAllowed,
    /// Asked every time.
    Always,
}

/// The argument that a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A path in the workspace: normalised before a rule sees it.
    Path(&'static str),
    /// A shell command: parsed, and every program that it starts judged.
    Command(&'static str),
    /// Any other text.
    Text(&'static str),
}

/// Calls per person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_minute: u32,
    pub per_hour: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self { per_minute: 60, per_hour: 1000 }
    }
}

impl ToolSpec {
    /// A core tool that changes nothing, with the usual limits; the rest is set by field.
    pub fn read_only(name: &str, description: &str, parameters: Value) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
            effect: EffectClass::ReadOnly,
            tier: Tier::Core,
            source: Source::Builtin,
            approval: Approval::Never,
            subject: None,
            timeout: Duration::from_secs(30),
            rate: Rate::default(),
            max_usage_count: None,
            untrusted: false,
            outward: false,
        }
    }
}

/// Everything there is to use: tools, checked and in their order, and skills.
pub struct Catalog {
    tools: Vec<Listed>,
    skills: Vec<Skill>,
    enable_tool: ToolSpec,
    load_skill: ToolSpec,
}

struct Listed {
    spec: ToolSpec,
    arguments: Validator,
}

/// Know-how, loaded by the model when it needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// By path within the skill; `SKILL.md` is the main one.
    pub files: BTreeMap<String, String>,
}

/// What a call's tool name stands for.
#[derive(Debug, PartialEq)]
pub enum Found<'a> {
    Tool(&'a ToolSpec),
    Enable,
    LoadSkill,
    /// At most three names that are close.
    Nothing {
        near: Vec<String>,
    },
}

/// Why a tool cannot be listed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CatalogError {
    #[error("two tools are called `{0}`")]
    Twice(String),
    #[error("the parameters of `{tool}` are no JSON Schema: {problem}")]
    Schema { tool: String, problem: String },
}

const ENABLE_TOOL: &str = "enable_tool";
const LOAD_SKILL: &str = "load_skill";

impl Catalog {
    pub fn new(specs: Vec<ToolSpec>, skills: Vec<Skill>) -> Result<Self, CatalogError> {
        let mut tools: Vec<Listed> = Vec::new();
        for spec in specs {
            let taken = [ENABLE_TOOL, LOAD_SKILL].contains(&spec.name.as_str());
            if taken || tools.iter().any(|t| t.spec.name == spec.name) {
                return Err(CatalogError::Twice(spec.name));
            }
            let arguments =
                jsonschema::options().offline().build(&spec.parameters).map_err(|problem| {
                    CatalogError::Schema { tool: spec.name.clone(), problem: problem.to_string() }
                })?;
            tools.push(Listed { spec, arguments });
        }
        Ok(Self { tools, skills, enable_tool: enable_tool(), load_skill: load_skill() })
    }

    pub fn find(&self, name: &str) -> Found<'_> {
        if name == ENABLE_TOOL {
            return Found::Enable;
        }
        if name == LOAD_SKILL {
            return Found::LoadSkill;
        }
        if let Some(listed) = self.tools.iter().find(|t| t.spec.name == name) {
            return Found::Tool(&listed.spec);
        }
        let names = self.tools.iter().map(|t| t.spec.name.as_str());
        Found::Nothing { near: near(name, names) }
    }

    /// What the prompt carries as schemas: the core tools, then what was enabled, in that order.
    pub fn disclosed<'a>(&'a self, enabled: &'a [String]) -> Vec<&'a ToolSpec> {
        let mut specs = Vec::new();
        if self.extensions().next().is_some() {
            specs.push(&self.enable_tool);
        }
        if !self.skills.is_empty() {
            specs.push(&self.load_skill);
        }
        specs.extend(self.tools.iter().map(|t| &t.spec).filter(|s| s.tier == Tier::Core));
        specs.extend(
            enabled.iter().filter_map(|name| self.extensions().find(|spec| spec.name == *name)),
        );
        specs
    }

    /// The tools that stand in the directory, one line each.
    pub fn extensions(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|t| &t.spec).filter(|s| s.tier == Tier::Extension)
    }

    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// Whether the arguments fit the tool's schema; the error names the path.
    pub fn check(&self, spec: &ToolSpec, arguments: &Value) -> Result<(), String> {
        if !arguments.is_object() {
            return Err("Arguments must be a JSON object; what came could not be parsed".into());
        }
        let Some(listed) = self.tools.iter().find(|t| t.spec.name == spec.name) else {
            return Ok(());
        };
        fits(&listed.arguments, arguments)
    }

    /// The names that an `enable_tool` call asks for: all of them can be enabled, or none is.
    pub fn enabling(&self, arguments: &Value) -> Result<Vec<String>, String> {
        let wanted = names_in(arguments);
        if wanted.is_empty() {
            return Err("Invalid parameters: /names must hold at least one tool name".into());
        }
        for name in &wanted {
            if let Found::Nothing { near } = self.find(name) {
                return Err(texts::no_such_tool(name, &near));
            }
        }
        Ok(wanted.into_iter().filter(|n| self.extensions().any(|s| s.name == *n)).collect())
    }

    /// What a `load_skill` call asks for.
    pub fn skill_text(&self, arguments: &Value) -> Result<String, String> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str);
        let name = text("name").or_else(|| text("skillName")).unwrap_or_default();
        let file = text("file").or_else(|| text("filePath")).unwrap_or("SKILL.md");
        let known = || self.skills.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
        let skill = self
            .skills
            .iter()
            .find(|s| s.name == name)
            .ok_or_else(|| format!("There is no skill `{name}`. There are: {}.", known()))?;
        let content = skill.files.get(file).ok_or_else(|| {
            let files = skill.files.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("The skill `{name}` has no file `{file}`. It has: {files}.")
        })?;
        Ok(format!("<skill name=\"{name}\" file=\"{file}\">\n{content}\n</skill>"))
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|t| &t.spec.name)).finish()
    }
}

/// Whether the arguments fit the schema. What is wrong, and where: `/rows/0: Missing 'name'
/// parameter`.
pub fn fits(schema: &Validator, arguments: &Value) -> Result<(), String> {
    let faults: Vec<_> = schema.iter_errors(arguments).take(5).map(|e| fault(&e)).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

fn fault(error: &ValidationError<'_>) -> String {
    let what = match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("Missing '{}' parameter", property.as_str().unwrap_or_default())
        }
        // Not endless, as it may quote what was sent.
        _ => error.to_string().chars().take(300).collect(),
    };
    match error.instance_path().as_str() {
        "" => what,
        path => format!("{path}: {what}"),
    }
}

/// At most three names that may have been meant.
pub fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<_> = names
        .map(|name| (strsim::jaro_winkler(&wanted, &name.to_lowercase()), name))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// `names: […]`, and the spellings of other programs: `toolName`, `name`.
fn names_in(arguments: &Value) -> Vec<String> {
    let one = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
    match arguments.get("names") {
        Some(Value::Array(names)) => {
            names.iter().filter_map(|n| n.as_str().map(str::to_owned)).collect()
        }
        Some(Value::String(name)) => vec![name.clone()],
        _ => one("toolName").or_else(|| one("name")).into_iter().collect(),
    }
}

fn enable_tool() -> ToolSpec {
    ToolSpec::read_only(
        ENABLE_TOOL,
        "Makes tools of the directory callable, from your next step on and for the rest of this \
         conversation.",
        json!({
            "type": "object",
            "properties": {
                "names": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "Names from the directory in your instructions"
                }
            },
            "required": ["names"]
        }),
    )
}

fn load_skill() -> ToolSpec {
    ToolSpec::read_only(
        LOAD_SKILL,
        "Loads know-how from the list of skills in your instructions. Load the skill before you \
         begin a task that it describes.",
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "file": { "type": "string", "description": "A file that the skill mentions; SKILL.md if left out" }
            },
            "required": ["name"]
        }),
    )
}
