//! The texts about linking accounts.

use super::{Fmt1, Fmt2};

/// The texts about linked accounts, in one language.
pub struct LinkingTexts {
    /// The code.
    pub code: Fmt1,
    /// The name and the channel of the other account.
    pub linked: Fmt2,
    pub own_code: &'static str,
    pub wrong: &'static str,
    pub unlinked: &'static str,
    pub not_linked: &'static str,
    pub private_only: &'static str,
    /// For a person whose vote cannot be counted before the accounts are linked.
    pub link_first: &'static str,
}

pub const ENGLISH: LinkingTexts = LinkingTexts {
    code: |code| {
        format!(
            "Your code is `{code}`. It works once, for 10 minutes. From your other account, send \
             `/link {code}` to the bot in a private chat. Both accounts then count as one person. \
             Don't give the code to anyone."
        )
    },
    linked: |name, channel| {
        format!(
            "This account is now linked to {name} on {channel}: both count as one person. If \
             that isn't you, send /link off."
        )
    },
    own_code: "This code is from this account. Send it from your other account.",
    wrong: "This code doesn't work, or it has expired. Send /link from your other account to get \
            a new one.",
    unlinked: "This account is no longer linked.",
    not_linked: "This account isn't linked.",
    private_only: "Other people can read messages here. Send /link in a private chat with the bot.",
    link_first: "This request needs different people to decide, so your accounts must be linked \
                 first. Send /link to the bot on the channel where it was made, and then send \
                 the code from this account.",
};

pub const GERMAN: LinkingTexts = LinkingTexts {
    code: |code| {
        format!(
            "Dein Code ist `{code}`. Er gilt einmal, zehn Minuten lang. Schick dem Bot von deinem \
             anderen Konto in einem privaten Chat `/link {code}`. Beide Konten zählen dann als \
             eine Person. Gib den Code niemandem."
        )
    },
    linked: |name, channel| {
        format!(
            "Dieses Konto ist jetzt mit {name} auf {channel} verknüpft: Beide zählen als eine \
             Person. Wenn du das nicht bist, schick /link off."
        )
    },
    own_code: "Dieser Code stammt von diesem Konto. Schick ihn von deinem anderen Konto.",
    wrong: "Dieser Code gilt nicht oder ist abgelaufen. Schick /link von deinem anderen Konto, um \
            einen neuen zu bekommen.",
    unlinked: "Dieses Konto ist nicht mehr verknüpft.",
    not_linked: "Dieses Konto ist nicht verknüpft.",
    private_only: "Hier lesen andere mit. Schick /link in einem privaten Chat mit dem Bot.",
    link_first: "Über diese Anfrage müssen verschiedene Personen entscheiden. Verknüpfe deshalb \
                 zuerst deine Konten: Schick dem Bot /link auf dem Kanal, auf dem sie gestellt \
                 wurde, und dann den Code von diesem Konto.",
};

pub const SPANISH: LinkingTexts = LinkingTexts {
    code: |code| {
        format!(
            "Tu código es `{code}`. Sirve una vez, durante 10 minutos. Desde tu otra cuenta, envía \
             `/link {code}` al bot en un chat privado. Después, ambas cuentas cuentan como una \
             sola persona. No le des el código a nadie."
        )
    },
    linked: |name, channel| {
        format!(
            "Esta cuenta está vinculada ahora con {name} en {channel}: ambas cuentan como una sola \
             persona. Si no eres tú, envía /link off."
        )
    },
    own_code: "Este código es de esta cuenta. Envíalo desde tu otra cuenta.",
    wrong: "Este código no sirve o ha caducado. Envía /link desde tu otra cuenta para obtener uno \
            nuevo.",
    unlinked: "Esta cuenta ya no está vinculada.",
    not_linked: "Esta cuenta no está vinculada.",
    private_only: "Aquí pueden leer otras personas. Envía /link en un chat privado con el bot.",
    link_first: "Esta solicitud la deben decidir personas distintas, así que primero debes \
                 vincular tus cuentas. Envía /link al bot en el canal donde se hizo y, después, \
                 el código desde esta cuenta.",
};

pub const CHINESE: LinkingTexts = LinkingTexts {
    code: |code| {
        format!(
            "你的代码是 `{code}`，10 分钟内有效，只能使用一次。请用你的另一个账号在私聊中向机器人发送 \
             `/link {code}`。之后两个账号将视为同一个人。请勿将代码告诉他人。"
        )
    },
    linked: |name, channel| {
        format!(
            "此账号现已与 {channel} 上的 {name} 关联：两者视为同一个人。如果那不是你，请发送 /link off。"
        )
    },
    own_code: "此代码来自本账号。请用你的另一个账号发送。",
    wrong: "此代码无效或已过期。请用你的另一个账号发送 /link 获取新代码。",
    unlinked: "此账号已取消关联。",
    not_linked: "此账号未关联。",
    private_only: "这里的消息其他人也能看到。请在与机器人的私聊中发送 /link。",
    link_first: "此请求须由不同的人决定，因此你需要先关联账号。请在提出请求的渠道向机器人发送 /link，\
                 再用本账号发送代码。",
};
