//! Families of built-in tools. A family has one line in the tool listing, and one name that enables
//! all of its tools.

use super::spec::ToolSpec;

pub struct ToolFamily {
    /// The name that `enable_tool` accepts.
    pub name: &'static str,
    /// The line in the listing, which is in every prompt.
    pub about: &'static str,
    has: fn(&str) -> bool,
}

static FAMILIES: [ToolFamily; 5] = [
    ToolFamily {
        name: "document_editing",
        about: "edit Office files and PDFs",
        has: edits_documents,
    },
    ToolFamily { name: "jobs", about: "background work", has: is_of_jobs },
    ToolFamily {
        name: "render_files",
        about: "like the render tools, from files of the workspace",
        has: renders_files,
    },
    ToolFamily { name: "software", about: "build small programs", has: is_of_builder },
    ToolFamily { name: "wiki", about: "shared pages", has: is_of_wiki },
];

fn edits_documents(tool: &str) -> bool {
    let editing = ["edit_workbook", "edit_document", "edit_pdf"];
    editing.contains(&tool) || tool == "fill_template" || tool == "convert_document"
}

fn is_of_jobs(tool: &str) -> bool {
    ["create_job", "list_jobs", "job_status", "cancel_job"].contains(&tool)
}

fn renders_files(tool: &str) -> bool {
    tool.starts_with("render_") && tool.ends_with("_from_file")
}

fn is_of_builder(tool: &str) -> bool {
    ["build_software", "install_software", "list_builds"].contains(&tool)
}

fn is_of_wiki(tool: &str) -> bool {
    tool.starts_with("wiki_")
}

/// Whether the tool has no line of its own in the listing.
pub fn is_in_family(spec: &ToolSpec) -> bool {
    FAMILIES.iter().any(|family| (family.has)(&spec.name))
}

/// The families of these tools.
pub fn families_of(specs: &[&ToolSpec]) -> Vec<&'static ToolFamily> {
    let has_any = |family: &&'static ToolFamily| specs.iter().any(|spec| (family.has)(&spec.name));
    FAMILIES.iter().filter(has_any).collect()
}

/// The names of those tools that belong to the family with this name.
pub fn members<'s>(family: &str, specs: impl Iterator<Item = &'s ToolSpec>) -> Vec<String> {
    let Some(family) = FAMILIES.iter().find(|known| known.name == family) else {
        return Vec::new();
    };
    let own = specs.filter(|spec| (family.has)(&spec.name));
    own.map(|spec| spec.name.clone()).collect()
}
