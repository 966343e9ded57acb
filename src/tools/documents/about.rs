//! The descriptions of the document tools, with everything that a model needs to use each
//! directive.

use renderers::Format;

/// For all formats with pages or slides.
const CHARTS: &str = "A ```chart block draws a chart: lines `type: bar|line|pie|scatter`, optional \
    `title:`, `x:`, `y:`, then an empty line and CSV with a header, as in \
    `Quarter,North,South`.";

const COLUMNS: &str = "Columns: lines `::: columns`, `::: column`, `:::`.";

/// The description of a format's `render_…` tool.
pub fn about(format: Format) -> String {
    match format {
        Format::Pdf => format!(
            "Makes a PDF out of Markdown and sends it to the people of this conversation. For \
             reports, letters and documents to print. {FRONT} {COLUMNS} {CHARTS} \
             `<!-- pagebreak -->` begins a page; `> [!NOTE]` is a box; $…$ is LaTeX; \
             ![caption](path) is a picture of the workspace."
        ),
        Format::Docx => format!(
            "Makes a Word document out of Markdown and sends it to the people of this \
             conversation. For documents that they go on editing. {FRONT} {COLUMNS} \
             {CHARTS} `<!-- pagebreak -->` begins a page; ![caption](path) is a picture of the \
             workspace."
        ),
        Format::Xlsx => format!(
            "Makes an Excel workbook and sends it to the people of this conversation, out of \
             Markdown (each `## Name` begins a sheet, tables become native tables), or of `rows`, \
             or of `csv`. Give one of the three. A cell such as `=SUM(B2:B9)` is a formula, counted \
             from its table's header as row 1; `='Other sheet'!B2` looks at the first table there. \
             Before a table, `<!-- total: sum -->` (average, min, max, count) adds totals, and \
             `<!-- format: Column bars -->` (or `scale`, or `Column < 0 red`) colours cells. {CHARTS}"
        ),
        Format::Pptx => format!(
            "Makes a PowerPoint deck out of Markdown and sends it to the people of this \
             conversation. `---` begins a new slide, its first heading is the title. {COLUMNS} \
             `<!-- text -->` is a speaker's note. Front matter may set title, subtitle, author, \
             date, footer, paginate, size (16:9 or 4:3), theme (neutral, corporate, academic), \
             template (path of an Office file to look like). {CHARTS}"
        ),
    }
}

const FRONT: &str = "Front matter may set title, subtitle, author, date, language, cover, toc, \
    numbered, columns (1 or 2), header, footer, page (A4 or Letter, landscape), theme (neutral, \
    corporate, academic), template (path of an Office file to look like).";
