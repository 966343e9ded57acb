//! The texts about signing in with an OpenID provider.

use serde::Serialize;

/// A part of [`super::PageTexts`].
#[derive(Debug, Serialize)]
pub struct SignInTexts {
    pub sign_in_by_account: &'static str,
    pub sign_in_failed: &'static str,
    pub provider_unreachable: &'static str,
    pub no_access: &'static str,
    pub signed_in: &'static str,
    pub go_on: &'static str,
}

pub(super) const ENGLISH: SignInTexts = SignInTexts {
    sign_in_by_account: "Sign in with your account",
    sign_in_failed: "Sign-in failed. Please start again.",
    provider_unreachable: "The sign-in service is not responding. Try again in a moment.",
    no_access: "Your account was recognized but has no access here. Ask the person who runs this bot.",
    signed_in: "You are signed in.",
    go_on: "Continue",
};

pub(super) const GERMAN: SignInTexts = SignInTexts {
    sign_in_by_account: "Mit deinem Konto anmelden",
    sign_in_failed: "Die Anmeldung ist fehlgeschlagen. Bitte fang noch einmal von vorn an.",
    provider_unreachable: "Der Anmeldedienst antwortet nicht. Versuch es gleich noch einmal.",
    no_access: "Dein Konto wurde erkannt, hat hier aber keinen Zugriff. Wende dich an die Person, \
        die diesen Bot betreibt.",
    signed_in: "Du bist angemeldet.",
    go_on: "Weiter",
};

pub(super) const SPANISH: SignInTexts = SignInTexts {
    sign_in_by_account: "Iniciar sesión con tu cuenta",
    sign_in_failed: "No se ha podido iniciar sesión. Empieza de nuevo.",
    provider_unreachable: "El servicio de inicio de sesión no responde. Inténtalo de nuevo en un momento.",
    no_access: "Tu cuenta se ha reconocido, pero no tiene acceso. Contacta con la persona que \
        gestiona este bot.",
    signed_in: "Has iniciado sesión.",
    go_on: "Continuar",
};

pub(super) const CHINESE: SignInTexts = SignInTexts {
    sign_in_by_account: "使用你的账号登录",
    sign_in_failed: "登录失败。请重新开始。",
    provider_unreachable: "登录服务没有响应。请稍后再试。",
    no_access: "你的账号已被识别，但没有访问权限。请联系此机器人的管理员。",
    signed_in: "你已登录。",
    go_on: "继续",
};
