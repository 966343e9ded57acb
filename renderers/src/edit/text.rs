//! The text of paragraphs in Word and PowerPoint, which is spread over runs, and how it is changed.

use std::mem;

use super::tree::{Node, TreeElement, WRAPPERS, escaped};

/// Whether an element is a paragraph.
pub fn is_paragraph(element: &TreeElement) -> bool {
    element.local() == "p"
}

/// A paragraph, table or content control. What else is between these, such as the end of a bookmark, is
/// invisible.
pub fn as_block(node: &Node) -> Option<&TreeElement> {
    node.as_element().filter(|element| matches!(element.local(), "p" | "tbl" | "sdt"))
}

/// The texts of a paragraph in order. Breaks and tabs are pieces that are not changed. Paragraphs
/// inside, such as those of text boxes, are not part of it.
fn collect(element: &TreeElement, pieces: &mut Vec<String>) {
    for child in element.elements() {
        match child.local() {
            "t" => pieces.push(child.text()),
            "br" | "cr" => pieces.push("\n".into()),
            "tab" | "ptab" if !element.local().ends_with("Pr") && element.local() != "tabs" => {
                pieces.push("\t".into());
            }
            "p" | "del" | "pPr" | "rPr" | "moveFrom" => {}
            _ => collect(child, pieces),
        }
    }
}

/// The visible text of a paragraph.
pub fn of(paragraph: &TreeElement) -> String {
    let mut pieces = Vec::new();
    collect(paragraph, &mut pieces);
    pieces.concat()
}

/// The text of all paragraphs in an element, itself included, in lines.
pub fn below(element: &TreeElement) -> String {
    let mut lines = Vec::new();
    element.each(&mut |inner| {
        if is_paragraph(inner) {
            lines.push(of(inner));
        }
    });
    lines.join("\n")
}

/// Sets the pieces in the order in which [`collect`] found them.
fn put(element: &mut TreeElement, pieces: &mut std::vec::IntoIter<String>) {
    let holds_tabs = element.local().ends_with("Pr") || element.local() == "tabs";
    for child in element.elements_mut() {
        match child.local() {
            "t" => {
                let text = pieces.next().unwrap_or_default();
                if child.text() != text {
                    set(child, &text);
                }
            }
            "br" | "cr" => drop(pieces.next()),
            "tab" | "ptab" if !holds_tabs => drop(pieces.next()),
            "p" | "del" | "pPr" | "rPr" | "moveFrom" => {}
            _ => put(child, pieces),
        }
    }
}

/// Sets a `t` element. Word drops spaces at the ends otherwise.
fn set(t: &mut TreeElement, text: &str) {
    t.set_text(text);
    if t.name.starts_with("w:") && text.trim() != text {
        t.set("xml:space", "preserve");
    }
}

/// A range of characters of a paragraph and its new text.
#[derive(Debug, Clone)]
pub struct Replacement {
    /// In bytes of the paragraph's text.
    pub range: std::ops::Range<usize>,
    pub text: String,
}

/// Replaces ranges of a paragraph's text, which are in order and do not overlap. A new text has the
/// format of the first character that it replaces.
pub fn replace(paragraph: &mut TreeElement, replacements: &[Replacement]) {
    let mut pieces = Vec::new();
    collect(paragraph, &mut pieces);
    let (mut start, mut next) = (0, 0);
    for piece in &mut pieces {
        let end = start + piece.len();
        let (mut new, mut done) = (String::new(), start);
        while let Some(Replacement { range, text }) = replacements.get(next)
            && range.start < end
        {
            let from = range.start.max(start);
            new.push_str(&piece[done - start..from - start]);
            if range.start >= start {
                new.push_str(text);
            }
            done = range.end.min(end);
            if range.end > end {
                break;
            }
            next += 1;
        }
        if done > start {
            new.push_str(&piece[done - start..]);
            *piece = new;
        }
        start = end;
    }
    put(paragraph, &mut pieces.into_iter());
    break_lines(paragraph);
}

/// Line ends in texts become breaks.
fn break_lines(element: &mut TreeElement) {
    let is_word = element.name.starts_with("w:");
    let wanted = if is_word { "t" } else { "r" };
    let text = |child: &TreeElement| match child.local() {
        "t" => child.text(),
        "r" if !is_word => child.child("t").map(TreeElement::text).unwrap_or_default(),
        _ => String::new(),
    };
    let mut children = Vec::new();
    for mut node in mem::take(&mut element.children) {
        let Some(child) = node.as_element_mut() else {
            children.push(node);
            continue;
        };
        let whole = text(child);
        if child.local() != wanted || !whole.contains('\n') {
            if !matches!(child.local(), "t" | "p") {
                break_lines(child);
            }
            children.push(node);
            continue;
        }
        for (at, line) in whole.split('\n').enumerate() {
            if at > 0 {
                let name = child.named("br");
                children.push(Node::Element(TreeElement::new(&name, &[])));
            }
            let mut piece = child.clone();
            let t = if is_word { Some(&mut piece) } else { piece.child_mut("t") };
            if let Some(t) = t {
                set(t, line);
            }
            children.push(Node::Element(piece));
        }
    }
    element.children = children;
}

