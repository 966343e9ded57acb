//! What a tool adds to an approval request: the change that it would make, in Markdown.

/// A preview, and what it stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// What the request shows.
    pub shown: String,
    /// The same without anything left out; `None` if nothing was.
    pub whole: Option<String>,
    /// The arguments whose text is all in it. Every other argument is shown as an argument.
    covers: &'static [&'static str],
}

impl Preview {
    /// One that is shown as it is and stands for no argument.
    pub fn note(shown: impl Into<String>) -> Self {
        Self { shown: shown.into(), ..Self::default() }
    }

    pub fn failure(problem: impl std::fmt::Display) -> Self {
        Self::note(format!("This will fail. {problem}"))
    }

    /// One whose shown text is shorter than the whole, if the two differ.
    pub fn of(shown: String, whole: String) -> Self {
        let whole = Some(whole).filter(|whole| *whole != shown);
        Self { shown, whole, covers: &[] }
    }

    /// Declares that these arguments can be read in it. A preview that leaves something out covers
    /// nothing.
    pub fn covering(self, arguments: &'static [&'static str]) -> Self {
        let covers = if self.whole.is_none() { arguments } else { &[] };
        Self { covers, ..self }
    }

    /// With a line in front of it.
    pub fn after(self, line: &str) -> Self {
        let put = |text: String| format!("{line}\n\n{text}");
        Self { shown: put(self.shown), whole: self.whole.map(put), ..self }
    }

    pub fn covers(&self, argument: &str) -> bool {
        self.covers.contains(&argument)
    }

    /// All of it.
    pub fn everything(&self) -> &str {
        self.whole.as_deref().unwrap_or(&self.shown)
    }

    /// The same with every text changed.
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
