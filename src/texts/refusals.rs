//! The texts about messages and files that the web chat refuses.

/// A part of [`super::ProblemTexts`].
#[derive(Debug)]
pub struct RefusalTexts {
    pub too_many_messages: &'static str,
    pub other_person: &'static str,
    pub not_the_last_message: &'static str,
    pub not_a_member: &'static str,
    /// `{value}` is the size.
    pub upload_limit: &'static str,
    pub upload_too_slow: &'static str,
    pub file_not_stored: &'static str,
    /// In a page of another site.
    pub chat_unavailable: &'static str,
}

pub(super) const ENGLISH: RefusalTexts = RefusalTexts {
    too_many_messages: "You're sending messages too quickly. Wait a few seconds and try again.",
    other_person: "Another person has signed in with this browser. Reload the page.",
    not_the_last_message: "Something was sent after this message. Only the last message of a \
        conversation can be answered again.",
    not_a_member: "You don't have access to this chat. Ask the person who runs this bot.",
    upload_limit: "You've reached today's upload limit ({value}). It resets at 00:00 UTC.",
    upload_too_slow: "The upload took too long. Try a smaller file or a faster connection.",
    file_not_stored: "The file could not be stored. Try again in a moment.",
    chat_unavailable: "The chat is not available right now. Try again in a moment.",
};

pub(super) const GERMAN: RefusalTexts = RefusalTexts {
    too_many_messages: "Du sendest zu schnell. Warte ein paar Sekunden und versuch es noch einmal.",
    other_person: "In diesem Browser hat sich eine andere Person angemeldet. Lade die Seite neu.",
    not_the_last_message: "Nach dieser Nachricht wurde noch etwas gesendet. Neu beantworten lässt \
        sich nur die letzte Nachricht einer Unterhaltung.",
    not_a_member: "Du hast keinen Zugriff auf diesen Chat. Wende dich an die Person, die diesen \
        Bot betreibt.",
    upload_limit: "Du hast das heutige Limit für Uploads erreicht ({value}). Es wird um 00:00 UTC \
        zurückgesetzt.",
    upload_too_slow: "Das Hochladen hat zu lange gedauert. Versuch es mit einer kleineren Datei \
        oder einer schnelleren Verbindung.",
    file_not_stored: "Die Datei konnte nicht gespeichert werden. Versuch es gleich noch einmal.",
    chat_unavailable: "Der Chat ist gerade nicht verfügbar. Versuch es gleich noch einmal.",
};

pub(super) const SPANISH: RefusalTexts = RefusalTexts {
    too_many_messages: "Envías mensajes demasiado rápido. Espera unos segundos e inténtalo de \
        nuevo.",
    other_person: "Otra persona ha iniciado sesión en este navegador. Recarga la página.",
    not_the_last_message: "Después de este mensaje se envió algo más. Solo se puede volver a \
        responder al último mensaje de una conversación.",
    not_a_member: "No tienes acceso a este chat. Contacta con la persona que gestiona este bot.",
    upload_limit: "Has alcanzado el límite de subidas de hoy ({value}). Se restablece a las 00:00 \
        UTC.",
    upload_too_slow: "La subida ha tardado demasiado. Prueba con un archivo más pequeño o una \
        conexión más rápida.",
    file_not_stored: "No se ha podido guardar el archivo. Inténtalo de nuevo en un momento.",
    chat_unavailable: "El chat no está disponible ahora. Inténtalo de nuevo en un momento.",
};

pub(super) const CHINESE: RefusalTexts = RefusalTexts {
    too_many_messages: "发送消息过快。请等几秒钟再试。",
    other_person: "已有其他人在此浏览器中登录。请重新加载页面。",
    not_the_last_message: "此消息之后又发送了其他内容。只能重新回答对话的最后一条消息。",
    not_a_member: "你无权访问此聊天。请联系此机器人的管理员。",
    upload_limit: "已达到今天的上传上限（{value}）。将于 UTC 00:00 重置。",
    upload_too_slow: "上传时间过长。请尝试较小的文件或更快的网络连接。",
    file_not_stored: "无法保存文件。请稍后再试。",
    chat_unavailable: "聊天暂时不可用。请稍后再试。",
};
