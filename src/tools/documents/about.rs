//! The descriptions of the document tools, with the directives that most documents need. The page
//! `documents` of the manual has the others.

use renderers::Format;

/// For all formats with pages or slides.
const CHARTS: &str = "Charts: ```chart with `type: bar|line|combo|area|pie|donut|scatter`, \
    `title:`, an empty line, CSV with a header. More: `manual`, page `documents`.";

const COLUMNS: &str = "Columns: lines `::: columns`, `::: column`, `:::`.";

/// The description of a format's `render_…` tool.
pub fn about(format: Format) -> String {
    match format {
        Format::Pdf => format!(
            "Makes a PDF from Markdown and sends it to the chat. For reports, letters and \
             documents to print. {FRONT} {COLUMNS} {CHARTS} \
             `<!-- pagebreak -->` begins a page; `> [!NOTE]` is a box; $…$ is LaTeX; \
             ![caption](path) is a picture of the workspace."
        ),
        Format::Docx => format!(
            "Makes a Word document from Markdown and sends it to the chat. For documents that \
             people go on editing. {FRONT} {COLUMNS} \
             {CHARTS} `<!-- pagebreak -->` begins a page; ![caption](path) is a picture of the \
             workspace."
        ),
        Format::Xlsx => format!(
            "Makes an Excel workbook and sends it to the chat, from \
             Markdown (each `## Name` begins a sheet, tables become native tables), from `rows`, \
             or from `csv`. A cell such as `=SUM(B2:B9)` is a formula, counted \
             from its table's header as row 1; `='Other sheet'!B2` looks at the first table there. \
             Before a table, `<!-- total: sum -->` (average, min, max, count) adds totals, and \
             `<!-- format: Column bars -->` (or `scale`, or `Column < 0 red`) colours cells. {CHARTS}"
        ),
        Format::Pptx => format!(
            "Makes a PowerPoint deck from Markdown and sends it to the chat. `---` begins a new \
             slide, its first heading is the title. {COLUMNS} `<!-- text -->` is a speaker's \
             note. Front matter: title, subtitle, author, date, footer, paginate, size (16:9 or \
             4:3), theme (neutral, corporate, academic), template (an Office file). {CHARTS}"
        ),
    }
}

const FRONT: &str = "Front matter: title, subtitle, author, date, language, cover, toc, numbered, \
    columns (1 or 2), header, footer, page (A4 or Letter, landscape), theme (neutral, corporate, \
    academic), template (an Office file).";
