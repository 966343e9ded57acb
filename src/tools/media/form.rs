//! Request bodies in the format `multipart/form-data` (RFC 7578).

use bytes::Bytes;

/// A form with texts and files.
pub struct Form {
    boundary: String,
    body: Vec<u8>,
}

/// A file of a form. Its name comes from the gateway, never from a person.
pub struct FormFile<'f> {
    pub name: &'f str,
    pub media_type: &'f str,
    pub bytes: &'f [u8],
}

/// A finished form.
pub struct EncodedForm {
    pub content_type: String,
    pub body: Bytes,
}

impl Form {
    pub fn new() -> Self {
        Self { boundary: format!("form-{}", uuid::Uuid::new_v4().simple()), body: Vec::new() }
    }

    pub fn text(&mut self, field: &str, value: &str) {
        self.begin(&format!("name=\"{field}\""), None);
        self.body.extend_from_slice(value.as_bytes());
        self.body.extend_from_slice(b"\r\n");
    }

    pub fn file(&mut self, field: &str, file: &FormFile<'_>) {
        let FormFile { name, media_type, bytes } = file;
        self.begin(&format!("name=\"{field}\"; filename=\"{name}\""), Some(media_type));
        self.body.extend_from_slice(bytes);
        self.body.extend_from_slice(b"\r\n");
    }

    pub fn encode(mut self) -> EncodedForm {
        self.body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        let content_type = format!("multipart/form-data; boundary={}", self.boundary);
        EncodedForm { content_type, body: self.body.into() }
    }

    fn begin(&mut self, disposition: &str, media_type: Option<&str>) {
        let kind = media_type.map(|kind| format!("Content-Type: {kind}\r\n")).unwrap_or_default();
        let head = format!(
            "--{}\r\nContent-Disposition: form-data; {disposition}\r\n{kind}\r\n",
            self.boundary
        );
        self.body.extend_from_slice(head.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_the_parts_in_order() {
        let mut form = Form::new();
        form.text("model", "a-model");
        let file = FormFile { name: "a.ogg", media_type: "audio/ogg", bytes: b"OggS\r\n--x" };
        form.file("file", &file);
        let EncodedForm { content_type, body } = form.encode();
        let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\na-model\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.ogg\"\r\n\
             Content-Type: audio/ogg\r\n\r\nOggS\r\n--x\r\n--{boundary}--\r\n"
        );
        assert_eq!(body, expected.as_bytes());
    }
}
