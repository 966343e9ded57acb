//! What stands in the parts, read back with zip and quick-xml.
