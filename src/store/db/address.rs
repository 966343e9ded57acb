//! The URL of a database, and the passwords in it.

/// The URL without its passwords, for display.
pub fn without_password(url: &str) -> String {
    let Ok(mut shown) = url::Url::parse(url) else { return "(not a URL)".to_owned() };
    if shown.password().is_some() {
        // Setting a password only fails for URLs that cannot have one.
        let _ = shown.set_password(Some("…"));
    }
    if shown.query_pairs().any(|(name, _)| is_secret(&name)) {
        let pairs: Vec<_> = shown
            .query_pairs()
            .map(|(name, value)| {
                let value = if is_secret(&name) { "…".into() } else { value.into_owned() };
                (name.into_owned(), value)
            })
            .collect();
        shown.query_pairs_mut().clear().extend_pairs(pairs);
    }
    shown.to_string()
}

/// All passwords in the URL, so that they can be redacted everywhere.
pub fn passwords(url: &str) -> Vec<String> {
    let Ok(url) = url::Url::parse(url) else { return Vec::new() };
    let asked = url.query_pairs().filter(|(name, _)| is_secret(name));
    let asked = asked.map(|(_, value)| value.into_owned());
    url.password().map(str::to_owned).into_iter().chain(asked).collect()
}

fn is_secret(name: &str) -> bool {
    name.to_ascii_lowercase().contains("password")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves S11.
    #[test]
    fn a_url_is_shown_without_its_passwords() {
        let url =
            "postgres://ann:first@host/db?sslmode=require&password=sec%20ond&sslpassword=third";
        let shown = without_password(url);
        for password in ["first", "sec", "third"] {
            assert!(!shown.contains(password), "{shown}");
        }
        assert!(shown.contains("sslmode=require"), "{shown}");
        assert_eq!(passwords(url), ["first", "sec ond", "third"]);
        assert_eq!(without_password("sqlite://./data/x.db"), "sqlite://./data/x.db");
        assert!(!without_password("no url: secret").contains("secret"));
    }
}
