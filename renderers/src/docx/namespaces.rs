//! The XML namespaces of WordprocessingML.

/// Declared on the root of every part, so that any element can be written into any part.
pub const NAMESPACES: [(&str, &str); 7] = [
    ("xmlns:w", "http://schemas.openxmlformats.org/wordprocessingml/2006/main"),
    ("xmlns:r", "http://schemas.openxmlformats.org/officeDocument/2006/relationships"),
    ("xmlns:m", "http://schemas.openxmlformats.org/officeDocument/2006/math"),
    ("xmlns:wp", "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"),
    ("xmlns:a", "http://schemas.openxmlformats.org/drawingml/2006/main"),
    ("xmlns:pic", "http://schemas.openxmlformats.org/drawingml/2006/picture"),
    ("xmlns:v", "urn:schemas-microsoft-com:vml"),
];
