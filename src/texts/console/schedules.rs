//! Texts of the form for schedules.

use super::{ConsoleText, text};

pub(super) const TEXTS: &[ConsoleText] = &[
    text("Saved.", "Gespeichert.", "Guardado.", "已保存。"),
    text("Create a schedule", "Zeitplan anlegen", "Crear una programación", "创建定时任务"),
    text("Change a schedule", "Zeitplan ändern", "Cambiar una programación", "修改定时任务"),
    text(
        "It runs like one that the person has set up in the chat: with their role, and under the guard rules.",
        "Er läuft wie einer, den die Person im Chat angelegt hat: mit ihrer Rolle und nach denselben Regeln.",
        "Se ejecuta como si la persona la hubiera creado en el chat: con su rol y según las reglas.",
        "其运行方式与该用户在聊天中创建的相同：使用该用户的角色，并遵守防护规则。",
    ),
    text(
        "People of all conversations",
        "Personen aller Unterhaltungen",
        "Personas de todas las conversaciones",
        "所有对话中的人员",
    ),
    text("choose", "auswählen", "elegir", "请选择"),
    text(
        "Reminder: the text is shown",
        "Erinnerung: der Text wird angezeigt",
        "Recordatorio: se muestra el texto",
        "提醒：显示文本",
    ),
    text(
        "Task: the agent carries it out",
        "Aufgabe: der Agent führt sie aus",
        "Tarea: el agente la realiza",
        "任务：由智能体执行",
    ),
    text("Text", "Text", "Texto", "文本"),
    text("Time", "Zeit", "Hora", "时间"),
    text("Time zone", "Zeitzone", "Zona horaria", "时区"),
    text("for a time,", "für einen Zeitpunkt,", "para una hora concreta,", "表示某一时间，"),
    text("or", "oder", "o", "或"),
    text(
        "for a while or an interval,",
        "für eine Dauer oder einen Abstand,",
        "para un plazo o un intervalo,",
        "表示时长或间隔，",
    ),
    text(
        "for a cron expression.",
        "für einen Cron-Ausdruck.",
        "para una expresión cron.",
        "表示 cron 表达式。",
    ),
];

/// The choices of the form, which are values.
pub(super) const CHOICES: &[ConsoleText] = &[
    text(
        "once, at a time",
        "einmal, zu einem Zeitpunkt",
        "una vez, a una hora concreta",
        "一次，在指定时间",
    ),
    text(
        "once, after a while",
        "einmal, nach Ablauf einer Frist",
        "una vez, pasado un plazo",
        "一次，在一段时间后",
    ),
    text(
        "repeatedly, at an interval",
        "wiederholt, in festem Abstand",
        "repetidamente, cada cierto intervalo",
        "重复，按间隔",
    ),
    text(
        "by a cron expression",
        "nach einem Cron-Ausdruck",
        "según una expresión cron",
        "按 cron 表达式",
    ),
];
