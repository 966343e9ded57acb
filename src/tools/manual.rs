//! The gateway's own documentation, as the agent reads it to whoever asks.

use super::custom::{Tier, tool};

const README: &str = include_str!("../../README.md");

/// What is shown at most of what a word was found in.
const MOST_FOUND: usize = 40;

/// About this gateway.
///
/// Setup, commands, configuration keys, guard rules, documents. Without a topic: its sections.
#[tool(tier = Tier::Extension, cache = true)]
pub fn manual(
    /// A section by its heading, or a word to look for, such as a configuration key
    topic: Option<String>,
) -> Result<String, String> {
    let all = sections(README);
    let names = || all.iter().map(|(name, _)| ["- ", name, "\n"].concat()).collect::<String>();
    let Some(topic) = topic.filter(|topic| !topic.trim().is_empty()) else {
        return Ok(format!("The sections of the manual:\n{}", names()));
    };
    let wanted = topic.trim().to_lowercase();
    if let Some((name, text)) = all.iter().find(|(name, _)| name.to_lowercase() == wanted) {
        return Ok(format!("# {name}\n{text}"));
    }
    let found = all.iter().flat_map(|(name, text)| {
        let says = |line: &&str| line.to_lowercase().contains(&wanted);
        text.lines().filter(says).map(move |line| format!("{name}: {line}\n"))
    });
    let found: Vec<_> = found.take(MOST_FOUND).collect();
    if found.is_empty() {
        return Err(format!("The manual says nothing of that. Its sections:\n{}", names()));
    }
    Ok(found.concat())
}

/// By their headings; what looks like one in an example is none. Pictures are left out.
fn sections(text: &str) -> Vec<(&str, String)> {
    let mut sections = Vec::new();
    let (mut name, mut body, mut fence) = ("Countersign", String::new(), None);
    for line in text.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            Some(open) if ticks >= open => fence = None,
            _ => {}
        }
        let heading = line.starts_with('#').then(|| line.trim_start_matches('#').trim());
        match heading.filter(|_| fence.is_none()) {
            Some(heading) => {
                sections.push((std::mem::replace(&mut name, heading), std::mem::take(&mut body)));
            }
            None if line.starts_with("![") => {}
            None => {
                body += line;
                body.push('\n');
            }
        }
    }
    sections.push((name, body));
    sections.retain(|(_, body)| !body.trim().is_empty());
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(topic: &str) -> Result<String, String> {
        manual(Some(topic.to_owned()))
    }

    /// The agent reads the documentation that this very build comes with.
    /// Proves MC-38.
    #[test]
    fn the_agent_reads_our_documentation() {
        let names = manual(None).expect("the sections");
        for name in ["- Start", "- Go live", "- Rules of the guard", "- Documents"] {
            assert!(names.contains(name), "{name}: {names}");
        }
        assert!(reads("rules of the guard").expect("a section").contains("pipes"));
        let key = reads("guard.approval_timeout").expect("a key");
        assert!(key.starts_with("Configure: | `guard.approval_timeout`"), "{key}");
        assert!(reads("zebras").expect_err("nothing").contains("- Configure"));
        assert_eq!(reads(" ").expect("the sections"), names);
    }

    #[test]
    fn what_looks_like_a_heading_in_an_example_is_none() {
        let text = "# A\none\n````text\n```\n# B\n```\n# C\n````\n![p](q)\n## D\ntwo\n";
        let read = sections(text);
        let names: Vec<_> = read.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["A", "D"]);
        assert!(read[0].1.contains("# C") && !read[0].1.contains("![p]"));
    }
}
