//! One recorded metric.

/// Either a count or a duration.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Increment {
    More(u64),
    TookMs(u64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Count {
    name: &'static str,
    labels: Vec<(&'static str, String)>,
    how: Increment,
}

impl Count {
    pub(in crate::store) fn more(
        name: &'static str,
        labels: &[(&'static str, &str)],
        by: u64,
    ) -> Self {
        Self { name, labels: owned(labels), how: Increment::More(by) }
    }

    pub(in crate::store) fn took(name: &'static str, ms: u64) -> Self {
        Self { name, labels: vec![], how: Increment::TookMs(ms) }
    }

    pub fn enter(&self) {
        match self.how {
            Increment::More(by) => metrics::counter!(self.name, &self.labels).increment(by),
            Increment::TookMs(ms) => {
                metrics::histogram!(self.name, &self.labels).record(ms as f64 / 1000.0);
            }
        }
    }
}

fn owned(labels: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}
