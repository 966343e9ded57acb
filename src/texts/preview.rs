//! The preview that a tool adds to an approval request: the change that it would make, in Markdown.

/// A preview, and the arguments that it shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// The text that the request shows.
    pub shown: String,
    /// The full text, if the shown text omits anything.
    pub whole: Option<String>,
    /// The arguments whose text it contains in full. All others are shown separately.
    covers: &'static [&'static str],
}

impl Preview {
    /// A note that shows no argument.
    pub fn note(shown: impl Into<String>) -> Self {
        Self { shown: shown.into(), ..Self::default() }
    }

    pub fn failure(problem: impl std::fmt::Display) -> Self {
        Self::note(format!("This will fail. {problem}"))
    }

    /// A preview with a shorter text to show, if the two differ.
    pub fn of(shown: String, whole: String) -> Self {
        let whole = Some(whole).filter(|whole| *whole != shown);
        Self { shown, whole, covers: &[] }
    }

    /// Declares that these arguments are fully readable in the preview. A preview that omits
    /// something covers nothing.
    pub fn covering(self, arguments: &'static [&'static str]) -> Self {
        let covers = if self.whole.is_none() { arguments } else { &[] };
        Self { covers, ..self }
    }

    /// Adds a line before the preview.
    pub fn after(self, line: &str) -> Self {
        let put = |text: String| format!("{line}\n\n{text}");
        Self { shown: put(self.shown), whole: self.whole.map(put), ..self }
    }

    pub fn covers(&self, argument: &str) -> bool {
        self.covers.contains(&argument)
    }

    /// The full text.
    pub fn everything(&self) -> &str {
        self.whole.as_deref().unwrap_or(&self.shown)
    }

    /// Applies a function to all texts.
    pub fn map(self, change: impl Fn(&str) -> String) -> Self {
        Self { shown: change(&self.shown), whole: self.whole.map(|text| change(&text)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_that_leaves_something_out_covers_nothing() {
        let whole = Preview::of("a".into(), "a".into()).covering(&["content"]);
        assert!(whole.covers("content") && !whole.covers("path"));
        let cut = Preview::of("a".into(), "ab".into()).covering(&["content"]);
        assert!(!cut.covers("content"));
        assert_eq!(cut.everything(), "ab");
    }
}
