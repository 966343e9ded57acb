//! Rules of other programs, in our words.

use anyhow::{Context as _, Result, bail, ensure};
use saphyr::{LoadableYamlNode as _, Yaml};

use super::{
    policy::Action,
    rules::{RuleDocument, RuleEntry},
};

/// Their names for tools, and ours.
const ALIASES: &[(&str, &str)] = &[
    ("ShellExecuteTool", "shell"),
    ("ReadFileTool", "read_file"),
    ("WriteFileTool", "write_file"),
    ("EditFileTool", "apply_patch"),
    ("ListFilesTool", "list_dir"),
    ("SendFileTool", "send_file"),
    ("DateTimeTool", "get_current_datetime"),
    ("DocxRenderTool", "render_docx*"),
    ("PdfRenderTool", "render_pdf*"),
    ("PptxRenderTool", "render_pptx*"),
    ("XlsxRenderTool", "render_xlsx*"),
    ("renderDocx", "render_docx"),
    ("renderDocxFromFile", "render_docx_from_file"),
    ("renderPdf", "render_pdf"),
    ("renderPdfFromFile", "render_pdf_from_file"),
    ("renderPptx", "render_pptx"),
    ("renderPptxFromFile", "render_pptx_from_file"),
    ("renderXlsx", "render_xlsx"),
    ("renderXlsxFromFile", "render_xlsx_from_file"),
];

/// MateClaw's `mateclaw.tool.guard`, whole or from any of these keys on. Its default policy becomes
/// the last rule, which speaks where no other does.
pub fn mateclaw(text: &str) -> Result<RuleDocument> {
    let documents = Yaml::load_from_str(text).context("this is no YAML")?;
    let mut node = documents.first().context("the document is empty")?;
    for key in ["mateclaw", "tool", "guard"] {
        node = node.as_mapping_get(key).unwrap_or(node);
    }
    let mapping = node.as_mapping().context("the guard is no mapping")?;
    let mut document = RuleDocument::default();
    let mut default = None;
    for (key, value) in mapping {
        match key.as_str().unwrap_or_default() {
            "enabled" => ensure!(
                value.as_bool() == Some(true),
                "enabled: a guard that is turned off has no rules to take over"
            ),
            "default-policy" => default = Some(action(value).context("default-policy")?),
            // The time that a question stands is a key of the configuration.
            "approval-timeout" => {}
            "rules" => {
                let rules = value.as_sequence().context("rules is no list")?;
                for (rule, number) in rules.iter().zip(1..) {
                    let entry = entry(rule, number).with_context(|| format!("rule {number}"))?;
                    document.rules.push(entry);
                }
            }
            other => bail!("the key `{other}` is not known"),
        }
    }
    if let Some(action) = default {
        let name = Some("mateclaw default".to_owned());
        document.rules.push(RuleEntry { priority: i32::MIN, name, ..RuleEntry::of("*", action) });
    }
    Ok(document)
}

fn entry(rule: &Yaml<'_>, number: usize) -> Result<RuleEntry> {
    let mapping = rule.as_mapping().context("is no mapping")?;
    let mut entry = RuleEntry::of("", Action::Ask);
    entry.name = Some(format!("mateclaw {number}"));
    let mut acts = false;
    for (key, value) in mapping {
        let key = key.as_str().unwrap_or_default();
        let text =
            || value.as_str().map(str::to_owned).with_context(|| format!("{key} is no text"));
        match key {
            "name" => entry.name = Some(text()?),
            "tool" => entry.tool = ours(&text()?),
            "arg-pattern" => entry.arg_pattern = Some(text()?),
            "action" => {
                entry.action = action(value)?;
                acts = true;
            }
            other => bail!("the key `{other}` is not known"),
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
        other => bail!("`{other}` is no action: allow, require_approval or deny"),
    }
}

/// `DocxRenderTool.renderDocx` is its last part.
fn ours(name: &str) -> String {
    let known = |name: &str| ALIASES.iter().find(|(theirs, _)| *theirs == name).map(|(_, it)| *it);
    let last = name.rsplit('.').next().unwrap_or(name);
    known(name).or_else(|| known(last)).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of MateClaw's document.
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

    /// MC-42: the sample loads, in our tools' names.
    #[test]
    fn mateclaws_example_loads() {
        let rules = mateclaw(SAMPLE).unwrap().rules;
        let told: Vec<_> =
            rules.iter().map(|r| (r.tool.as_str(), r.arg_pattern.as_deref(), r.action)).collect();
        assert_eq!(
            told,
            [
                ("shell", Some(r"^(ls|cat|grep|find)\s"), Action::Allow),
                ("write_file", None, Action::Ask),
                ("*", None, Action::Ask),
            ]
        );
        let one = "rules:\n  - { tool: DocxRenderTool.renderDocx, action: deny }";
        assert_eq!(mateclaw(one).unwrap().rules[0].tool, "render_docx");
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "rules: 1",
            "rules:\n  - tool: x",
            "rules:\n  - { tool: x, action: maybe }",
            "rules:\n  - { tool: x, action: deny, when: never }",
            "enabled: false",
            "other: 1",
            ": : :",
        ] {
            assert!(mateclaw(text).is_err(), "{text}");
        }
    }
}
