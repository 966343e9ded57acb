//! Workspace paths as rules and tools see them.

/// The path with `.` and doubled slashes gone. `None` for what can leave the workspace: an absolute
/// path, a `..`, a NUL, nothing at all.
pub fn normalise(path: &str) -> Result<String, String> {
    let refused = || Err(format!("Path not allowed: {path}"));
    if path.starts_with('/') || path.contains('\0') || path.contains('\\') {
        return refused();
    }
    let parts: Vec<_> = path.split('/').filter(|p| !p.is_empty() && *p != ".").collect();
    if parts.contains(&"..") {
        return refused();
    }
    Ok(parts.join("/"))
}
