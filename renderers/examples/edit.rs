//! Edits a file from the command line, for the checks by programs of other projects:
//! `edit workbook|word|pdf|fill EDIT.json OUTPUT INPUT…`. A mail merge writes into the folder OUTPUT.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use renderers::edit::{Edited, fill, pdf, word, workbook};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, edit, output, inputs @ ..] = arguments.as_slice() else {
        return Err("usage: edit workbook|word|pdf|fill EDIT.json OUTPUT INPUT…".into());
    };
    let files = inputs.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let first = *files.first().ok_or("there is no input")?;
    let edit = fs::read(edit)?;
    let edited = match kind.as_str() {
        "workbook" => vec![workbook::edit(first, &serde_json::from_slice(&edit)?)?],
        "word" => vec![word::edit(first, &serde_json::from_slice(&edit)?)?],
        "pdf" => vec![pdf::edit(&files, &serde_json::from_slice(&edit)?)?],
        "fill" => fill::fill(first, &serde_json::from_slice(&edit)?)?,
        _ => return Err("the first argument is workbook, word, pdf or fill".into()),
    };
    for Edited { bytes, name, .. } in edited {
        let path = name.map_or_else(|| PathBuf::from(output), |name| Path::new(output).join(name));
        fs::write(path, bytes)?;
    }
    Ok(())
}
