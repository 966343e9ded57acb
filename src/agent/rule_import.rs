//! Imports the rules of other programs, mapping their tool names to ours.

use anyhow::{Context as _, Result, bail, ensure};
use saphyr::{LoadableYamlNode as _, Yaml};

use super::{
    naming,
    policy::Action,
    rules::{RuleDocument, RuleEntry},
};

/// A tool of another program.
struct Alias {
    theirs: &'static str,
    /// A pattern for the tools of this program with the same function.
    ours: &'static str,
    /// Similar tools. Rules that ask or deny apply to them as well, rules that allow do not.
    near: &'static [&'static str],
}

const fn alias(theirs: &'static str, ours: &'static str) -> Alias {
    Alias { theirs, ours, near: &[] }
}

const ALIASES: &[Alias] = &[
    alias("DateTimeTool", "get_current_datetime"),
    alias("WebSearchTool", "web_search"),
    alias("ReadFileTool", "read_file"),
    alias("WriteFileTool", "write_file"),
    alias("EditFileTool", "apply_patch"),
    alias("ListFilesTool", "list_dir"),
    alias("ShellExecuteTool", "shell"),
    alias("FileTypeDetectorTool", "detect_file_type"),
    alias("DocumentExtractTool", "extract_document"),
    alias("WorkspaceMemoryTool", "memory_*"),
    Alias { theirs: "SkillFileTool", ours: "load_skill", near: &["skill_manage"] },
    alias("SkillScriptTool", "run_skill_script"),
    alias("SkillManageTool", "skill_manage"),
    Alias { theirs: "BrowserUseTool", ours: "*browser*", near: &["web_fetch", "http_request"] },
    Alias { theirs: "DelegateAgentTool", ours: "delegate", near: &["ask_coworker", "list_agents"] },
    alias("delegateToAgent", "delegate"),
    alias("listAvailableAgents", "list_agents"),
    alias("MateClawDocTool", "manual"),
    alias("ImageGenerateTool", "*image*"),
    alias("VideoGenerateTool", "*video*"),
    alias("MusicGenerateTool", "*music*"),
    alias("DocxRenderTool", "render_docx*"),
    alias("XlsxRenderTool", "render_xlsx*"),
    alias("PptxRenderTool", "render_pptx*"),
    alias("PdfRenderTool", "render_pdf*"),
    alias("renderDocx", "render_docx"),
    alias("renderDocxFromFile", "render_docx_from_file"),
    alias("renderPdf", "render_pdf"),
    alias("renderPdfFromFile", "render_pdf_from_file"),
    alias("renderPptx", "render_pptx"),
    alias("renderPptxFromFile", "render_pptx_from_file"),
    alias("renderXlsx", "render_xlsx"),
    alias("renderXlsxFromFile", "render_xlsx_from_file"),
    Alias {
        theirs: "CronJobTool",
        ours: "schedule",
        near: &["change_schedule", "list_schedules", "remind"],
    },
    alias("DatasourceTool", "{*datasource*,sample_table}"),
    alias("SqlQueryTool", "*sql*"),
    alias("SendFileTool", "send_file"),
    // Names of the same tools in other programs.
    alias("file_read", "read_file"),
    alias("file_write", "write_file"),
    alias("http", "http_request"),
    alias("time", "get_current_datetime"),
    alias("send_file", "send_file"),
    alias("enable_tool", "enable_tool"),
    alias("load_skill", "load_skill"),
];

/// The imported rules, and notes for the person who imports them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    pub document: RuleDocument,
    /// Settings that were not imported, and rules that match no current tool.
    pub notes: Vec<String>,
}

