//! E-mail: sender, recipients, text and attachments, also those of attached messages.

use mail_parser::{Address, Message, MessageParser, MessagePart, MimeHeaders as _, PartType};
use std::collections::BTreeSet;

use super::{
    html, limits,
    reading::{Kind, ReadError, Reading},
    words::Words,
};

/// The maximum depth of attached messages that are read.
const DEPTH: usize = 4;
/// The maximum number of messages in messages, which the parser drops by recursion.
const MESSAGES: usize = 1_000;

pub fn read(bytes: &[u8]) -> Result<Reading, ReadError> {
    let mut mail = MailText::default();
    mail.message(&parsed(bytes)?, 1)?;
    let reading = Reading::of(Kind::Email, mail.words.finish());
    Ok(Reading { warnings: mail.warnings.into_iter().collect(), ..reading })
}

/// The text of a web archive, without its headers and attachments.
pub fn body(bytes: &[u8]) -> Result<String, ReadError> {
    let mut mail = MailText::default();
    mail.bodies(&parsed(bytes)?)?;
    Ok(mail.words.finish())
}

fn parsed(bytes: &[u8]) -> Result<Message<'_>, ReadError> {
    limits::within(message_types(bytes) as u64, MESSAGES as u64, "messages in messages")?;
    let message = MessageParser::default().parse(bytes);
    message.ok_or_else(|| ReadError::Damaged("This is not an e-mail.".into()))
}

/// How many messages can be within each other: their types are `message/rfc822` and `message/global`,
/// and those in a digest, `multipart/digest`, have none. Either word alone may be one of a text. There
/// may be comments between the words of a type.
fn message_types(bytes: &[u8]) -> usize {
    let count = |word: &[u8]| {
        let is_it = |part: &&[u8]| part.eq_ignore_ascii_case(word);
        bytes.windows(word.len()).filter(is_it).count()
    };
    let messages = count(b"message").min(count(b"rfc822") + count(b"global"));
    messages + count(b"multipart").min(count(b"digest"))
}

/// The text of a message and those attached to it.
#[derive(Default)]
struct MailText {
    words: Words,
    warnings: BTreeSet<String>,
}

impl MailText {
    /// Writes a message, with its subject as a heading of this level.
    fn message(&mut self, message: &Message<'_>, level: usize) -> Result<(), ReadError> {
        self.words.heading(level, message.subject().unwrap_or("(no subject)"));
        let date = message.date().map(mail_parser::DateTime::to_rfc3339);
        let headers = [
            ("From", message.from().map(people)),
            ("To", message.to().map(people)),
            ("Cc", message.cc().map(people)),
            ("Date", date),
        ];
        let headers = headers.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        for (name, value) in headers {
            self.words.bullet(0, &format!("{name}: {value}"));
        }
        self.bodies(message)?;
        self.attachments(message, level + 1)
    }

    fn bodies(&mut self, message: &Message<'_>) -> Result<(), ReadError> {
        let bodies = (0..message.text_body_count()).filter_map(|at| message.text_part(at as u32));
        for body in bodies {
            match &body.body {
                PartType::Html(page) => {
                    let page = html::to_markdown(page)?;
                    self.words.paragraph(&page.markdown);
                    self.warnings.extend(page.warnings);
                }
                PartType::Text(text) => self.words.paragraph(text.trim()),
                // A picture between texts, which is an attachment as well.
                _ => {}
            }
        }
        Ok(())
    }

    fn attachments(&mut self, message: &Message<'_>, level: usize) -> Result<(), ReadError> {
        if message.attachment_count() > 0 {
            self.words.heading(level, "Attachments");
        }
        for part in message.attachments() {
            let of_message = attached(part).and_then(Message::subject);
            let name = part.attachment_name().or(of_message).unwrap_or("(without a name)");
            self.words.bullet(0, &format!("{name}, {} bytes", part.len()));
        }
        // Each message and its attachments have a level.
        if level > 2 * DEPTH {
            return Ok(());
        }
        for attached in message.attachments().filter_map(attached) {
            self.message(attached, level + 1)?;
        }
        Ok(())
    }
}

/// The message that a part is, unless it is empty.
fn attached<'m>(part: &'m MessagePart<'_>) -> Option<&'m Message<'m>> {
    part.message().filter(|message| !message.parts.is_empty())
}

fn people(address: &Address) -> String {
    let one = |person: &mail_parser::Addr| match (person.name(), person.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    };
    address.iter().map(one).collect::<Vec<_>>().join(", ")
}
