//! The templates of the chat, of the pages in front of it, and of the list of operations. A value
//! that a template uses and nobody provides is an error.

use minijinja::{
    Environment, Error, UndefinedBehavior,
    syntax::SyntaxConfig,
    value::{Serde, Value as Shown},
};
use serde_json::Value;
use std::sync::LazyLock;

use crate::texts::{PageTexts, filled};

/// The templates, by name. Their names end in `.html`, so what is shown is escaped.
const TEMPLATES: &[(&str, &str)] = &[
    ("api.html", include_str!("web/api.html")),
    ("chat.html", include_str!("web/chat.html")),
    ("door.html", include_str!("web/door.html")),
    ("problem.html", include_str!("web/problem.html")),
    ("sign_in.html", include_str!("web/sign_in.html")),
    ("signed_in.html", include_str!("web/signed_in.html")),
    ("signed_out.html", include_str!("web/signed_out.html")),
];

static PAGES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut pages = Environment::new();
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    // A line with only a tag leaves no empty line.
    let syntax = SyntaxConfig::builder().trim_blocks(true).build();
    pages.set_syntax(syntax.expect("the delimiters are the usual ones"));
    for (name, template) in TEMPLATES {
        pages.add_template(name, template).expect("a test renders every template");
    }
    pages
});

/// Renders a page in a language. The template sees the texts of pages, with `{bot}` and `{person}`
/// filled in, and the values, which take precedence over texts of the same name.
pub fn page(template: &str, texts: &PageTexts, values: Value) -> String {
    let value = |name: &str| values[name].as_str().unwrap_or_default();
    let named = [("bot", value("bot")), ("person", value("person"))];
    let mut all = serde_json::to_value(texts).unwrap_or_default();
    for text in all.as_object_mut().into_iter().flat_map(|texts| texts.values_mut()) {
        if let Value::String(text) = text {
            *text = filled(text, &named);
        }
    }
    extend(&mut all, values);
    rendered(template, all).expect("a test renders each page with its values")
}

/// Adds the values of one object to those of another.
pub fn extend(all: &mut Value, values: Value) {
    if let (Some(all), Value::Object(values)) = (all.as_object_mut(), values) {
        all.extend(values);
    }
}

/// Renders a template with these values.
pub fn rendered(template: &str, values: Value) -> Result<String, Error> {
    PAGES.get_template(template)?.render(Shown::from(Serde(values)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Language;
    use serde_json::json;

    #[test]
    fn values_are_escaped_and_not_expanded_again() {
        let texts = &Language::English.words().page;
        let values = json!({ "bot": "<{{ token }}{person}>", "token": "\"><script>" });
        let page = page("sign_in.html", texts, values);
        assert!(page.contains("Sign in to &lt;{{ token }}{person}&gt;"), "{page}");
        assert!(page.contains("value=\"&quot;&gt;&lt;script&gt;\""), "{page}");
    }

    #[test]
    fn missing_values_are_errors() {
        let fault = rendered("problem.html", json!({ "title": "x" })).unwrap_err();
        assert!(format!("{fault:#}").contains("undefined"), "{fault:#}");
    }
}
