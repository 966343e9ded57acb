//! E-mail: sender, recipients, text and attachments.

use mail_parser::{Address, MessageParser, MimeHeaders as _, PartType};
use std::collections::BTreeSet;

use super::{
    html,
    reading::{Kind, ReadError, Reading},
    words::Words,
};

pub fn read(bytes: &[u8]) -> Result<Reading, ReadError> {
    let message = MessageParser::default().parse(bytes);
    let message = message.ok_or_else(|| ReadError::Damaged("This is not an e-mail.".into()))?;
    let mut words = Words::default();
    words.heading(1, message.subject().unwrap_or("(no subject)"));
    let date = message.date().map(mail_parser::DateTime::to_rfc3339);
    let headers = [
        ("From", message.from().map(people)),
        ("To", message.to().map(people)),
        ("Cc", message.cc().map(people)),
        ("Date", date),
    ];
    for (name, value) in headers.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        words.bullet(0, &format!("{name}: {value}"));
    }
    let mut warnings = BTreeSet::new();
    let bodies = (0..message.text_body_count()).filter_map(|at| message.text_part(at as u32));
    for body in bodies {
        match &body.body {
            PartType::Html(page) => {
                let page = html::to_markdown(page)?;
                words.paragraph(&page.markdown);
                warnings.extend(page.warnings);
            }
            PartType::Text(text) => words.paragraph(text.trim()),
            // A picture between texts, which is an attachment as well.
            _ => {}
        }
    }
    let attachments: Vec<String> = message
        .attachments()
        .map(|part| {
            let name = part.attachment_name().unwrap_or("(without a name)");
            format!("{name}, {} bytes", part.len())
        })
        .collect();
    if !attachments.is_empty() {
        words.heading(2, "Attachments");
        for attachment in &attachments {
            words.bullet(0, attachment);
        }
    }
    let reading = Reading::of(Kind::Email, words.finish());
    Ok(Reading { warnings: warnings.into_iter().collect(), ..reading })
}

fn people(address: &Address) -> String {
    let one = |person: &mail_parser::Addr| match (person.name(), person.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    };
    address.iter().map(one).collect::<Vec<_>>().join(", ")
}
