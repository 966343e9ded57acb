//! Removes NUL characters from bound text, since PostgreSQL does not accept them.

use std::borrow::Cow;

/// A value that can be bound to a statement. NUL characters are removed from text, on both
/// databases alike.
///
/// JSON is not affected, because it represents a NUL as an escape sequence. Text that was hashed or
/// is bound to a decision therefore stays unchanged.
pub(in crate::store) trait Bind {
    type Bound;

    fn bound(self) -> Self::Bound;
}

/// The text without NUL characters.
pub fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "").into() } else { text.into() }
}

impl<'t> Bind for &'t str {
    type Bound = Cow<'t, str>;

    fn bound(self) -> Self::Bound {
        without_nul(self)
    }
}

impl<'t> Bind for &'t String {
    type Bound = Cow<'t, str>;

    fn bound(self) -> Self::Bound {
        without_nul(self)
    }
}

impl<'t> Bind for Cow<'t, str> {
    type Bound = Cow<'t, str>;

    fn bound(self) -> Self::Bound {
        if self.contains('\0') { self.replace('\0', "").into() } else { self }
    }
}

impl Bind for String {
    type Bound = Self;

    fn bound(mut self) -> Self {
        self.retain(|c| c != '\0');
        self
    }
}

impl<B: Bind> Bind for Option<B> {
    type Bound = Option<B::Bound>;

    fn bound(self) -> Self::Bound {
        self.map(Bind::bound)
    }
}

macro_rules! as_it_is {
    ($($type:ty),*) => {
        $(impl Bind for $type {
            type Bound = Self;

            fn bound(self) -> Self {
                self
            }
        })*
    };
}

as_it_is!(bool, i32, i64, &i64, f64, Vec<u8>, &[u8]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_bound_without_nul() {
        assert_eq!("a\0b".bound(), "ab");
        assert_eq!("a\0b\0".to_owned().bound(), "ab");
        assert_eq!(Some("\0").bound().as_deref(), Some(""));
        assert!(matches!("plain".bound(), Cow::Borrowed("plain")));
    }
}
