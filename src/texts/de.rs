//! German.

use super::{Doubt, Lasting, Messages, UsedUp, Whose, Why, linking};

pub(super) const WORDS: Messages = Messages {
    may_run: |tool| format!("**{tool}** erlauben?"),
    run_again: |tool| format!("**{tool}** wurde unterbrochen. Noch einmal ausführen?"),
    argument_below: |name, length, digest| {
        format!("{name}: {length} Zeichen, SHA-256 `{digest}…`, siehe unten")
    },
    argument_cut: |name, shown, length, digest| {
        format!("{name}: die ersten {shown} von {length} Zeichen, SHA-256 `{digest}…`")
    },
    asked_for: |by, until, code| format!("Im Auftrag von {by}. Offen bis {until}, Code `{code}`."),
    allow_once: "Einmal erlauben",
    allow_conversation: "In dieser Unterhaltung erlauben",
    allow_always: "Immer…",
    deny: "Ablehnen",
    deny_with_reason: "Mit Grund ablehnen",
    again: "Noch einmal",
    skip: "Überspringen",
    show_everything: "Alles zeigen",
    everything_sent: "Alle Argumente kommen gleich als Datei.",
    everything_sent_before: "Diese Datei wurde schon gesendet.",
    not_all_shown: "Hier steht nicht alles: „Alles zeigen“ schickt es vollständig als Datei.",
    contacts_host: |written, host| format!("⚠️ {written} ist der Host {host}"),
    and_more_hosts: |count| format!("⚠️ … und {count} weitere Hosts, die anders geschrieben sind"),
    allowed_by: |by| format!("Erlaubt von {by}."),
    denied_by: |by| format!("Abgelehnt von {by}."),
    nobody_in_time: "Abgelehnt: Niemand hat rechtzeitig geantwortet.",
    withdrawn_by: |by| format!("Zurückgezogen von {by}."),
    superseded_by: |by| format!("Überholt: {by} hat die Bitte geändert."),
    undeliverable: "Abgelehnt: Niemandem, der entscheiden darf, konnte es gezeigt werden.",
    still_open: "Diese Frage ist noch offen.",
    allowed: "Erlaubt.",
    denied: "Abgelehnt.",
    expired: "Zu spät: Die Frage war abgelaufen, das gilt als abgelehnt.",
    withdrawn: "Die Frage wurde zurückgezogen.",
    superseded: "Die Bitte wurde geändert; diese Frage zählt nicht mehr.",
    already_allowed: |by| format!("Schon erlaubt von {by}."),
    already_denied: |by| format!("Schon abgelehnt von {by}."),
    not_yours: "Darüber entscheidet nur, wer darum gebeten hat.",
    not_your_own: "Darüber muss jemand anderes entscheiden als die Person, die darum gebeten hat.",
    not_for_you: "Darüber entscheiden andere, so will es die Regel.",
    no_such_button: "Dieser Knopf gilt nicht mehr.",
    nothing_pending: "Hier wartet nichts auf eine Entscheidung.",
    which_one: "Mehrere Fragen sind offen. Nenne eine mit dem Code, den sie zeigt, etwa \
        `/allow 1a2b3c4d`.",
    waiting_for_you: "Ich warte noch auf eine Entscheidung über die Frage oben. Deine Nachricht \
        habe ich notiert und lese sie danach. /stop zieht die Frage zurück.",
    the_bot: "dem Bot, der die Aufgabe aufgeben musste",
    why_not: "Warum nicht?",
    unreadable: "Das konnte hier nicht gelesen werden, und nichts ist geschehen. Bitte schreib eine Nachricht.",
    not_shown_yet: "Eine Frage ist unterwegs zu dir. Bitte lies sie, bevor du entscheidest.",
    help: "Schreib mir einfach. Bevor ich etwas verändere, frage ich mit Knöpfen.\n\n\
        - /new beginnt eine neue Unterhaltung\n\
        - /stop beendet, was ich tue, und zieht offene Fragen zurück\n\
        - /allow, /here, /always und /deny beantworten eine offene Frage ohne ihre Knöpfe\n\
        - /status sagt, worauf ich warte\n\
        - /model zeigt die Sprachmodelle und wechselt zu einem\n\
        - /whoami zeigt, als wen ich dich kenne",
    menu: [
        "Ein neues Gespräch beginnen",
        "Beenden, was ich tue, offene Fragen zurückziehen",
        "Worauf ich warte",
        "Sprachmodell zeigen oder wechseln",
        "Was du auf Dauer erlaubt hast, und wie du es zurücknimmst",
        "Woher ich dich kenne",
        "Was ich kann",
        "Alle Werkzeuge sofort anhalten, überall (Besitzer)",
    ],
    stopped: "Beendet.",
    fresh: "Eine neue Unterhaltung. Was vorher gesagt wurde, habe ich vergessen.",
    paired: "Willkommen! Du kannst jetzt mit mir sprechen. /help sagt, wie.",
    paired_owner: "Willkommen! Du bist hier die erste Person, also gehöre ich dir. /help sagt, \
        wie man mit mir spricht.",
    wrong_code: "Dieser Code gilt nicht. Bitte die Betreiberin oder den Betreiber um einen neuen.",
    locked: "Zu viele falsche Codes. Versuch es in 15 Minuten wieder.",
    stranger: |id| {
        format!(
            "Ich kenne dich noch nicht. Bitte die Betreiberin oder den Betreiber um einen Code \
             und schick ihn mir, oder lass deine Kennung `{id}` in `allow` eintragen."
        )
    },
    unsupported: |content| {
        format!("Damit kann ich noch nichts anfangen ({content}). Bitte schreib es als Text.")
    },
    whoami: |name, id, channel, role| format!("Du bist {name} (`{id}`) auf `{channel}`, {role}."),
    open_questions: |open| match open {
        0 => "Keine Frage ist offen.".into(),
        1 => "Eine Frage wartet auf eine Entscheidung.".into(),
        n => format!("{n} Fragen warten auf eine Entscheidung."),
    },
    at_work: |names| format!("Teilagenten bei der Arbeit: {names}."),
    models: |now, all| {
        format!("Diese Unterhaltung nutzt `{now}`. Es gibt: {all}. `/model NAME` wechselt.")
    },
    model_now: |name| format!("Ab jetzt nutzt diese Unterhaltung `{name}`."),
    no_such_model: |name, all| format!("Ein Modell {name} gibt es nicht. Es gibt: {all}."),
    may_not: |role| format!("Dafür brauchst du die Rolle `{role}`. /whoami zeigt deine."),
    reference: |reason, reference| format!("{reason}\n\nKennung: `{reference}`"),
    no_answer: "Das Sprachmodell hat leer geantwortet. Bitte frag noch einmal.",
    model_unavailable: "Ich konnte das Sprachmodell auch nach mehreren Versuchen nicht erreichen. \
        Bitte schreib in einer Weile wieder.",
    model_refused: "Das Sprachmodell lehnt meine Anfragen ab. Der Grund steht im Protokoll.",
    broken: "Auf meiner Seite ist etwas schiefgegangen, ich konnte das nicht beenden.",
    out_of_steps: |steps| {
        format!(
            "Ich habe nach {steps} Schritten aufgehört, mehr darf eine Aufgabe nicht brauchen. \
             Sag \u{201e}weiter\u{201c}, um fortzufahren."
        )
    },
    out_of_tokens: |tokens| {
        format!(
            "Ich habe aufgehört: Diese Aufgabe hat ihre {tokens} Tokens verbraucht. Sag \
             \u{201e}weiter\u{201c}, um fortzufahren."
        )
    },
    out_of_minutes: |minutes| {
        format!(
            "Ich habe aufgehört: Diese Aufgabe hat länger als {minutes} Minuten gedauert. Sag \
             \u{201e}weiter\u{201c}, um fortzufahren."
        )
    },
    perhaps_twice: "Das steht womöglich schon hier: Die Plattform hat nicht gesagt, ob es angekommen war.",
    whole_answer: "Die Antwort ist lang. Vollständig steht sie in dieser Datei.",
    file_missing: |name| {
        format!(
            "Die Datei {name} kann nicht gesendet werden: Ihr Inhalt fehlt oder ist beschädigt."
        )
    },
    file_gone: |name| {
        format!("Die Datei {name} konnte ich nicht abholen. Bitte schick sie noch einmal.")
    },
    file_too_large: |name, most| {
        format!("Die Datei {name} ist mir zu groß: Ich nehme höchstens {most}.")
    },
    linking: linking::GERMAN,
    lasting: Lasting {
        votes: |so_far, needed, names| format!("{so_far} von {needed}: {names}"),
        from_elsewhere: |name, channel| format!("{name}, auf {channel}"),
        whose_person: "für das, was die Person will, die gefragt hat, in jedem Chat",
        whose_conversation: "für alle in dieser Unterhaltung",
        whose_bot: "für alle, in jedem Chat",
        proposal: |[tool, covered, whose, until, uses]| {
            format!(
                "**Immer** würde erlauben, ohne noch einmal zu fragen:\n\n- {tool}: {covered}\n\
                 - {whose}\n- bis {until}, {uses}\n\nDiese Erlaubnis geben?"
            )
        },
        type_yes: |code| {
            format!(
                "Schreib `/always {code} yes`, und dahinter, was anders sein soll: `conversation`, \
                 `7d`, `5x`."
            )
        },
        everything: "mit beliebigen Argumenten",
        below: |folder| format!("nur Pfade unter {folder}"),
        exactly: |text| format!("nur {text}"),
        origin: |origin| format!("nur Adressen von {origin}"),
        command: |words| format!("nur {words}, ohne andere Optionen"),
        uses: |left| match left {
            None => "beliebig oft".into(),
            Some(1) => "einmal".into(),
            Some(n) => format!("{n}-mal"),
        },
        give: "Geben",
        back: "Zurück",
        revoke: "Widerrufen",
        from_now_on: |covered, until| format!("Von jetzt an ohne Frage: {covered}, bis {until}."),
        revoked_by: |by| format!("Die Erlaubnis für spätere Aufrufe hat {by} widerrufen."),
        nothing: "Nichts ist auf Dauer erlaubt.",
        list: "Ohne Frage erlaubt:",
        for_person: |person| format!("für {person}"),
        in_conversation: "in einer Unterhaltung",
        for_everybody: "für alle",
        line: |[whose, until, uses, by]| format!("{whose}, bis {until}, {uses}, gegeben von {by}"),
        proposed: "Lies, was es erlauben würde, dann gib es oder geh zurück.",
        not_given: "Nichts wurde entschieden.",
        not_offered: "Das kann nur einmal erlaubt oder abgelehnt werden.",
        revoked: "Widerrufen: Ab jetzt frage ich wieder.",
        no_such_grant: "Diese Erlaubnis gilt nicht mehr.",
        not_your_grant: "Diese Erlaubnis darfst du nicht widerrufen.",
        grants_usage: "`/grants revoke 1a2b3c4d` nimmt eine zurück, mit ihrem Code.",
        not_for_others: "Für alle hier kann nur erlauben, wer für alle hier entscheiden darf. Ohne das gilt es für die Person, die gefragt hat.",
        owner_only: "Das darf nur, wem dieser Bot gehört.",
        moved_here: "Diese Frage kann ich dort nicht mehr zeigen, wo sie gestellt wurde, also frage \
            ich dich hier.",
        all_halted: "Alle Werkzeuge sind angehalten. Nichts kann erlaubt werden, bis das aufgehoben \
            ist.",
        lifted: "Aufgehoben: Die Werkzeuge laufen wieder.",
        not_halted: "Nichts war angehalten.",
        panic_usage: "`/panic` hält alle Werkzeuge an und lehnt alle offenen Fragen ab; `/panic off` \
            hebt das auf.",
        halted: |denied| {
            format!(
                "Alle Werkzeuge sind angehalten, auf jedem Knoten. Abgelehnte Fragen: {denied}. \
                 /panic off hebt das auf."
            )
        },
    },
    why: Why {
        rule_asks: |rule| format!("Die Regel \u{201e}{rule}\u{201c} fragt"),
        rule_unclear: |rule, why| {
            format!("Die Regel \u{201e}{rule}\u{201c} kann nicht ausgewertet werden: {why}")
        },
        unclear: |why| format!("Keine Regel kann es beurteilen: {why}"),
        doubt: |why| match why {
            Doubt::NotThere => "was sie betrachtet, fehlt oder ist vorher nicht bekannt",
            Doubt::NoCommand => "es gibt keinen Befehl zu lesen",
            Doubt::NoShell => "es ist kein lesbarer Shell-Befehl",
            Doubt::TooMany => "es enthält zu viele Befehle",
            Doubt::TooDeep => "es ist zu lang oder zu tief verschachtelt",
            Doubt::OtherShells => "nicht jede Shell liest es gleich",
            Doubt::PipedGroup => "etwas fließt in eine Gruppe von Befehlen",
            Doubt::Word => "es enthält ein Wort, das nicht zu lesen ist",
            Doubt::Braces => "es enthält Klammern, denen nicht gefolgt wird",
            Doubt::Variable => "es enthält eine Variable, der nicht gefolgt wird",
            Doubt::Program => "welches Programm es startet, ist vorher nicht bekannt",
            Doubt::Script => "es führt ein Skript aus, das vorher nicht bekannt ist",
            Doubt::Starts => "es verwendet ein Programm so, dass es andere Programme starten kann",
        },
        no_rule: "Keine Regel erlaubt es",
        full_stop: ".",
        outside: |tool| format!("{tool} wirkt nach außen."),
        read_others: |sources| {
            format!(
                "Diese Unterhaltung hat gelesen, was andere geschrieben haben: {sources}. Es kann \
                 ihr so aufgetragen worden sein."
            )
        },
        and_more: |more| format!(" und {more} weitere"),
        always_asks: |tool| format!("{tool} fragt jedes Mal."),
        changes: |tool| format!("{tool} verändert etwas, und keine Regel erlaubt es."),
        severity_high: "\u{1f534} Schweregrad: hoch.",
        severity_critical: "\u{1f534} Schweregrad: kritisch.",
        outcome_unknown: "Es wurde unterbrochen, und ob es gewirkt hat, ist nicht bekannt.",
    },
    was_due: |when| format!("Das war um {when} fällig."),
    circles: |tool| {
        format!(
            "Ich habe aufgehört: Ich drehte mich mit {tool} im Kreis, das jedes Mal dasselbe ergab. \
             Sag mir, wie es weitergehen soll."
        )
    },
    unreadable_calls: "Ich habe aufgehört: Mir ist kein lesbarer Werkzeugaufruf gelungen. Sag mir, \
                       wie es weitergehen soll, oder versuche mit /model ein anderes Modell.",
    day_used_up: |whose, what, wait| {
        let whose = match whose {
            Whose::Person => "dich",
            Whose::Conversation => "diese Unterhaltung",
            Whose::All => "alle zusammen",
        };
        let what = match what {
            UsedUp::Messages => "Nachrichten",
            UsedUp::Tokens => "Tokens",
            UsedUp::Money => "Geld",
        };
        format!(
            "Heute kann ich nicht weitermachen: Das Tageslimit an {what} für {whose} ist \
             aufgebraucht. Weiter geht es in {wait} (um Mitternacht UTC), oder wenn das Limit \
             angehoben wird."
        )
    },
    too_fast: |seconds| {
        format!(
            "Das war mir zu schnell: Deine letzte Nachricht habe ich nicht gelesen. Schreib in \
             {seconds} s wieder."
        )
    },
    asking: super::elicitation::GERMAN,
    page: super::page::GERMAN,
};
