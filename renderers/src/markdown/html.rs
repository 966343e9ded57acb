//! Raw HTML: its text, its comments, and the names of its tags. Nothing of it is ever interpreted.

/// A piece of raw HTML.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The name of a tag in lower case, and whether it closes.
    Tag {
        name: String,
        closes: bool,
    },
    Comment(&'a str),
    Text(String),
}

/// Elements whose content is no text.
pub const SILENT: [&str; 4] = ["script", "style", "template", "noscript"];

/// Cuts HTML into tags, comments and text; what follows an unclosed `<` is text.
pub fn pieces(html: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = html;
    let mut silent: Option<String> = None;
    while !rest.is_empty() {
        let (piece, after) = next(rest);
        rest = after;
        match (&piece, &silent) {
            (Piece::Tag { name, closes: true }, Some(open)) if name == open => silent = None,
            (_, Some(_)) => continue,
            (Piece::Tag { name, closes: false }, None) if SILENT.contains(&name.as_str()) => {
                silent = Some(name.clone());
            }
            _ => {}
        }
        pieces.push(piece);
    }
    pieces
}

fn next(html: &str) -> (Piece<'_>, &str) {
    if let Some(after) = html.strip_prefix("<!--") {
        let (comment, rest) = after.split_once("-->").unwrap_or((after, ""));
        return (Piece::Comment(comment.trim()), rest);
    }
    if let Some(after) = html.strip_prefix('<')
        && let Some((inside, rest)) = after.split_once('>')
        && let Some(tag) = tag(inside)
    {
        return (tag, rest);
    }
    let end = html.char_indices().skip(1).find(|(_, c)| *c == '<').map_or(html.len(), |(at, _)| at);
    (Piece::Text(unescape(&html[..end])), &html[end..])
}

fn tag(inside: &str) -> Option<Piece<'static>> {
    let (closes, name) = match inside.strip_prefix('/') {
        Some(name) => (true, name),
        None => (false, inside),
    };
    let is_name = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '!' | '?');
    let name: String = name.chars().take_while(is_name).collect();
    (!name.is_empty()).then(|| Piece::Tag { name: name.to_ascii_lowercase(), closes })
}

/// The few entities that stand in everybody's HTML; others stay as they are written.
fn unescape(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", "\u{a0}")]
        .iter()
        .fold(text.to_owned(), |text, (entity, c)| text.replace(entity, c))
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_falls_into_tags_comments_and_text() {
        let html = "<div a=\"b\">x &amp; é</div><!-- note --><script>no</script> 1 < 2";
        let mut text = String::new();
        let mut names = Vec::new();
        for piece in pieces(html) {
            match piece {
                Piece::Text(t) => text.push_str(&t),
                Piece::Comment(comment) => assert_eq!(comment, "note"),
                Piece::Tag { name, closes } => names.push((name, closes)),
            }
        }
        assert_eq!(text, "x & é 1 < 2");
        assert_eq!(names.len(), 4);
    }

    #[test]
    fn broken_html_ends() {
        for html in ["<", "<é", "é<", "<!--", "<script>x", "</", "<>", "a<b"] {
            let _ = pieces(html);
        }
        assert_eq!(pieces("<é"), [Piece::Text("<é".into())]);
    }
}
