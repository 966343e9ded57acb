//! What one Discord bot account needs.

use std::{collections::BTreeMap, net::SocketAddr};

use rustls::pki_types::{CertificateDer, pem::PemObject};
use secrecy::SecretString;
use url::Url;

/// One bot account.
#[derive(Debug, Clone)]
pub struct DiscordConfig {
    pub id: String,
    /// As the developer portal gave it, without `Bot` in front.
    pub token: SecretString,
    /// A stand-in for `https://discord.com`.
    pub api_url: Option<Url>,
    /// The application's public key, 64 hexadecimal digits: with it, interactions that Discord
    /// pushes are taken.
    pub public_key: Option<String>,
    /// Who else may vouch for the platform's servers, besides those whom browsers trust.
    pub roots: Roots,
    /// Where all of its servers are, whatever DNS says.
    pub resolve: Option<SocketAddr>,
    /// The slash commands; with none, those that are registered are left alone.
    pub commands: Vec<Command>,
    pub words: Words,
}

impl DiscordConfig {
    /// With nothing but what every account needs.
    pub fn new(id: &str, token: SecretString) -> Self {
        Self {
            id: id.to_owned(),
            token,
            api_url: None,
            public_key: None,
            roots: Roots::default(),
            resolve: None,
            commands: Vec::new(),
            words: Words::default(),
        }
    }
}

/// Certificates of authorities.
#[derive(Debug, Clone, Default)]
pub struct Roots(pub(super) Vec<CertificateDer<'static>>);

impl Roots {
    /// Reads a PEM file; the error says what is wrong with it.
    pub fn from_pem(pem: &[u8]) -> Result<Self, String> {
        let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let roots = roots.map_err(|e| format!("is not PEM: {e}"))?;
        if roots.is_empty() {
            return Err("holds no certificate".to_owned());
        }
        let mut store = rustls::RootCertStore::empty();
        for root in &roots {
            store
                .add(root.clone())
                .map_err(|e| format!("holds no authority's certificate: {e}"))?;
        }
        Ok(Self(roots))
    }
}

/// A slash command. A call of it comes as a text that begins with its name.
#[derive(Debug, Clone)]
pub struct Command {
    /// 1 to 32 lower-case letters, without the slash.
    pub name: String,
    /// 1 to 100 characters.
    pub description: Worded,
    /// A text that may follow: its name and description.
    pub argument: Option<(String, Worded)>,
    /// Whether only who calls it sees the answer.
    pub private: bool,
}

/// A text in the languages that there are.
#[derive(Debug, Clone, Default)]
pub struct Worded {
    pub english: String,
    /// By language: `de`, `zh`.
    pub others: BTreeMap<String, String>,
}

impl Worded {
    /// In the language of the person's client (an IETF tag), or in English.
    pub(super) fn to(&self, locale: &str) -> &str {
        let language = locale.split('-').next().unwrap_or_default();
        self.others.get(language).unwrap_or(&self.english)
    }

    /// By Discord's own names of languages.
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

impl From<&str> for Worded {
    fn from(english: &str) -> Self {
        Self { english: english.to_owned(), others: BTreeMap::new() }
    }
}

/// What the adapter itself has to say.
#[derive(Debug, Clone)]
pub struct Words {
    /// Above the field in which a reason is typed, at most 45 characters.
    pub reason: Worded,
    /// The title of the window around it, at most 45 characters.
    pub denial: Worded,
    /// To somebody whose press or command cannot be read.
    pub unreadable: Worded,
}

impl Default for Words {
    fn default() -> Self {
        Self {
            reason: "Why not?".into(),
            denial: "Deny".into(),
            unreadable: "This could not be read here, and nothing was done. Please write a \
                         message instead."
                .into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_speaks_the_language_of_the_person() {
        let others = [("de", "Nein"), ("es", "No")].map(|(l, t)| (l.to_owned(), t.to_owned()));
        let worded = Worded { english: "Nope".to_owned(), others: others.into() };
        assert_eq!([worded.to("de"), worded.to("es-419"), worded.to("fr")], ["Nein", "No", "Nope"]);
        let names: Vec<&str> = worded.by_locale().into_keys().collect();
        assert_eq!(names, ["de", "es-419", "es-ES"]);
    }

    #[test]
    fn what_is_no_certificate_is_refused_with_a_reason() {
        assert!(Roots::from_pem(b"").is_err_and(|reason| reason.contains("no certificate")));
        let odd = b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
        assert!(Roots::from_pem(odd).is_err_and(|reason| reason.contains("authority")));
    }
}
