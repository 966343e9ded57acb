//! The texts in answers to OpenAI clients.

/// A part of [`super::PageTexts`].
#[derive(Debug)]
pub struct CompletionTexts {
    /// `{link}` is the page with the approvals.
    pub decide_at: &'static str,
    /// At the time limit, while an approval is open.
    pub still_undecided: &'static str,
    /// At the time limit, while the agent works.
    pub still_working: &'static str,
    /// Above messages of a dialogue that the gateway does not know.
    pub earlier_messages: &'static str,
}

pub(super) const ENGLISH: CompletionTexts = CompletionTexts {
    decide_at: "Waiting for a decision: {link}",
    still_undecided: "Nobody has decided yet. The rest of the answer comes with your next message.",
    still_working: "The agent is still working. The rest of the answer comes with your next \
        message.",
    earlier_messages: "Earlier messages, as the client sent them (unverified):",
};

pub(super) const GERMAN: CompletionTexts = CompletionTexts {
    decide_at: "Wartet auf eine Entscheidung: {link}",
    still_undecided: "Es hat noch niemand entschieden. Der Rest der Antwort kommt mit deiner \
        nächsten Nachricht.",
    still_working: "Der Agent arbeitet noch. Der Rest der Antwort kommt mit deiner nächsten \
        Nachricht.",
    earlier_messages: "Frühere Nachrichten, wie der Client sie gesendet hat (ungeprüft):",
};

pub(super) const SPANISH: CompletionTexts = CompletionTexts {
    decide_at: "A la espera de una decisión: {link}",
    still_undecided: "Aún no ha decidido nadie. El resto de la respuesta llegará con tu próximo \
        mensaje.",
    still_working: "El agente sigue trabajando. El resto de la respuesta llegará con tu próximo \
        mensaje.",
    earlier_messages: "Mensajes anteriores, tal como los envió el cliente (sin verificar):",
};

pub(super) const CHINESE: CompletionTexts = CompletionTexts {
    decide_at: "等待决定：{link}",
    still_undecided: "尚未有人作出决定。其余的回答将随你的下一条消息送达。",
    still_working: "代理仍在工作。其余的回答将随你的下一条消息送达。",
    earlier_messages: "客户端发送的先前消息（未经核实）：",
};
