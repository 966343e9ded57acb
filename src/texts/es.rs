//! Spanish.

use super::{Doubt, Lasting, Messages, UsedUp, Whose, Why, linking};

pub(super) const WORDS: Messages = Messages {
    may_run: |tool| format!("¿Permitir **{tool}**?"),
    run_again: |tool| format!("**{tool}** se interrumpió. ¿Ejecutarlo otra vez?"),
    argument_below: |name, length, digest| {
        format!("{name}: {length} caracteres, SHA-256 `{digest}…`, véase abajo")
    },
    argument_cut: |name, shown, length, digest| {
        format!("{name}: los primeros {shown} de {length} caracteres, SHA-256 `{digest}…`")
    },
    asked_for: |by, until, code| {
        format!("Solicitado por {by}. Abierta hasta {until}, código `{code}`.")
    },
    allow_once: "Permitir una vez",
    allow_conversation: "Permitir en esta conversación",
    allow_always: "Siempre…",
    deny: "Denegar",
    deny_with_reason: "Denegar con un motivo",
    again: "Repetir",
    skip: "Omitir",
    show_everything: "Mostrar todo",
    everything_sent: "Todos los argumentos llegan enseguida en un archivo.",
    everything_sent_before: "Ese archivo ya se envió.",
    not_all_shown: "Aquí no se muestra todo: «Mostrar todo» lo envía completo en un archivo.",
    contacts_host: |written, host| format!("⚠️ {written} es el host {host}"),
    and_more_hosts: |count| format!("⚠️ … y {count} hosts más que se escriben de otra forma"),
    allowed_by: |by| format!("Permitido por {by}."),
    denied_by: |by| format!("Denegado por {by}."),
    nobody_in_time: "Denegado: nadie respondió a tiempo.",
    withdrawn_by: |by| format!("Retirada por {by}."),
    superseded_by: |by| format!("Sustituida: {by} cambió la petición."),
    undeliverable: "Denegado: no se pudo mostrar a nadie que pueda decidirlo.",
    still_open: "Esta pregunta sigue abierta.",
    allowed: "Permitido.",
    denied: "Denegado.",
    expired: "Demasiado tarde: la pregunta había caducado, lo que cuenta como denegada.",
    withdrawn: "La pregunta se retiró.",
    superseded: "La petición cambió; esta pregunta ya no cuenta.",
    already_allowed: |by| format!("Ya lo permitió {by}."),
    already_denied: |by| format!("Ya lo denegó {by}."),
    not_yours: "Solo puede decidirlo quien lo pidió.",
    not_your_own: "Tiene que decidirlo otra persona que no sea quien lo pidió.",
    not_for_you: "No puedes decidirlo: la norma nombra a otras personas.",
    no_such_button: "Este botón ya no es válido.",
    nothing_pending: "Aquí no hay nada pendiente de decisión.",
    which_one: "Hay varias preguntas abiertas. Indica una con el código que muestra, por ejemplo \
        `/allow 1a2b3c4d`.",
    waiting_for_you: "Sigo esperando una decisión sobre la pregunta de arriba. He anotado tu \
        mensaje y lo leeré después. /stop retira la pregunta.",
    the_bot: "el bot, que tuvo que abandonar la tarea",
    why_not: "¿Por qué no?",
    unreadable: "Esto no se pudo leer aquí y no se ha hecho nada. Escribe un mensaje, por favor.",
    not_shown_yet: "Te está llegando una pregunta. Léela antes de decidir.",
    help: "Escríbeme con naturalidad. Antes de cambiar algo pregunto con botones.\n\n\
        - /new empieza una conversación nueva\n\
        - /stop termina lo que estoy haciendo y retira las preguntas abiertas\n\
        - /allow, /here, /always y /deny responden a una pregunta abierta sin sus botones\n\
        - /status dice qué estoy esperando\n\
        - /model muestra los modelos de lenguaje y cambia a uno\n\
        - /whoami muestra cómo te conozco",
    menu: [
        "Empezar una conversación nueva",
        "Terminar lo que hago y retirar preguntas abiertas",
        "Qué estoy esperando",
        "Mostrar o cambiar el modelo de lenguaje",
        "Lo que has permitido para siempre y cómo retirarlo",
        "Cómo te conozco",
        "Qué puedo hacer",
        "Detener todas las herramientas en todas partes (propietario)",
    ],
    stopped: "Terminado.",
    fresh: "Una conversación nueva. He olvidado lo que se dijo antes.",
    paired: "¡Te doy la bienvenida! Ya puedes hablar conmigo. /help explica cómo.",
    paired_owner: "¡Te doy la bienvenida! Eres la primera persona aquí, así que soy tuyo. /help \
        explica cómo hablar conmigo.",
    wrong_code: "Ese código no es válido. Pide uno nuevo a quien opera el bot.",
    locked: "Demasiados códigos erróneos. Inténtalo de nuevo en 15 minutos.",
    stranger: |id| {
        format!(
            "Todavía no te conozco. Pide un código a quien opera el bot y envíamelo, o haz que \
             añadan tu identificador `{id}` a `allow`."
        )
    },
    unsupported: |content| {
        format!("Todavía no puedo recibir esto ({content}). Escríbelo como texto.")
    },
    whoami: |name, id, channel, role| format!("Eres {name} (`{id}`) en `{channel}`, {role}."),
    open_questions: |open| match open {
        0 => "No hay ninguna pregunta abierta.".into(),
        1 => "Una pregunta espera una decisión.".into(),
        n => format!("{n} preguntas esperan una decisión."),
    },
    at_work: |names| format!("Subagentes trabajando: {names}."),
    models: |now, all| {
        format!("Esta conversación usa `{now}`. Hay: {all}. `/model NOMBRE` cambia.")
    },
    model_now: |name| format!("A partir de ahora esta conversación usa `{name}`."),
    no_such_model: |name, all| format!("No existe el modelo {name}. Hay: {all}."),
    may_not: |role| format!("Para eso necesitas el rol `{role}`. /whoami muestra el tuyo."),
    reference: |reason, reference| format!("{reason}\n\nReferencia: `{reference}`"),
    no_answer: "El modelo de lenguaje dio una respuesta vacía. Pregunta otra vez.",
    model_unavailable: "No pude contactar con el modelo de lenguaje tras varios intentos. Escribe \
        de nuevo dentro de un rato.",
    model_refused: "El modelo de lenguaje rechaza mis peticiones. El motivo está en el registro.",
    broken: "Algo falló por mi parte y no pude terminar.",
    out_of_steps: |steps| {
        format!(
            "Me detuve tras {steps} pasos, el máximo para una tarea. Di «sigue» para continuar."
        )
    },
    out_of_tokens: |tokens| {
        format!(
            "Me detuve: esta tarea agotó su presupuesto de {tokens} tokens. Di «sigue» para \
             continuar."
        )
    },
    out_of_minutes: |minutes| {
        format!("Me detuve: esta tarea duró más de {minutes} minutos. Di «sigue» para continuar.")
    },
    perhaps_twice: "Puede que esto ya esté aquí: la plataforma no confirmó que hubiera llegado.",
    whole_answer: "La respuesta es larga. Está completa en este archivo.",
    file_missing: |name| {
        format!("No se puede enviar el archivo {name}: su contenido falta o está dañado.")
    },
    file_gone: |name| format!("No pude obtener el archivo {name}. Envíalo otra vez."),
    file_too_large: |name, most| {
        format!("El archivo {name} es demasiado grande: acepto como máximo {most}.")
    },
    linking: linking::SPANISH,
    lasting: Lasting {
        votes: |so_far, needed, names| format!("{so_far} de {needed}: {names}"),
        from_elsewhere: |name, channel| format!("{name}, en {channel}"),
        whose_person: "para lo que quiera la persona que lo pidió, en todos los chats",
        whose_conversation: "para todos en esta conversación",
        whose_bot: "para todos, en todos los chats",
        proposal: |[tool, covered, whose, until, uses]| {
            format!(
                "**Siempre** permitiría, sin preguntar otra vez:\n\n- {tool}: {covered}\n- {whose}\n\
                 - hasta {until}, {uses}\n\n¿Dar este permiso?"
            )
        },
        type_yes: |code| {
            format!(
                "Escribe `/always {code} yes` y detrás lo que deba ser distinto: `conversation`, \
                 `7d`, `5x`."
            )
        },
        everything: "con cualquier argumento",
        below: |folder| format!("solo rutas dentro de {folder}"),
        exactly: |text| format!("solo {text}"),
        origin: |origin| format!("solo direcciones de {origin}"),
        command: |words| format!("solo {words}, sin otras opciones"),
        uses: |left| match left {
            None => "tantas veces como se quiera".into(),
            Some(1) => "una vez".into(),
            Some(n) => format!("{n} veces"),
        },
        give: "Dar",
        back: "Volver",
        revoke: "Revocar",
        from_now_on: |covered, until| {
            format!("Desde ahora sin preguntar: {covered}, hasta {until}.")
        },
        revoked_by: |by| format!("{by} revocó el permiso para llamadas posteriores."),
        nothing: "No hay nada permitido de forma duradera.",
        list: "Permitido sin preguntar:",
        for_person: |person| format!("para {person}"),
        in_conversation: "en una conversación",
        for_everybody: "para todos",
        line: |[whose, until, uses, by]| format!("{whose}, hasta {until}, {uses}, dado por {by}"),
        proposed: "Lee lo que permitiría; luego dalo o vuelve.",
        not_given: "No se ha decidido nada.",
        not_offered: "Esto solo se puede permitir una vez o denegar.",
        revoked: "Revocado: desde ahora vuelvo a preguntar.",
        no_such_grant: "Este permiso ya no es válido.",
        not_your_grant: "No puedes revocar este permiso.",
        grants_usage: "`/grants revoke 1a2b3c4d` retira uno por su código.",
        not_for_others: "Solo puede permitirlo para todos aquí quien pueda decidir por todos. Sin eso, vale para la persona que lo pidió.",
        owner_only: "Solo puede hacerlo el propietario de este bot.",
        moved_here: "Ya no puedo mostrar esta pregunta donde se hizo, así que te la hago aquí.",
        all_halted: "Todas las herramientas están detenidas. No se puede permitir nada hasta que el \
            propietario lo levante.",
        lifted: "Levantado: las herramientas vuelven a funcionar.",
        not_halted: "No había nada detenido.",
        panic_usage: "`/panic` detiene todas las herramientas y deniega todas las preguntas abiertas; \
            `/panic off` lo levanta.",
        halted: |denied| {
            format!(
                "Todas las herramientas están detenidas, en todos los nodos. Preguntas denegadas: \
                 {denied}. /panic off lo levanta."
            )
        },
    },
    why: Why {
        rule_asks: |rule| format!("La regla «{rule}» pregunta"),
        rule_unclear: |rule, why| format!("La regla «{rule}» no se puede evaluar: {why}"),
        unclear: |why| format!("Ninguna regla puede juzgarlo: {why}"),
        doubt: |why| match why {
            Doubt::NotThere => "lo que mira no está o no se conoce de antemano",
            Doubt::NoCommand => "no hay ningún comando que leer",
            Doubt::NoShell => "no es un comando de shell que se pueda leer",
            Doubt::TooMany => "contiene demasiados comandos",
            Doubt::TooDeep => "es demasiado largo o está demasiado anidado",
            Doubt::OtherShells => "no todas las shells lo leen igual",
            Doubt::PipedGroup => "algo se canaliza hacia un grupo de comandos",
            Doubt::Word => "contiene una palabra que no se puede leer",
            Doubt::Braces => "contiene llaves que no se siguen",
            Doubt::Variable => "contiene una variable que no se sigue",
            Doubt::Program => "no se sabe de antemano qué programa inicia",
            Doubt::Script => "ejecuta un script que no se conoce de antemano",
            Doubt::Starts => "usa un programa de una forma que puede iniciar otros programas",
        },
        no_rule: "Ninguna regla lo permite",
        full_stop: ".",
        outside: |tool| format!("{tool} actúa hacia fuera."),
        read_others: |sources| {
            format!(
                "Esta conversación ha leído lo que otros escribieron: {sources}. Puede que le hayan \
                 dicho que haga esto."
            )
        },
        and_more: |more| format!(" y {more} más"),
        always_asks: |tool| format!("{tool} pregunta siempre."),
        changes: |tool| format!("{tool} cambia algo y ninguna regla lo permite."),
        severity_high: "\u{1f534} Gravedad: alta.",
        severity_critical: "\u{1f534} Gravedad: crítica.",
        outcome_unknown: "Se interrumpió y no se sabe si tuvo efecto.",
    },
    was_due: |when| format!("Esto tocaba a las {when}."),
    circles: |tool| {
        format!(
            "Me detuve: estaba dando vueltas con {tool}, que daba siempre el mismo resultado. Dime \
             cómo seguir."
        )
    },
    unreadable_calls: "Me detuve: no conseguí escribir una llamada de herramienta legible. Dime cómo \
                       seguir o prueba otro modelo con /model.",
    day_used_up: |whose, what, wait| {
        let whose = match whose {
            Whose::Person => "para ti",
            Whose::Conversation => "para esta conversación",
            Whose::All => "para todos en conjunto",
        };
        let what = match what {
            UsedUp::Messages => "mensajes",
            UsedUp::Tokens => "tokens",
            UsedUp::Money => "dinero",
        };
        format!(
            "Hoy no puedo seguir: se agotó el límite diario de {what} {whose}. Sigo dentro de \
             {wait} (a medianoche UTC) o cuando se amplíe el límite."
        )
    },
    too_fast: |seconds| {
        format!(
            "Demasiado rápido para mí: no he leído tu último mensaje. Escribe otra vez dentro de \
             {seconds} s."
        )
    },
    asking: super::elicitation::SPANISH,
    page: super::page::SPANISH,
};