/// Parses MateClaw's `mateclaw.tool.guard`, complete or starting at any of its keys. Its default
/// policy becomes the last rule, which applies if no other matches. `tools` are the names of the
/// current tools. A rule for a tool that neither program has is an error, because it would match
/// nothing.
pub fn mateclaw(text: &str, tools: &[String]) -> Result<Imported> {
    let documents = Yaml::load_from_str(text).context("the document is not YAML")?;
    let mut node = documents.first().context("the document is empty")?;
    for key in ["mateclaw", "tool", "guard"] {
        node = node.as_mapping_get(key).unwrap_or(node);
    }
    let mapping = node.as_mapping().context("the guard is not a mapping")?;
    let mut imported = Imported::default();
    let mut default = None;
    for (key, value) in mapping {
        match key.as_str().unwrap_or_default() {
            "enabled" => ensure!(
                value.as_bool() == Some(true),
                "enabled: a disabled guard has no rules to import"
            ),
            "default-policy" => default = Some(action(value).context("default-policy")?),
            "approval-timeout" => imported.notes.push(
                "approval-timeout is not imported: set guard.approval_timeout in the configuration"
                    .to_owned(),
            ),
            "rules" => {
                let rules = value.as_sequence().context("rules is not a list")?;
                for (rule, number) in rules.iter().zip(1..) {
                    let mut entry =
                        entry(rule, number).with_context(|| format!("rule {number}"))?;
                    let found =
                        own_pattern(&entry, tools).with_context(|| format!("rule {number}"))?;
                    imported.notes.extend(found.note);
                    entry.tool = found.pattern;
                    imported.document.rules.push(entry);
                }
            }
            other => bail!("the key `{other}` is unknown"),
        }
    }
    if let Some(action) = default {
        let name = Some("mateclaw default".to_owned());
        let rule = RuleEntry { priority: i32::MIN, name, ..RuleEntry::of("*", action) };
        imported.document.rules.push(rule);
    }
    Ok(imported)
}

fn entry(rule: &Yaml<'_>, number: usize) -> Result<RuleEntry> {
    let mapping = rule.as_mapping().context("is not a mapping")?;
    let mut entry = RuleEntry::of("", Action::Ask);
    entry.name = Some(format!("mateclaw {number}"));
    let mut acts = false;
    for (key, value) in mapping {
        let key = key.as_str().unwrap_or_default();
        let text =
            || value.as_str().map(str::to_owned).with_context(|| format!("{key} is not a text"));
        match key {
            "name" => entry.name = Some(text()?),
            "tool" => entry.tool = text()?,
            "arg-pattern" => entry.arg_pattern = Some(text()?),
            "action" => {
                entry.action = action(value)?;
                acts = true;
            }
            other => bail!("the key `{other}` is unknown"),
        }
    }
    ensure!(!entry.tool.is_empty() && acts, "a rule needs a tool and an action");
    Ok(entry)
}

fn action(value: &Yaml<'_>) -> Result<Action> {
    match value.as_str().unwrap_or_default() {
        "allow" => Ok(Action::Allow),
        "require_approval" | "ask" => Ok(Action::Ask),
        "deny" => Ok(Action::Deny),
        other => bail!("`{other}` is not an action: use allow, require_approval or deny"),
    }
}

/// The tools of this program that correspond to one of theirs.
struct OwnPattern {
    pattern: String,
    note: Option<String>,
}

/// Maps the tool that a rule names. Of `DocxRenderTool.renderDocx`, only the last part counts.
fn own_pattern(entry: &RuleEntry, tools: &[String]) -> Result<OwnPattern> {
    let name = entry.tool.as_str();
    let find = |name: &str| ALIASES.iter().find(|alias| alias.theirs == name);
    let last = name.rsplit('.').next().unwrap_or(name);
    if let Some(alias) = find(last).or_else(|| find(name)).or_else(|| find(first_part(name))) {
        return Ok(alias.own_pattern(entry.action, tools));
    }
    if last.starts_with("wiki_") {
        // Their wiki is an MCP server here, whose name is a prefix of the tool's name.
        let pattern = format!("*{last}");
        return Ok(OwnPattern { note: unmatched(last, &pattern, tools), pattern });
    }
    let is_pattern = name.contains(['*', '?', '[', '{']);
    if is_pattern || tools.iter().any(|tool| tool == name) {
        let note = unmatched(name, name, tools).filter(|_| is_pattern);
        return Ok(OwnPattern { pattern: name.to_owned(), note });
    }
    let known = ALIASES.iter().map(|alias| alias.theirs);
    let near = naming::near(name, known.chain(tools.iter().map(String::as_str)));
    match near.as_slice() {
        [] => bail!("there is no tool `{name}`: the rule would match nothing"),
        near => bail!(
            "there is no tool `{name}`: the rule would match nothing. Similar names: {}",
            near.join(", ")
        ),
    }
}

