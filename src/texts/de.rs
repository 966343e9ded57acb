//! German.

use super::{
    BudgetScope, GrantTexts, GrantWords, Messages, ReasonTexts, UnclearReason, UsedUp, linking,
};

pub(super) const WORDS: Messages = Messages {
    allowed_to_run: |tool| format!("**{tool}** erlauben?"),
    run_again: |tool| format!("**{tool}** wurde unterbrochen. Noch einmal ausführen?"),
    tool_sentence: |of| of.german,
    argument_below: |name| format!("{name}: siehe die Änderungen unten"),
    argument_cut: |name, shown, length, digest| {
        format!("{name}: die ersten {shown} von {length} Zeichen, SHA-256 `{digest}…`")
    },
    conversation_covers: |tool, by| {
        format!(
            "\u{201e}In dieser Unterhaltung erlauben\u{201c} gilt hier für jeden späteren Aufruf \
                von {tool}, den {by} anfragt, mit beliebigen Argumenten, bis /new."
        )
    },
    asked_for: |by, until, code| format!("Angefragt von {by}. Offen bis {until}, Code `{code}`."),
    previews: super::preview_notes::GERMAN,
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
    not_all_shown: "Hier ist nicht alles zu sehen. „Alles zeigen“ schickt alles als Datei.",
    contacts_host: |written, host| format!("⚠️ {written} verbindet sich mit {host}"),
    and_more_hosts: |count| {
        format!("⚠️ … und {count} weitere Hosts, die anders heißen als angegeben")
    },
    allowed_by: |by| format!("Erlaubt von {by}."),
    denied_by: |by| format!("Abgelehnt von {by}."),
    expired_notice: "Abgelehnt: Niemand hat rechtzeitig entschieden.",
    withdrawn_by: |by| format!("Zurückgezogen von {by}."),
    superseded_by: |by| format!("Überholt: {by} hat die Nachricht geändert."),
    undeliverable: "Abgelehnt: Die Anfrage konnte niemandem gezeigt werden, der entscheiden darf.",
    still_open: "Diese Anfrage ist noch offen.",
    allowed: "Erlaubt.",
    denied: "Abgelehnt.",
    expired: "Zu spät: Diese Anfrage ist abgelaufen und gilt als abgelehnt.",
    withdrawn: "Diese Anfrage wurde zurückgezogen.",
    superseded: "Die zugrunde liegende Nachricht wurde geändert, diese Anfrage gilt nicht mehr.",
    already_allowed: |by| format!("Schon erlaubt von {by}."),
    already_denied: |by| format!("Schon abgelehnt von {by}."),
    not_yours: "Nur die anfragende Person kann das erlauben oder ablehnen.",
    not_your_own: "Darüber muss jemand anderes als die anfragende Person entscheiden.",
    not_for_you: "Darüber kannst du nicht entscheiden: Die Richtlinie sieht andere Personen vor.",
    no_such_button: "Diese Schaltfläche gilt nicht mehr.",
    nothing_pending: "Hier gibt es keine offenen Anfragen.",
    which_one: "Es sind mehrere Anfragen offen. Gib den Code der gemeinten Anfrage an, zum \
        Beispiel `/allow 1a2b3c4d`.",
    waiting_for_you: "Ich warte noch auf eine Entscheidung über die Anfrage oben. Deine Nachricht \
        habe ich gespeichert und lese sie danach. /stop zieht die Anfrage zurück.",
    the_bot: "dem Bot, weil die Aufgabe fehlgeschlagen ist",
    why_not: "Warum nicht?",
    unreadable: "Das konnte ich nicht lesen, deshalb ist nichts passiert. Bitte schreib \
        stattdessen eine Nachricht.",
    not_shown_yet: "Eine Anfrage wird dir gerade geschickt. Bitte lies sie, bevor du entscheidest.",
    help: "Schreib mir einfach. Bevor ich etwas ändere, bitte ich dich um Erlaubnis.\n\n- /new \
        beginnt eine neue Unterhaltung\n- /stop bricht ab, was ich gerade tue, und zieht offene \
        Anfragen zurück\n- /allow, /here, /always, /deny und /answer entscheiden oder \
        beantworten eine offene Anfrage ohne Schaltflächen; /withdraw zieht eine Stimme zurück\n- \
        /grants zeigt und widerruft Berechtigungen\n- /status zeigt, worauf ich warte\n- /model \
        zeigt die Sprachmodelle und wechselt zwischen ihnen\n- /link verknüpft deine Konten\n- \
        /whoami zeigt, wer du für mich bist\n- /panic hält alle Werkzeuge überall an (Besitzer)",
    help_prompts: "Vorlagen (Prompts) von Werkzeugservern:",
    prompt_usage: |usage| format!("Bitte schreib es so: `{usage}`"),
    prompt_failed: |prompt, server| {
        format!(
            "Der Werkzeugserver {server} hat die Vorlage {prompt} nicht geliefert. Versuch es später noch einmal."
        )
    },
    menu: [
        "Eine neue Unterhaltung beginnen",
        "Abbrechen, was ich gerade tue, und offene Anfragen zurückziehen",
        "Zeigen, worauf ich warte",
        "Sprachmodell anzeigen oder wechseln",
        "Berechtigungen anzeigen oder widerrufen",
        "Zeigen, wer du für mich bist",
        "Zeigen, was ich kann",
        "Alle Werkzeuge sofort anhalten, überall (Besitzer)",
    ],
    stopped: "Abgebrochen.",
    conversation_restarted: "Neue Unterhaltung. Alles Vorherige habe ich vergessen.",
    paired: "Willkommen! Du kannst jetzt mit mir schreiben. /help zeigt, wie.",
    paired_owner: "Willkommen! Du bist die erste Person hier, deshalb hast du die Rolle \
        Besitzer (owner). /help zeigt, wie du mit mir schreibst.",
    wrong_code: "Dieser Code ist ungültig. Bitte die Person, die den Bot betreibt, um einen neuen.",
    locked: "Zu viele falsche Codes. Versuche es in 15 Minuten noch einmal.",
    stranger: |id| {
        format!(
            "Ich kenne dich noch nicht. Bitte die Person, die den Bot betreibt, um einen \
                Kopplungscode und schick ihn mir, oder lass deine ID `{id}` in `allow` eintragen."
        )
    },
    unsupported: |content| {
        format!(
            "Diese Art von Nachricht ({content}) kann ich noch nicht lesen. Bitte schick sie \
            als Text."
        )
    },
    whoami: |name, id, channel, role| format!("Du bist {name} (`{id}`) auf `{channel}`, {role}."),
    pending_approvals: |open| match open {
        0 => "Es gibt keine offenen Anfragen.".into(),
        1 => "Eine Anfrage wartet auf eine Entscheidung.".into(),
        n => format!("{n} Anfragen warten auf eine Entscheidung."),
    },
    at_work: |names| format!("Aktive Unteragenten: {names}."),
    models: |now, all| {
        format!(
            "Diese Unterhaltung nutzt `{now}`. Verfügbare Modelle: {all}. `/model NAME` wechselt."
        )
    },
    model_now: |name| format!("Ab jetzt nutzt diese Unterhaltung `{name}`."),
    no_such_model: |name, all| {
        format!("Ein Modell {name} gibt es nicht. Verfügbare Modelle: {all}.")
    },
    may_not: |role| {
        format!("Dafür brauchst du mindestens die Rolle `{role}`. /whoami zeigt deine.")
    },
    reference: |reason, reference| format!("{reason}\n\nReferenz: `{reference}`"),
    with_cause: |reason, cause| {
        format!("{reason}\n\nUrsache, für dich als Besitzer sichtbar: {cause}")
    },
    no_answer: "Das Sprachmodell hat eine leere Antwort gegeben. Bitte frag noch einmal.",
    model_unavailable: "Ich konnte das Sprachmodell auch nach mehreren Versuchen nicht erreichen. \
        Bitte versuch es später noch einmal.",
    model_refused: "Das Sprachmodell lehnt meine Anfragen ab. Die Ursache findet die Person, die \
        den Bot betreibt, in der Konsole.",
    model_too_long: "Diese Unterhaltung ist zu lang für das Sprachmodell, auch nachdem ich sie \
        gekürzt habe. /new beginnt eine neue.",
    model_too_large: "Diese Unterhaltung ist größer, als der Server des Sprachmodells annimmt, \
        wahrscheinlich wegen Bildern oder langer Texte. /new beginnt eine neue.",
    model_filtered: "Der Inhaltsfilter des Sprachmodells hat das blockiert. Bitte formuliere deine \
        Anfrage anders.",
    model_malformed_call: "Das Sprachmodell wollte mehrmals ein Werkzeug benutzen, hat den Aufruf \
        aber fehlerhaft geschrieben. Bitte frag noch einmal oder mit anderen Worten.",
    model_failed: "Der Anbieter des Sprachmodells hat während der Antwort einen Fehler gemeldet. \
        Bitte frag noch einmal.",
    broken: "Bei mir ist etwas schiefgegangen, und ich konnte das nicht zu Ende bringen.",
    out_of_steps: |steps| {
        format!("Ich habe nach {steps} Schritten aufgehört, dem Limit für eine Aufgabe.")
    },
    out_of_tokens: |tokens| {
        format!(
            "Ich habe aufgehört, weil diese Aufgabe ihr Budget von {tokens} Tokens verbraucht hat."
        )
    },
    out_of_minutes: |minutes| {
        format!("Ich habe aufgehört, weil diese Aufgabe länger als {minutes} Minuten gedauert hat.")
    },
    say_continue: " Schreib \u{201e}weiter\u{201c}, um fortzufahren.",
    possible_duplicate: "Das ist möglicherweise doppelt: Die Plattform hat den ersten Versuch nicht bestätigt.",
    whole_answer: "Die Antwort ist lang. Der vollständige Text steht in dieser Datei.",
    file_missing: |name| {
        format!(
            "Die Datei {name} kann nicht gesendet werden: Ihr Inhalt fehlt oder ist beschädigt."
        )
    },
    file_gone: |name| {
        format!(
            "Die Datei {name} konnte ich nicht von der Plattform herunterladen. Bitte schick \
            sie noch einmal."
        )
    },
    file_too_large: |name, limit| {
        format!("Die Datei {name} ist zu groß. Das Limit liegt bei {limit}.")
    },
    not_transcribed: |name| {
        format!(
            "Die Aufnahme {name} konnte ich nicht verschriftlichen. Ich habe sie gespeichert, \
                weiß aber nicht, was darin gesagt wird: Bitte schreib es oder versuch es später \
                noch einmal."
        )
    },
    linking: linking::GERMAN,
    grant_texts: GrantTexts {
        votes: |so_far, needed, names| format!("{so_far} von {needed}: {names}"),
        withdraw: "Stimme zurückziehen",
        already_voted: "Du hast schon zugestimmt. Um deine Stimme zurückzunehmen, wähle „Stimme \
            zurückziehen“ oder tippe `/withdraw`.",
        no_vote: "Du hast keine Stimme, die du zurückziehen könntest.",
        from_elsewhere: |name, channel| format!("{name}, auf {channel}"),
        whose_person: "für Anfragen derselben Person, in allen Chats",
        whose_conversation: "für alle in dieser Unterhaltung",
        whose_bot: "für alle, in allen Chats",
        proposal: |tool, covered, &GrantWords { whose, until, uses }| {
            format!(
                "**Immer** würde erlauben, ohne noch einmal zu fragen:\n\n- {tool}: {covered}\n- \
                    {whose}\n- bis {until}, {uses}\n\nDiese Berechtigung erteilen?"
            )
        },
        type_yes: |code| {
            format!(
                "Schreib `/always {code} yes`, danach bei Bedarf Änderungen: `conversation`, `7d`, \
                    `5x`."
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
        give: "Erteilen",
        back: "Zurück",
        revoke: "Widerrufen",
        from_now_on: |covered, until| {
            format!("Ab jetzt ohne Nachfrage erlaubt: {covered}, bis {until}.")
        },
        revoked_by: |by| format!("Die Berechtigung für spätere Aufrufe wurde von {by} widerrufen."),
        nothing: "Es sind keine Aufrufe im Voraus erlaubt.",
        list: "Ohne Nachfrage erlaubt:",
        for_person: |person| format!("für {person}"),
        in_conversation: "in einer Unterhaltung",
        for_everybody: "für alle",
        line: |&GrantWords { whose, until, uses }, by| {
            format!("{whose}, bis {until}, {uses}, erteilt von {by}")
        },
        proposed: "Prüfe, was damit erlaubt würde. Erteile die Berechtigung dann, oder geh zurück.",
        not_given: "Es wurde nichts entschieden.",
        roles_unknown: "Die Rollen in diesem Chat konnten nicht geprüft werden, weil die \
                        Plattform nicht geantwortet hat. Bitte versuche es noch einmal.",
        not_offered: "Das kann nur einmal erlaubt oder abgelehnt werden.",
        revoked: "Widerrufen. Ab jetzt frage ich wieder.",
        no_such_grant: "Diese Berechtigung ist abgelaufen oder wurde widerrufen.",
        not_your_grant: "Diese Berechtigung kannst du nicht widerrufen.",
        grants_usage: "`/grants revoke 1a2b3c4d` widerruft eine Berechtigung anhand ihres Codes.",
        not_for_others: "Nur wer hier für alle entscheiden darf, kann das für alle erlauben. Lass \
            diese Option weg, um es nur der anfragenden Person zu erlauben.",
        owner_only: "Das darf nur die Person, der dieser Bot gehört.",
        moved_here: "Diese Anfrage kann ich am ursprünglichen Ort nicht mehr zeigen, deshalb frage \
            ich dich hier.",
        all_halted: "Alle Werkzeuge sind angehalten. Solange der Besitzer das nicht aufhebt, kann \
            nichts erlaubt werden.",
        lifted: "Aufgehoben: Die Werkzeuge laufen wieder.",
        not_halted: "Die Werkzeuge waren nicht angehalten.",
        panic_usage: "`/panic` hält alle Werkzeuge an und lehnt alle offenen Anfragen ab; `/panic \
            off` hebt das auf.",
        halted: |denied| {
            format!(
                "Alle Werkzeuge sind angehalten, auf jedem Knoten. Abgelehnte Anfragen: {denied}. \
                    /panic off hebt das auf."
            )
        },
    },
    why: ReasonTexts {
        rule_asks: |rule| format!("Die Regel \u{201e}{rule}\u{201c} verlangt eine Genehmigung"),
        rule_unclear: |rule, why| {
            format!("Die Regel \u{201e}{rule}\u{201c} kann nicht ausgewertet werden: {why}")
        },
        unclear: |why| format!("Keine Regel ist anwendbar: {why}"),
        unclear_reason: |why| match why {
            UnclearReason::NotThere => "was sie prüft, fehlt oder ist vorab nicht bekannt",
            UnclearReason::NoCommand => "es gibt keinen Befehl",
            UnclearReason::NoShell => "es ist kein gültiger Shell-Befehl",
            UnclearReason::TooMany => "es enthält zu viele Befehle",
            UnclearReason::TooDeep => "es ist zu lang oder zu tief verschachtelt",
            UnclearReason::OtherShells => "Shells interpretieren es unterschiedlich",
            UnclearReason::PipedGroup => {
                "es werden Daten an eine Gruppe von Befehlen weitergeleitet"
            }
            UnclearReason::Word => "es enthält ein Wort, das sich nicht auswerten lässt",
            UnclearReason::Braces => {
                "es enthält geschweifte Klammern, die sich nicht auswerten lassen"
            }
            UnclearReason::Variable => "es enthält eine Variable, die sich nicht auswerten lässt",
            UnclearReason::Program => "das gestartete Programm ist vorab nicht bekannt",
            UnclearReason::Script => "es führt ein Skript aus, das vorab nicht bekannt ist",
            UnclearReason::Starts => {
                "es verwendet ein Programm so, dass es andere Programme starten kann"
            }
        },
        no_rule: "Keine Regel erlaubt es",
        full_stop: ".",
        outside: |tool| format!("{tool} wirkt sich auf Systeme außerhalb dieses Chats aus."),
        read_untrusted_content: |sources| {
            format!(
                "Diese Unterhaltung enthält nicht vertrauenswürdige Inhalte ({sources}), die diese \
                    Anfrage ausgelöst haben könnten."
            )
        },
        and_more: |more| format!(" und {more} weitere"),
        always_asks: |tool| format!("{tool} muss jedes Mal genehmigt werden."),
        changes: |tool| format!("{tool} nimmt Änderungen vor, und keine Regel erlaubt es."),
        required: |tool| format!("{tool} muss hier genehmigt werden, und keine Regel erlaubt es."),
        severity_high: "\u{1f534} Schweregrad: hoch.",
        severity_critical: "\u{1f534} Schweregrad: kritisch.",
        outcome_unknown: "Es wurde unterbrochen, und es ist nicht bekannt, ob es ausgeführt wurde.",
    },
    was_due: |when| format!("Fällig war das: {when}."),
    repeated_result: |tool| {
        format!(
            "Ich habe aufgehört, weil {tool} immer dasselbe Ergebnis geliefert hat. Sag mir bitte, \
                wie es weitergehen soll."
        )
    },
    unreadable_calls: "Ich habe aufgehört, weil mir kein gültiger Werkzeugaufruf gelungen ist. Sag \
                       mir bitte, wie es weitergehen soll, oder wähle mit /model ein anderes Modell.",
    daily_limit_reached: |whose, what, wait| {
        let whose = match whose {
            BudgetScope::Person => "für dich",
            BudgetScope::Conversation => "für diese Unterhaltung",
            BudgetScope::All => "für alle zusammen",
        };
        let what = match what {
            UsedUp::Messages => "Nachrichten",
            UsedUp::Tokens => "Token",
            UsedUp::Money => "Kosten",
        };
        format!(
            "Das heutige {what}-Limit {whose} ist erreicht. Es wird in {wait} (00:00 UTC) \
                zurückgesetzt, oder wer den Bot betreibt, kann es anheben."
        )
    },
    too_fast: |seconds| {
        format!(
            "Du schreibst zu schnell, deshalb habe ich deine letzte Nachricht ignoriert. Versuch \
                es in {seconds} s noch einmal."
        )
    },
    elicitation: super::elicitation::GERMAN,
    page: super::page::GERMAN,
};
