//! The configuration of a Discord bot account.

use std::{collections::BTreeMap, fmt, net::SocketAddr, sync::Arc};

use futures::future::BoxFuture;

use rustls::pki_types::{CertificateDer, pem::PemObject};
use secrecy::SecretString;
use url::Url;

use crate::Person;

/// One bot account.
#[derive(Debug, Clone)]
pub struct DiscordConfig {
    /// The id of the channel in the configuration.
    pub id: String,
    /// The token as shown in the developer portal, without `Bot` in front.
    pub token: SecretString,
    /// A replacement for `https://discord.com`.
    pub api_url: Option<Url>,
    /// The application's public key, 64 hexadecimal digits. If set, pushed interactions are
    /// accepted.
    pub public_key: Option<String>,
    /// Certificate authorities to trust for the platform's servers, in addition to the public ones.
    pub roots: Roots,
    /// The address of all Discord servers, overriding DNS.
    pub resolve: Option<SocketAddr>,
    /// The slash commands. If empty, the registered commands are not changed.
    pub commands: Vec<Command>,
    /// The texts of the adapter itself.
    pub words: AdapterTexts,
    /// Who may open a modal.
    pub admission: Admission,
}

/// Decides whether a person may talk to the bot. It is asked before a modal is opened, because the
/// response to a press must be either a modal or a text. All other checks happen when the press is
/// processed. By default, everyone is admitted.
#[derive(Clone, Default)]
pub struct Admission(Option<Arc<Decide>>);

type Decide = dyn Fn(Person) -> BoxFuture<'static, bool> + Send + Sync;

impl Admission {
    /// Admits the people for whom `decide` returns true.
    pub fn by(decide: impl Fn(Person) -> BoxFuture<'static, bool> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(decide)))
    }

    pub(super) async fn admits(&self, person: Person) -> bool {
        match &self.0 {
            Some(decide) => decide(person).await,
            None => true,
        }
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").finish_non_exhaustive()
    }
}

impl DiscordConfig {
    /// A configuration with only the required values.
    pub fn new(id: &str, token: SecretString) -> Self {
        Self {
            id: id.to_owned(),
            token,
            api_url: None,
            public_key: None,
            roots: Roots::default(),
            resolve: None,
            commands: Vec::new(),
            words: AdapterTexts::default(),
            admission: Admission::default(),
        }
    }
}

/// Certificates of authorities.
#[derive(Debug, Clone, Default)]
pub struct Roots(pub(super) Vec<CertificateDer<'static>>);

impl Roots {
    /// Parses a PEM file. The error says what is wrong with it.
    pub fn from_pem(pem: &[u8]) -> Result<Self, String> {
        let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let roots = roots.map_err(|e| format!("is not PEM: {e}"))?;
        if roots.is_empty() {
            return Err("contains no certificate".to_owned());
        }
        let mut store = rustls::RootCertStore::empty();
        for root in &roots {
            store
                .add(root.clone())
                .map_err(|e| format!("contains no certificate of an authority: {e}"))?;
        }
        Ok(Self(roots))
    }
}

/// A slash command. An invocation arrives as a text that begins with its name.
#[derive(Debug, Clone)]
pub struct Command {
    /// 1 to 32 lower-case letters, without the slash.
    pub name: String,
    /// 1 to 100 characters.
    pub description: LocalizedText,
    /// An optional argument: its name and description.
    pub argument: Option<(String, LocalizedText)>,
    /// Whether only the person who invokes it sees the answer.
    pub private: bool,
}

/// A text in several languages.
#[derive(Debug, Clone, Default)]
pub struct LocalizedText {
    /// The text for languages that are not among the others.
    pub english: String,
    /// By language: `de`, `zh`.
    pub others: BTreeMap<String, String>,
}

impl LocalizedText {
    /// The text in the language of the person's client (an IETF tag). Defaults to English.
    pub(super) fn to(&self, locale: &str) -> &str {
        let language = locale.split('-').next().unwrap_or_default();
        self.others.get(language).unwrap_or(&self.english)
    }

    /// The texts by Discord's language codes.
    /// <https://discord.com/developers/docs/reference#locales>
    pub(super) fn by_locale(&self) -> BTreeMap<&str, &str> {
        let named = self.others.iter().flat_map(|(language, text)| {
            let names: &[&str] = match language.as_str() {
                "en" => &["en-GB", "en-US"],
                "es" => &["es-419", "es-ES"],
                "pt" => &["pt-BR"],
                "sv" => &["sv-SE"],
                "zh" => &["zh-CN"],
                other => &[other],
            };
            names.iter().map(|name| (*name, text.as_str())).collect::<Vec<_>>()
        });
        named.collect()
    }
}

impl From<&str> for LocalizedText {
    fn from(english: &str) -> Self {
        Self { english: english.to_owned(), others: BTreeMap::new() }
    }
}

/// The texts of the adapter itself.
#[derive(Debug, Clone)]
pub struct AdapterTexts {
    /// The label of the field for a reason, at most 45 characters.
    pub reason: LocalizedText,
    /// The title of the modal, at most 45 characters.
    pub denial: LocalizedText,
    /// The reply to a press or command that cannot be parsed.
    pub unreadable: LocalizedText,
    /// The reply to a person who is not admitted.
    pub not_yours: LocalizedText,
}

impl Default for AdapterTexts {
    fn default() -> Self {
        Self {
            reason: "Why not?".into(),
            denial: "Deny".into(),
            unreadable: "That button or command isn't valid, so nothing was done. Please send a \
                         message instead."
                .into(),
            not_yours: "You can't decide this.".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_in_the_language_of_the_person() {
        let others = [("de", "Nein"), ("es", "No")].map(|(l, t)| (l.to_owned(), t.to_owned()));
        let localized = LocalizedText { english: "Nope".to_owned(), others: others.into() };
        assert_eq!(
            [localized.to("de"), localized.to("es-419"), localized.to("fr")],
            ["Nein", "No", "Nope"]
        );
        let names: Vec<&str> = localized.by_locale().into_keys().collect();
        assert_eq!(names, ["de", "es-419", "es-ES"]);
    }

    #[test]
    fn invalid_certificates_are_rejected_with_a_reason() {
        assert!(Roots::from_pem(b"").is_err_and(|reason| reason.contains("no certificate")));
        let odd = b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        assert!(Roots::from_pem(odd).is_err_and(|reason| reason.contains("authority")));
    }
}