fn first_part(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

impl Alias {
    fn own_pattern(&self, action: Action, tools: &[String]) -> OwnPattern {
        let pattern = if action == Action::Allow || self.near.is_empty() {
            self.ours.to_owned()
        } else {
            format!("{{{},{}}}", self.ours, self.near.join(","))
        };
        OwnPattern { note: unmatched(self.theirs, &pattern, tools), pattern }
    }
}

/// A note if a pattern matches no current tool. A server that is connected later may have one.
fn unmatched(theirs: &str, pattern: &str, tools: &[String]) -> Option<String> {
    let matcher = globset::Glob::new(pattern).ok()?.compile_matcher();
    let matches = tools.iter().any(|tool| matcher.is_match(tool));
    (!matches).then(|| format!("{theirs}: no current tool matches `{pattern}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of MateClaw's documentation.
    const SAMPLE: &str = r#"
mateclaw:
  tool:
    guard:
      enabled: true
      default-policy: require_approval
      rules:
        - tool: ShellExecuteTool
          arg-pattern: "^(ls|cat|grep|find)\\s"
          action: allow
        - tool: WriteFileTool
          action: require_approval
"#;

    /// The tool names of this program.
    fn tools() -> Vec<String> {
        let names = [
            "shell",
            "read_file",
            "write_file",
            "apply_patch",
            "list_dir",
            "send_file",
            "web_search",
            "web_fetch",
            "http_request",
            "detect_file_type",
            "extract_document",
            "memory_store",
            "load_skill",
            "enable_tool",
            "skill_manage",
            "run_skill_script",
            "delegate",
            "manual",
            "ask_coworker",
            "list_agents",
            "schedule",
            "change_schedule",
            "list_schedules",
            "remind",
            "get_current_datetime",
            "render_docx",
            "render_docx_from_file",
            "render_pdf",
            "render_pptx",
            "render_xlsx",
        ];
        names.map(str::to_owned).to_vec()
    }

    fn read(text: &str) -> Result<Imported> {
        mateclaw(text, &tools())
    }

    /// The example loads, with our tool names.
    /// Proves MC-42.
    #[test]
    fn mateclaws_example_loads() {
        let rules = read(SAMPLE).unwrap().document.rules;
        let loaded: Vec<_> =
            rules.iter().map(|r| (r.tool.as_str(), r.arg_pattern.as_deref(), r.action)).collect();
        assert_eq!(
            loaded,
            [
                ("shell", Some(r"^(ls|cat|grep|find)\s"), Action::Allow),
                ("write_file", None, Action::Ask),
                ("*", None, Action::Ask),
            ]
        );
        let one = "rules:\n  - { tool: DocxRenderTool.renderDocx, action: deny }";
        assert_eq!(read(one).unwrap().document.rules[0].tool, "render_docx");
        let one = "rules:\n  - { tool: ShellExecuteTool.execute, action: deny }";
        assert_eq!(read(one).unwrap().document.rules[0].tool, "shell");
    }

    /// The table of MateClaw's documentation.
    const THEIRS: [&str; 27] = [
        "DateTimeTool",
        "WebSearchTool",
        "ReadFileTool",
        "WriteFileTool",
        "EditFileTool",
        "ShellExecuteTool",
        "FileTypeDetectorTool",
        "DocumentExtractTool",
        "WorkspaceMemoryTool",
        "SkillFileTool",
        "SkillScriptTool",
        "SkillManageTool",
        "BrowserUseTool",
        "DelegateAgentTool",
        "MateClawDocTool",
        "ImageGenerateTool",
        "VideoGenerateTool",
        "DocxRenderTool",
        "XlsxRenderTool",
        "PptxRenderTool",
        "PdfRenderTool",
        "CronJobTool",
        "DatasourceTool",
        "SqlQueryTool",
        "send_file",
        "enable_tool",
        "load_skill",
    ];

    /// A rule for any of their tools applies to a tool here, or a note says that there is none.
    /// Proves MC-42.
    #[test]
    fn every_tool_of_theirs_has_a_name_here() {
        let absent = ["ImageGenerateTool", "VideoGenerateTool", "DatasourceTool", "SqlQueryTool"];
        for theirs in THEIRS {
            let text = format!("rules:\n  - {{ tool: {theirs}, action: deny }}");
            let imported = read(&text).unwrap();
            let pattern = &imported.document.rules[0].tool;
            let matcher = globset::Glob::new(pattern).unwrap().compile_matcher();
            let matches = tools().iter().any(|tool| matcher.is_match(tool));
            assert_eq!(matches, !absent.contains(&theirs), "{theirs}: {pattern}");
            assert_eq!(matches, imported.notes.is_empty(), "{theirs}: {:?}", imported.notes);
        }
        let server = ["notes_sql_query".to_owned(), "draw_image".to_owned()];
        for theirs in ["SqlQueryTool", "ImageGenerateTool"] {
            let text = format!("rules:\n  - {{ tool: {theirs}, action: deny }}");
            assert!(mateclaw(&text, &server).unwrap().notes.is_empty(), "a server has one");
        }
    }

    /// A rule that allows applies to exactly that tool; one that denies applies to similar tools as
    /// well.
    #[test]
    fn permissions_are_not_widened() {
        let about = |action: &str| {
            let text = format!("rules:\n  - {{ tool: BrowserUseTool, action: {action} }}");
            read(&text).unwrap().document.rules[0].tool.clone()
        };
        assert_eq!(about("allow"), "*browser*");
        assert_eq!(about("deny"), "{*browser*,web_fetch,http_request}");
    }

    /// A rule that would match nothing is an error that suggests similar names.
    /// Proves MC-42.
    #[test]
    fn a_name_that_nobody_knows_is_refused() {
        for (name, near) in [
            ("ShelExecuteTool", "ShellExecuteTool"),
            ("web_serch", "web_search"),
            ("WriteFilesTool", "WriteFileTool"),
            ("qqqq", "match nothing"),
        ] {
            let text = format!("rules:\n  - {{ tool: {name}, action: deny }}");
            let problem = format!("{:#}", read(&text).unwrap_err());
            assert!(problem.contains("rule 1") && problem.contains(near), "{problem}");
        }
        for name in ["shell", "render_*", "wiki_read_page"] {
            let text = format!("rules:\n  - {{ tool: {name}, action: deny }}");
            assert!(read(&text).is_ok(), "{name}");
        }
    }

    /// A setting that is not imported is reported.
    /// Proves MC-43.
    #[test]
    fn settings_that_are_not_imported_are_reported() {
        let imported = read("approval-timeout: 60\nrules: []").unwrap();
        assert_eq!(imported.notes.len(), 1);
        assert!(imported.notes[0].contains("guard.approval_timeout"), "{:?}", imported.notes);
        let notes = read("rules:\n  - { tool: wiki_read_page, action: deny }").unwrap().notes;
        assert_eq!(notes, ["wiki_read_page: no current tool matches `*wiki_read_page`"]);
    }

    #[test]
    fn invalid_rule_documents_are_rejected() {
        for text in [
            "rules: 1",
            "rules:\n  - tool: shell",
            "rules:\n  - { tool: shell, action: maybe }",
            "rules:\n  - { tool: shell, action: deny, when: never }",
            "enabled: false",
            "other: 1",
            ": : :",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
