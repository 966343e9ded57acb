//! The documents of the demo model: correct structure with placeholder content.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Pdf,
    Docx,
    Xlsx,
    Pptx,
}

impl Format {
    /// The format that a word refers to.
    pub(super) fn of(word: &str) -> Option<Self> {
        match word.to_lowercase().as_str() {
            "pdf" => Some(Self::Pdf),
            "docx" | "word" => Some(Self::Docx),
            "xlsx" | "excel" | "spreadsheet" | "workbook" | "table" | "sheet" => Some(Self::Xlsx),
            "pptx" | "powerpoint" | "slides" | "slide" | "presentation" | "deck" => {
                Some(Self::Pptx)
            }
            _ => None,
        }
    }

    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Pptx => "pptx",
        }
    }

    pub(super) fn tool(self) -> &'static str {
        match self {
            Self::Pdf => "render_pdf",
            Self::Docx => "render_docx",
            Self::Xlsx => "render_xlsx",
            Self::Pptx => "render_pptx",
        }
    }
}

/// Markdown about the topic, structured for the format.
pub(super) fn compose(topic: &str, format: Format) -> String {
    let topic = topic.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = capitalised(&topic);
    // Quotes and backslashes would end the YAML string.
    let quoted: String = title.chars().filter(|c| !matches!(c, '"' | '\\')).collect();
    let front = format!("---\ntitle: \"{quoted}\"\nauthor: \"Countersign demo model\"\n---\n\n");
    let body = match format {
        Format::Pdf | Format::Docx => report(&title, &topic),
        Format::Xlsx => workbook(&cell(&topic)),
        Format::Pptx => slides(&title, &topic),
    };
    front + &body
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "/")
}

fn report(title: &str, topic: &str) -> String {
    let row = cell(topic);
    format!(
        "# {title}\n\n\
         This report about **{topic}** was put together by the demo model. The demo model follows \
         rules and knows no facts: the text shows what a report looks like, and a real model fills \
         it with what is worth reading.\n\n\
         ## Where we stand\n\n\
         Whoever takes up {topic} does well to settle three things first:\n\n\
         1. what is known already, and who knows it,\n\
         2. what has to be decided, and by when,\n\
         3. what a good result would look like.\n\n\
         ## Questions and answers\n\n\
         | Question | Answer so far | Next step |\n\
         | --- | --- | --- |\n\
         | What is it? | {row} | Agree on one sentence |\n\
         | Why now? | Open | Ask those concerned |\n\
         | What does it take? | Open | Estimate time and cost |\n\n\
         ## Next steps\n\n\
         - Collect what is written about {topic}.\n\
         - Talk to two people who live with it *every day*.\n\
         - Write down the decision, with its reason.\n\n\
         ### About this document\n\n\
         It was written in Markdown and rendered in this very conversation, by the same tool that \
         a real model would have called.\n"
    )
}

fn workbook(topic: &str) -> String {
    format!(
        "## Overview\n\n\
         | Item | Value |\n\
         | --- | --- |\n\
         | Topic | {topic} |\n\
         | Written by | Countersign demo model |\n\
         | Steps planned | 4 |\n\n\
         ## Plan\n\n\
         | Step | Task | Days | Done |\n\
         | --- | --- | --- | --- |\n\
         | 1 | Collect what is known about {topic} | 2 | no |\n\
         | 2 | Ask those concerned | 3 | no |\n\
         | 3 | Decide | 1 | no |\n\
         | 4 | Report | 1 | no |\n"
    )
}

fn slides(title: &str, topic: &str) -> String {
    format!(
        "# {title}\n\n\
         Put together by the demo model, which follows rules and knows no facts\n\n\
         ---\n\n\
         ## Where we stand\n\n\
         - What is known about {topic}, and who knows it\n\
         - What has to be decided, and by when\n\
         - What a good result would look like\n\n\
         ---\n\n\
         ## Plan\n\n\
         | Step | Days |\n\
         | --- | --- |\n\
         | Collect | 2 |\n\
         | Ask | 3 |\n\
         | Decide | 1 |\n\n\
         ---\n\n\
         ## Next steps\n\n\
         1. Agree on one sentence about {topic}\n\
         2. Name who decides\n\
         3. Meet again in a week\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_gets_the_shape_it_wants() {
        let pdf = compose("bees | \"honey\"", Format::Pdf);
        assert!(pdf.starts_with("---\ntitle: \"Bees | honey\"\n"), "{pdf}");
        assert!(pdf.contains("# Bees") && pdf.contains("| --- |") && pdf.contains("\n- "));
        assert!(pdf.contains("| What is it? | bees / \"honey\" |"), "a bar would break the table");
        let xlsx = compose("costs", Format::Xlsx);
        assert_eq!(xlsx.matches("\n## ").count(), 2);
        let pptx = compose("trains", Format::Pptx);
        assert_eq!(pptx.matches("\n---\n\n## ").count(), 3);
    }
}
