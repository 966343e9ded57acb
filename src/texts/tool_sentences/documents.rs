//! The sentences of the tools that change documents.

use super::ToolSentence;

pub(super) const SENTENCES: &[ToolSentence] = &[
    ToolSentence {
        tool: "convert_document",
        english: "Convert the file {from} to the PDF {path}.",
        chinese: "把文件 {from} 转换为 PDF {path}。",
        german: "Aus der Datei {from} das PDF {path} erstellen.",
        spanish: "Crear el PDF {path} a partir del archivo {from}.",
    },
    ToolSentence {
        tool: "edit_document",
        english: "Change the Word document {path}.",
        chinese: "修改 Word 文档 {path}。",
        german: "Das Word-Dokument {path} ändern.",
        spanish: "Modificar el documento de Word {path}.",
    },
    ToolSentence {
        tool: "edit_pdf",
        english: "Edit or assemble the PDF {path}.",
        chinese: "修改或合并 PDF {path}。",
        german: "Das PDF {path} ändern oder zusammenstellen.",
        spanish: "Modificar o componer el PDF {path}.",
    },
    ToolSentence {
        tool: "edit_workbook",
        english: "Change the workbook {path}.",
        chinese: "修改工作簿 {path}。",
        german: "Die Arbeitsmappe {path} ändern.",
        spanish: "Modificar el libro de Excel {path}.",
    },
    ToolSentence {
        tool: "fill_template",
        english: "Fill the template {template} and save it as {path}.",
        chinese: "填写模板 {template}，并另存为 {path}。",
        german: "Die Vorlage {template} ausfüllen und als {path} speichern.",
        spanish: "Rellenar la plantilla {template} y guardarla como {path}.",
    },
];
