//! Our Markdown in each platform's dialect, and cutting long texts at good places.
pub(crate) const MODULE: () = ();
