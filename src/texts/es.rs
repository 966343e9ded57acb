//! Spanish.

use super::{
    BudgetScope, GrantTexts, GrantWords, Messages, ReasonTexts, UnclearReason, UsedUp, linking,
};

pub(super) const WORDS: Messages = Messages {
    allowed_to_run: |tool| format!("¿Permitir **{tool}**?"),
    run_again: |tool| format!("**{tool}** se interrumpió. ¿Ejecutarlo otra vez?"),
    tool_sentence: |of| of.spanish,
    argument_below: |name| format!("{name}: véanse los cambios más abajo"),
    argument_cut: |name, shown, length, digest| {
        format!("{name}: los primeros {shown} de {length} caracteres, SHA-256 `{digest}…`")
    },
    conversation_covers: |tool, by| {
        format!(
            "\u{ab}Permitir en esta conversación\u{bb} permite aquí todas las llamadas posteriores a {tool} que \
                solicite {by}, con cualquier argumento, hasta /new."
        )
    },
    asked_for: |by, until, code| {
        format!("Solicitada por {by}. Abierta hasta el {until}, código `{code}`.")
    },
    previews: super::preview_notes::SPANISH,
    allow_once: "Permitir una vez",
    allow_conversation: "Permitir en esta conversación",
    allow_always: "Siempre…",
    deny: "Denegar",
    deny_with_reason: "Denegar con un motivo",
    again: "Repetir",
    skip: "Omitir",
    show_everything: "Mostrar todo",
    everything_sent: "Te envío todos los argumentos en un archivo.",
    everything_sent_before: "Ese archivo ya se envió.",
    not_all_shown: "Aquí no se muestra todo. «Mostrar todo» envía el contenido completo en un archivo.",
    contacts_host: |written, host| format!("⚠️ {written} se conecta a {host}"),
    and_more_hosts: |count| format!("⚠️ … y {count} hosts más que no coinciden con lo escrito"),
    allowed_by: |by| format!("Permitido por {by}."),
    denied_by: |by| format!("Denegado por {by}."),
    expired_notice: "Denegado: nadie decidió a tiempo.",
    withdrawn_by: |by| format!("Retirada por {by}."),
    superseded_by: |by| format!("Sustituida: {by} modificó el mensaje."),
    undeliverable: "Denegado: no se pudo mostrar a nadie que pueda decidir.",
    still_open: "Esta solicitud sigue abierta.",
    allowed: "Permitido.",
    denied: "Denegado.",
    expired: "Demasiado tarde: la solicitud ha caducado y cuenta como denegada.",
    withdrawn: "La solicitud se retiró.",
    superseded: "Se modificó el mensaje original, así que esta solicitud ya no es válida.",
    already_allowed: |by| format!("Ya lo permitió {by}."),
    already_denied: |by| format!("Ya lo denegó {by}."),
    not_yours: "Solo la persona que lo solicitó puede permitirlo o denegarlo.",
    not_your_own: "Debe decidirlo una persona distinta de quien lo solicitó.",
    not_for_you: "No puedes decidirlo: la política exige la aprobación de otra persona.",
    no_such_button: "Este botón ya no es válido.",
    nothing_pending: "Aquí no hay solicitudes abiertas.",
    which_one: "Hay varias solicitudes abiertas. Indica el código de la que quieras, por ejemplo \
        `/allow 1a2b3c4d`.",
    waiting_for_you: "Sigo esperando una decisión sobre la solicitud de arriba. He guardado tu \
        mensaje y lo leeré después. /stop retira la solicitud.",
    the_bot: "el bot, porque la tarea falló",
    why_not: "¿Por qué no?",
    unreadable: "No he podido leer esto, así que no he hecho nada. Envía un mensaje en su lugar.",
    not_shown_yet: "Te estoy enviando una solicitud. Léela antes de decidir.",
    help: "Escríbeme sin más. Antes de cambiar algo, te pido permiso.\n\n- /new empieza una \
        conversación nueva\n- /stop detiene lo que estoy haciendo y retira las solicitudes \
        abiertas\n- /allow, /here, /always, /deny y /answer deciden o responden una solicitud \
        abierta sin usar los botones; /withdraw retira un voto\n- /grants muestra y revoca \
        permisos\n- /status muestra qué estoy esperando\n- /model muestra los modelos de lenguaje \
        y permite cambiar de modelo\n- /link vincula tus cuentas\n- /whoami muestra quién eres \
        para mí\n- /panic detiene todas las herramientas en todas partes (propietario)",
    help_prompts: "Plantillas (prompts) de los servidores de herramientas:",
    prompt_usage: |usage| format!("Escríbelo así: `{usage}`"),
    prompt_failed: |prompt, server| {
        format!(
            "El servidor de herramientas {server} no ha proporcionado la plantilla {prompt}. Inténtalo más tarde."
        )
    },
    menu: [
        "Empezar una conversación nueva",
        "Detener lo que hago y retirar las solicitudes abiertas",
        "Mostrar qué estoy esperando",
        "Mostrar o cambiar el modelo de lenguaje",
        "Ver o revocar permisos",
        "Mostrar quién eres para mí",
        "Mostrar qué puedo hacer",
        "Detener todas las herramientas en todas partes (propietario)",
    ],
    stopped: "Detenido.",
    conversation_restarted: "Conversación nueva. He olvidado todo lo anterior.",
    paired: "¡Hola! Ya puedes hablar conmigo. /help explica cómo.",
    paired_owner: "¡Hola! Eres la primera persona aquí, así que tienes el rol de propietario. \
        /help explica cómo hablar conmigo.",
    wrong_code: "Ese código no es válido. Pide uno nuevo a la persona que gestiona el bot.",
    locked: "Demasiados códigos incorrectos. Inténtalo de nuevo en 15 minutos.",
    stranger: |id| {
        format!(
            "Todavía no te conozco. Pide un código de vinculación a la persona que gestiona el bot \
                y envíamelo, o pídele que añada tu identificador `{id}` a `allow`."
        )
    },
    unsupported: |content| {
        format!("Todavía no puedo leer este tipo de mensaje ({content}). Envíalo como texto.")
    },
    whoami: |name, id, channel, role| format!("Eres {name} (`{id}`) en `{channel}`, {role}."),
    pending_approvals: |open| match open {
        0 => "No hay solicitudes abiertas.".into(),
        1 => "Hay una solicitud pendiente de decisión.".into(),
        n => format!("Hay {n} solicitudes pendientes de decisión."),
    },
    at_work: |names| format!("Subagentes en ejecución: {names}."),
    models: |now, all| {
        format!(
            "Esta conversación usa `{now}`. Modelos disponibles: {all}. Usa `/model NOMBRE` \
            para cambiar."
        )
    },
    model_now: |name| format!("A partir de ahora esta conversación usa `{name}`."),
    no_such_model: |name, all| format!("No existe el modelo {name}. Modelos disponibles: {all}."),
    may_not: |role| {
        format!("Para eso necesitas el rol `{role}` o uno superior. /whoami muestra el tuyo.")
    },
    reference: |reason, reference| format!("{reason}\n\nReferencia: `{reference}`"),
    with_cause: |reason, cause| {
        format!("{reason}\n\nCausa, visible para ti como propietario: {cause}")
    },
    no_answer: "El modelo de lenguaje dio una respuesta vacía. Pregunta otra vez.",
    model_unavailable: "No he podido contactar con el modelo de lenguaje tras varios intentos. \
        Inténtalo más tarde.",
    model_refused: "El modelo de lenguaje rechaza mis peticiones. La persona que gestiona el bot \
        puede ver la causa en la consola.",
    model_too_long: "Esta conversación es demasiado larga para el modelo de lenguaje, incluso \
        después de acortarla. /new empieza una nueva.",
    model_too_large: "Esta conversación es más grande de lo que acepta el servidor del modelo de \
        lenguaje, probablemente por imágenes o textos largos. /new empieza una nueva.",
    model_filtered: "El filtro de contenido del modelo de lenguaje ha bloqueado esto. Formula tu \
        petición de otra manera.",
    model_malformed_call: "El modelo de lenguaje intentó usar una herramienta varias veces, pero \
        escribió mal la llamada. Pregunta otra vez, o con otras palabras.",
    model_failed: "El proveedor del modelo de lenguaje informó de un error mientras respondía. \
        Pregunta otra vez.",
    broken: "Algo ha fallado por mi parte y no he podido terminar.",
    out_of_steps: |steps| format!("Me he detenido tras {steps} pasos, el límite para una tarea."),
    out_of_tokens: |tokens| {
        format!("Me he detenido porque esta tarea ha agotado su presupuesto de {tokens} tokens.")
    },
    out_of_minutes: |minutes| {
        format!("Me he detenido porque esta tarea ha durado más de {minutes} minutos.")
    },
    say_continue: " Escribe «sigue» para continuar.",
    possible_duplicate: "Puede que esto esté duplicado: la plataforma no confirmó el primer intento.",
    whole_answer: "La respuesta es larga. El texto completo está en este archivo.",
    file_missing: |name| {
        format!("No se puede enviar el archivo {name}: su contenido falta o está dañado.")
    },
    file_gone: |name| {
        format!("No he podido descargar el archivo {name} de la plataforma. Envíalo otra vez.")
    },
    file_too_large: |name, limit| {
        format!("El archivo {name} es demasiado grande. El límite es {limit}.")
    },
    not_transcribed: |name| {
        format!(
            "No he podido transcribir la grabación {name}. La he guardado, pero no sé qué dice: \
                escríbelo o inténtalo más tarde."
        )
    },
    linking: linking::SPANISH,
    grant_texts: GrantTexts {
        votes: |so_far, needed, names| format!("{so_far} de {needed}: {names}"),
        withdraw: "Retirar voto",
        already_voted: "Ya has votado a favor. Para retirar tu voto, elige «Retirar voto» o \
            escribe `/withdraw`.",
        no_vote: "No tienes ningún voto que retirar.",
        from_elsewhere: |name, channel| format!("{name}, en {channel}"),
        whose_person: "para las solicitudes de la misma persona, en todos los chats",
        whose_conversation: "para todos en esta conversación",
        whose_bot: "para todos, en todos los chats",
        proposal: |tool, covered, &GrantWords { whose, until, uses }| {
            format!(
                "**Siempre** permitiría, sin preguntar otra vez:\n\n- {tool}: {covered}\n- \
                    {whose}\n- hasta el {until}, {uses}\n\n¿Conceder este permiso?"
            )
        },
        type_yes: |code| {
            format!(
                "Escribe `/always {code} yes` seguido de los cambios que quieras: `conversation`, \
                    `7d`, `5x`."
            )
        },
        everything: "con cualquier argumento",
        below: |folder| format!("solo rutas dentro de {folder}"),
        exactly: |text| format!("solo {text}"),
        origin: |origin| format!("solo direcciones de {origin}"),
        command: |words| format!("solo {words}, sin otras opciones"),
        uses: |left| match left {
            None => "sin límite de usos".into(),
            Some(1) => "una vez".into(),
            Some(n) => format!("{n} veces"),
        },
        give: "Conceder",
        back: "Volver",
        revoke: "Revocar",
        from_now_on: |covered, until| {
            format!("Permitido desde ahora sin preguntar: {covered}, hasta el {until}.")
        },
        revoked_by: |by| format!("{by} revocó el permiso para llamadas posteriores."),
        nothing: "No hay permisos permanentes.",
        list: "Permitido sin preguntar:",
        for_person: |person| format!("para {person}"),
        in_conversation: "en una conversación",
        for_everybody: "para todos",
        line: |&GrantWords { whose, until, uses }, by| {
            format!("{whose}, hasta el {until}, {uses}, concedido por {by}")
        },
        proposed: "Revisa lo que permitiría y, después, concédelo o vuelve atrás.",
        not_given: "No se ha decidido nada.",
        roles_unknown: "No se pudieron comprobar los roles de este chat porque la plataforma \
                        no respondió. Inténtalo de nuevo.",
        not_offered: "Esto solo se puede permitir una vez o denegar.",
        revoked: "Revocado. A partir de ahora volveré a preguntar.",
        no_such_grant: "Este permiso ha caducado o se revocó.",
        not_your_grant: "No puedes revocar este permiso.",
        grants_usage: "`/grants revoke 1a2b3c4d` revoca un permiso por su código.",
        not_for_others: "Solo quien pueda decidir por todos aquí puede concederlo a todos. Omite \
            esa opción para concederlo solo a quien lo solicitó.",
        owner_only: "Solo puede hacerlo el propietario de este bot.",
        moved_here: "Ya no puedo mostrar esta solicitud en su lugar original, así que te pregunto aquí.",
        all_halted: "Todas las herramientas están detenidas. No se puede permitir nada hasta que \
            el propietario las reactive.",
        lifted: "Reactivadas: las herramientas vuelven a funcionar.",
        not_halted: "Las herramientas no estaban detenidas.",
        panic_usage: "`/panic` detiene todas las herramientas y deniega todas las solicitudes \
            abiertas; `/panic off` las reactiva.",
        halted: |denied| {
            format!(
                "Todas las herramientas están detenidas en todos los nodos. Solicitudes denegadas: \
                    {denied}. /panic off las reactiva."
            )
        },
    },
    why: ReasonTexts {
        rule_asks: |rule| format!("La regla «{rule}» exige aprobación"),
        rule_unclear: |rule, why| format!("La regla «{rule}» no se puede evaluar: {why}"),
        unclear: |why| format!("No se puede aplicar ninguna regla: {why}"),
        unclear_reason: |why| match why {
            UnclearReason::NotThere => "lo que comprueba falta o no se conoce de antemano",
            UnclearReason::NoCommand => "no hay ningún comando",
            UnclearReason::NoShell => "no es un comando de shell válido",
            UnclearReason::TooMany => "contiene demasiados comandos",
            UnclearReason::TooDeep => "es demasiado largo o está demasiado anidado",
            UnclearReason::OtherShells => "las shells lo interpretan de forma distinta",
            UnclearReason::PipedGroup => "se canalizan datos hacia un grupo de comandos",
            UnclearReason::Word => "contiene una palabra que no se puede analizar",
            UnclearReason::Braces => "contiene llaves que no se pueden evaluar",
            UnclearReason::Variable => "contiene una variable que no se puede evaluar",
            UnclearReason::Program => "no se sabe de antemano qué programa inicia",
            UnclearReason::Script => "ejecuta un script que no se conoce de antemano",
            UnclearReason::Starts => {
                "usa un programa de una forma que puede iniciar otros programas"
            }
        },
        no_rule: "Ninguna regla lo permite",
        full_stop: ".",
        outside: |tool| format!("{tool} afecta a sistemas fuera de este chat."),
        read_untrusted_content: |sources| {
            format!(
                "Esta conversación contiene contenido no fiable ({sources}) que puede haber \
                    provocado esta solicitud."
            )
        },
        and_more: |more| format!(" y {more} más"),
        always_asks: |tool| format!("{tool} requiere aprobación cada vez."),
        changes: |tool| format!("{tool} realiza cambios y ninguna regla lo permite."),
        required: |tool| format!("Aquí {tool} requiere aprobación y ninguna regla lo permite."),
        severity_high: "\u{1f534} Gravedad: alta.",
        severity_critical: "\u{1f534} Gravedad: crítica.",
        outcome_unknown: "Se interrumpió y no se sabe si llegó a tener efecto.",
    },
    was_due: |when| format!("Hora prevista: {when}."),
    repeated_result: |tool| {
        format!(
            "Me he detenido porque {tool} daba siempre el mismo resultado. Dime cómo quieres \
                continuar."
        )
    },
    unreadable_calls: "Me he detenido porque no conseguí escribir una llamada de herramienta válida. \
                       Dime cómo quieres continuar o elige otro modelo con /model.",
    daily_limit_reached: |whose, what, wait| {
        let whose = match whose {
            BudgetScope::Person => "para ti",
            BudgetScope::Conversation => "para esta conversación",
            BudgetScope::All => "para todos en conjunto",
        };
        let what = match what {
            UsedUp::Messages => "mensajes",
            UsedUp::Tokens => "tokens",
            UsedUp::Money => "gasto",
        };
        format!(
            "Se ha alcanzado el límite de {what} de hoy {whose}. Se restablece en {wait} (00:00 \
                UTC), o puede ampliarlo la persona que gestiona el bot."
        )
    },
    too_fast: |seconds| {
        format!(
            "Estás enviando mensajes demasiado rápido, así que he ignorado el último. Inténtalo de \
                nuevo en {seconds} s."
        )
    },
    elicitation: super::elicitation::SPANISH,
    page: super::page::SPANISH,
};
