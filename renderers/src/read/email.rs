//! E-mail: sender, recipients, text and attachments.

use mail_parser::{Address, MessageParser, MimeHeaders as _};
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
    let (mut bodies, mut warnings) = (0, BTreeSet::new());
    while let Some(text) = message.body_text(bodies).filter(|_| bodies < message.text_body_count())
    {
        let part = message.text_part(bodies as u32);
        let written = part.filter(|part| part.is_text_html()).and_then(|part| part.text_contents());
        match written {
            Some(written) => {
                let page = html::to_markdown(written)?;
                words.paragraph(&page.markdown);
                warnings.extend(page.warnings);
            }
            None => words.paragraph(text.trim()),
        }
        bodies += 1;
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