/// Sets the whole text of a paragraph, in the format of its first run.
pub fn rewrite(paragraph: &mut TreeElement, text: &str) {
    let whole = of(paragraph);
    if !whole.is_empty() && !whole.contains(['\n', '\t']) && !has_other_text(paragraph) {
        let range = 0..whole.len();
        replace(paragraph, &[Replacement { range, text: text.to_owned() }]);
        return;
    }
    let run = run(paragraph, first_look(paragraph), text);
    let kept = ["pPr", "bookmarkStart", "bookmarkEnd"];
    paragraph.children.retain(|child| kept.iter().any(|name| child.is(name)));
    let last = paragraph.children.iter().rposition(|child| !child.is("bookmarkEnd"));
    paragraph.insert(last.map_or(0, |last| last + 1), run);
    break_lines(paragraph);
}

/// Whether a paragraph has signs that are no text here, or a field that would replace a new text by its
/// result. The texts of form fields and links are not computed.
fn has_other_text(paragraph: &TreeElement) -> bool {
    let (mut has_signs, mut code) = (false, String::new());
    paragraph.each(&mut |inner| match inner.local() {
        "noBreakHyphen" | "softHyphen" | "sym" => has_signs = true,
        "instrText" => code += &inner.text(),
        "fldSimple" => code += &inner.attribute("w:instr").unwrap_or_default(),
        _ => {}
    });
    let code = code.trim_start();
    has_signs || !(code.is_empty() || code.starts_with("FORMTEXT") || code.starts_with("HYPERLINK"))
}

/// The format of a run for a new text: without marks of tracked changes.
pub fn look(run: &TreeElement) -> Option<TreeElement> {
    let mut look = run.child("rPr")?.clone();
    for mark in ["ins", "del", "moveFrom", "moveTo", "rPrChange"] {
        look.remove(mark);
    }
    Some(look)
}

/// The format of the first run for a new text.
pub fn first_look(container: &TreeElement) -> Option<TreeElement> {
    let mut first = None;
    container.each(&mut |inner| {
        if first.is_none() && inner.local() == "r" {
            first = Some(look(inner));
        }
    });
    first.flatten()
}

/// A run with this format.
pub fn run(paragraph: &TreeElement, look: Option<TreeElement>, text: &str) -> TreeElement {
    let mut run = TreeElement::new(&paragraph.named("r"), &[]);
    if let Some(look) = look {
        run.push(look);
    }
    let mut t = TreeElement::new(&paragraph.named("t"), &[]);
    set(&mut t, text);
    run.push(t);
    if run.name.starts_with("w:") {
        break_lines(&mut run);
    }
    run
}

/// Puts a text in place of all paragraphs of a cell or a similar container but the first.
pub fn rewrite_all(container: &mut TreeElement, text: &str) {
    keep_first_paragraph(container, &mut true);
    if let Some(path) = container.paths("p").first() {
        rewrite(container.at_mut(path), text);
    }
}

/// Lets a content control keep a new text: Word would replace that of a control that is bound to data of
/// the file, such as the title in its properties.
pub fn unbind(control: &mut TreeElement) {
    if let Some(properties) = control.child_mut("sdtPr") {
        properties.remove("dataBinding");
    }
}

/// Unbinds the content controls in an element, itself included, whose text fits.
pub fn unbind_where(element: &mut TreeElement, fits: impl Fn(&str) -> bool) {
    element.each_mut(&mut |inner| {
        let is_bound = inner.child("sdtPr").is_some_and(|all| all.child("dataBinding").is_some());
        if is_bound && (fits(&of(inner)) || fits(&below(inner))) {
            unbind(inner);
        }
    });
}

/// Removes the tables and the other paragraphs, also those in content controls.
fn keep_first_paragraph(container: &mut TreeElement, is_first: &mut bool) {
    container.children.retain_mut(|node| {
        let Some(child) = node.as_element_mut() else { return true };
        let is_wrapper = WRAPPERS.contains(&child.local());
        match child.local() {
            "p" => mem::take(is_first),
            "tbl" => false,
            _ if is_wrapper => {
                keep_first_paragraph(child, is_first);
                // The text is no longer the one that asks for a text.
                if let Some(properties) = child.child_mut("sdtPr") {
                    properties.remove("showingPlcHdr");
                }
                child.local() == "sdtContent" || !child.paths("p").is_empty()
            }
            _ => true,
        }
    });
}

/// Whether a raw text can contain this sign, to skip parts at little cost.
pub fn may_contain(xml: &[u8], sign: &str) -> bool {
    let sign = escaped(sign);
    xml.windows(sign.len().max(1)).any(|window| window == sign.as_bytes())
}
