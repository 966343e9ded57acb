//! Fills values into a text.

/// The text with each `{name}` replaced by the value of that name. Braces in a value are kept.
pub fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        let found = after.split_once('}').and_then(|(name, after)| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value, after))
        });
        if let Some((value, after)) = found {
            text += value;
            rest = after;
        } else {
            text.push('{');
            rest = after;
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_once() {
        let values = [("a", "{b}"), ("b", "2")];
        assert_eq!(filled("{a} and {b}, {c} {", &values), "{b} and 2, {c} {");
        assert_eq!(filled("none", &[]), "none");
    }
}
