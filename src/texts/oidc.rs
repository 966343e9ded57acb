//! What whoever signs in through the operator's issuer is told.

use serde::Serialize;

/// As [`super::Page`], of which it is a part.
#[derive(Debug, Serialize)]
pub struct SignOn {
    pub sign_in_by_account: &'static str,
    pub sign_in_failed: &'static str,
    pub issuer_silent: &'static str,
    pub not_let_in: &'static str,
    pub signed_in: &'static str,
    pub go_on: &'static str,
}

pub(super) const ENGLISH: SignOn = SignOn {
    sign_in_by_account: "Sign in with your account",
    sign_in_failed: "Signing in did not work. Try it once more from the beginning.",
    issuer_silent: "The service that signs you in does not answer. Try again in a moment.",
    not_let_in: "Your account is known, but may do nothing here. Ask whoever runs this bot.",
    signed_in: "You are signed in.",
    go_on: "Continue",
};

pub(super) const GERMAN: SignOn = SignOn {
    sign_in_by_account: "Mit deinem Konto anmelden",
    sign_in_failed: "Die Anmeldung hat nicht geklappt. Versuche es noch einmal von vorn.",
    issuer_silent: "Der Anmeldedienst antwortet nicht. Versuche es gleich noch einmal.",
    not_let_in: "Dein Konto ist bekannt, darf hier aber nichts. Frage, wer diesen Bot betreibt.",
    signed_in: "Du bist angemeldet.",
    go_on: "Weiter",
};

pub(super) const SPANISH: SignOn = SignOn {
    sign_in_by_account: "Iniciar sesión con tu cuenta",
    sign_in_failed: "No se ha podido iniciar sesión. Inténtalo otra vez desde el principio.",
    issuer_silent: "El servicio de inicio de sesión no responde. Inténtalo de nuevo en un momento.",
    not_let_in: "Tu cuenta es conocida, pero aquí no tiene permisos. Pregunta a quien gestiona este bot.",
    signed_in: "Has iniciado sesión.",
    go_on: "Continuar",
};

pub(super) const CHINESE: SignOn = SignOn {
    sign_in_by_account: "使用你的账号登录",
    sign_in_failed: "登录未成功。请从头再试一次。",
    issuer_silent: "登录服务没有响应。请稍后再试。",
    not_let_in: "你的账号已被识别，但在此没有任何权限。请联系此机器人的管理员。",
    signed_in: "你已登录。",
    go_on: "继续",
};
