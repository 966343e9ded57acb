//! The sentences of previews, in each language.

use channels::text;

/// A sentence of a preview. The names and paths in it are not escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviewNote {
    /// The call would fail with the problem that follows.
    Failure,
    Unchanged,
    EmptyFile,
    /// Two texts that are too large to compare, by their sizes.
    Replaced {
        before: usize,
        after: usize,
    },
    ReplacesBinary {
        bytes: usize,
    },
    /// The problem of reading the current contents.
    Unread {
        problem: String,
    },
    DeletesSkill {
        name: String,
    },
    CompiledProgram,
    BackgroundJob {
        minutes: i64,
        steps: u32,
        tokens: u64,
    },
    /// The limits of a build.
    Build {
        minutes: u64,
        rounds: u32,
        tokens: u64,
    },
    InstallsSkill {
        name: String,
        is_there: bool,
    },
    MakesPdf {
        from: String,
        bytes: u64,
    },
    ReplacesFile {
        path: String,
        bytes: u64,
    },
    ReplacesBy {
        path: String,
        before: usize,
        after: usize,
    },
    Creates {
        path: String,
    },
    CreatesFiles {
        count: usize,
    },
    NextRun {
        at: String,
        rule: String,
        is_paused: bool,
    },
    /// The element of a web page that receives an input. All texts but the addresses are the
    /// page's.
    PageElement {
        role: String,
        name: String,
        /// Where a link leads.
        link: Option<String>,
        /// The address of the page.
        page: String,
        /// The address of the frame that the element is in, if it is not the page itself.
        frame: Option<String>,
    },
    /// A service that may cost money.
    PaidService {
        name: String,
        cost: ServiceCost,
    },
    /// Text of the tool, already escaped.
    Markdown(String),
}

/// What a call of a service costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceCost {
    Estimated(String),
    Nothing,
    Unknown,
}

impl PreviewNote {
    /// Applies a function to all texts of the tool.
    pub(super) fn map(self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Unread { problem } => Self::Unread { problem: change(&problem) },
            Self::DeletesSkill { name } => Self::DeletesSkill { name: change(&name) },
            Self::InstallsSkill { name, is_there } => {
                Self::InstallsSkill { name: change(&name), is_there }
            }
            Self::MakesPdf { from, bytes } => Self::MakesPdf { from: change(&from), bytes },
            Self::ReplacesFile { path, bytes } => Self::ReplacesFile { path: change(&path), bytes },
            Self::ReplacesBy { path, before, after } => {
                Self::ReplacesBy { path: change(&path), before, after }
            }
            Self::Creates { path } => Self::Creates { path: change(&path) },
            Self::NextRun { at, rule, is_paused } => {
                Self::NextRun { at: change(&at), rule: change(&rule), is_paused }
            }
            Self::PageElement { role, name, link, page, frame } => Self::PageElement {
                role: change(&role),
                name: change(&name),
                link: link.as_deref().map(&change),
                page: change(&page),
                frame: frame.as_deref().map(&change),
            },
            Self::PaidService { name, cost } => Self::PaidService { name: change(&name), cost },
            Self::Markdown(markdown) => Self::Markdown(change(&markdown)),
            fixed @ (Self::Failure
            | Self::Unchanged
            | Self::EmptyFile
            | Self::Replaced { .. }
            | Self::ReplacesBinary { .. }
            | Self::CompiledProgram
            | Self::BackgroundJob { .. }
            | Self::Build { .. }
            | Self::CreatesFiles { .. }) => fixed,
        }
    }

    /// One note of each kind.
    #[cfg(test)]
    pub fn examples() -> Vec<Self> {
        let text = || "example".to_owned();
        vec![
            Self::Failure,
            Self::Unchanged,
            Self::EmptyFile,
            Self::Replaced { before: 1, after: 2 },
            Self::ReplacesBinary { bytes: 1 },
            Self::DeletesSkill { name: text() },
            Self::CompiledProgram,
            Self::BackgroundJob { minutes: 1, steps: 2, tokens: 3 },
            Self::Build { minutes: 1, rounds: 2, tokens: 3 },
            Self::InstallsSkill { name: text(), is_there: false },
            Self::InstallsSkill { name: text(), is_there: true },
            Self::MakesPdf { from: text(), bytes: 1 },
            Self::ReplacesFile { path: text(), bytes: 1 },
            Self::ReplacesBy { path: text(), before: 1, after: 2 },
            Self::Creates { path: text() },
            Self::CreatesFiles { count: 2 },
            Self::NextRun { at: text(), rule: text(), is_paused: false },
            Self::NextRun { at: text(), rule: text(), is_paused: true },
            Self::PageElement {
                role: text(),
                name: text(),
                link: Some(text()),
                page: text(),
                frame: Some(text()),
            },
            Self::PaidService { name: text(), cost: ServiceCost::Estimated("1.00".into()) },
            Self::PaidService { name: text(), cost: ServiceCost::Nothing },
            Self::PaidService { name: text(), cost: ServiceCost::Unknown },
        ]
    }
}

/// The texts of previews, in one language.
pub struct PreviewTexts {
    pub note: fn(&PreviewNote) -> String,
    /// The number of lines that are not shown.
    pub more_lines: fn(usize) -> String,
    /// The number of characters of a line that are not shown.
    pub more_characters: fn(usize) -> String,
}

pub(super) fn escaped(name: &str) -> String {
    text::escape(name)
}

/// The sentences about an element of a web page.
pub(super) struct ElementTexts {
    pub element: fn(&str, &str, &str) -> String,
    pub link: fn(&str) -> String,
    pub frame: fn(&str) -> String,
}

/// A line for each sentence.
pub(super) fn page_element(note: &PreviewNote, texts: &ElementTexts) -> String {
    let PreviewNote::PageElement { role, name, link, page, frame } = note else {
        return String::new();
    };
    let mut lines = vec![(texts.element)(&escaped(role), &escaped(name), &escaped(page))];
    lines.extend(link.as_ref().map(|link| (texts.link)(&escaped(link))));
    lines.extend(frame.as_ref().map(|frame| (texts.frame)(&escaped(frame))));
    lines.join("\n\n")
}

pub(super) const ENGLISH: PreviewTexts = PreviewTexts {
    note: |note| match note {
        PreviewNote::Failure => "This will fail.".into(),
        PreviewNote::Unchanged => "Nothing changes.".into(),
        PreviewNote::EmptyFile => "The new file is empty.".into(),
        PreviewNote::Replaced { before, after } => {
            format!("{before} bytes are replaced by {after} bytes.")
        }
        PreviewNote::ReplacesBinary { bytes } => {
            format!("Replaces a binary file of {bytes} bytes.")
        }
        PreviewNote::Unread { problem } => escaped(problem),
        PreviewNote::DeletesSkill { name } => format!("The skill `{name}` will be deleted."),
        PreviewNote::CompiledProgram => "It is a compiled program, which cannot be shown.".into(),
        PreviewNote::BackgroundJob { minutes, steps, tokens } => format!(
            "Runs in the background, at most {minutes} minutes, {steps} steps and {tokens} tokens. What it does is checked like everything else and asked here."
        ),
        PreviewNote::Build { minutes, rounds, tokens } => format!(
            "A model writes the code, and it runs only in the sandbox, without network: at most {rounds} rounds, {tokens} tokens and {minutes} minutes. Nothing is installed without another approval."
        ),
        PreviewNote::InstallsSkill { name, is_there: true } => {
            format!("The skill `{name}` is replaced by this code:")
        }
        PreviewNote::InstallsSkill { name, is_there: false } => {
            format!("The skill `{name}` is installed with this code:")
        }
        PreviewNote::MakesPdf { from, bytes } => {
            format!("Makes a PDF of {from} ({bytes} bytes).", from = escaped(from))
        }
        PreviewNote::ReplacesFile { path, bytes } => {
            format!("Replaces {path} ({bytes} bytes).", path = escaped(path))
        }
        PreviewNote::ReplacesBy { path, before, after } => {
            format!("Replaces {path} ({before} bytes) by {after} bytes.", path = escaped(path))
        }
        PreviewNote::Creates { path } => format!("Creates {path}.", path = escaped(path)),
        PreviewNote::CreatesFiles { count } => format!("Creates {count} files."),
        PreviewNote::NextRun { at, rule, is_paused: false } => format!("next {at}, {rule}"),
        PreviewNote::NextRun { at, rule, is_paused: true } => {
            format!("paused, was next {at}, {rule}")
        }
        note @ PreviewNote::PageElement { .. } => page_element(
            note,
            &ElementTexts {
                element: |role, name, page| {
                    format!("Element of the page: {role} “{name}”. Page: {page}")
                },
                link: |link| format!("Leads to: {link}"),
                frame: |frame| format!("In the frame: {frame}"),
            },
        ),
        PreviewNote::PaidService { name, cost } => {
            let cost = match cost {
                ServiceCost::Estimated(cost) => format!("Estimated cost: {cost}"),
                ServiceCost::Nothing => "It costs nothing".to_owned(),
                ServiceCost::Unknown => "Its cost is not configured".to_owned(),
            };
            format!("{}. {}", escaped(name), escaped(&cost))
        }
        PreviewNote::Markdown(markdown) => markdown.clone(),
    },
    more_lines: |count| match count {
        1 => "… and 1 more line".into(),
        _ => format!("… and {count} more lines"),
    },
    more_characters: |count| format!("… and {count} more characters"),
};

pub(super) const GERMAN: PreviewTexts = PreviewTexts {
    note: |note| match note {
        PreviewNote::Failure => "Das wird fehlschlagen.".into(),
        PreviewNote::Unchanged => "Es ändert sich nichts.".into(),
        PreviewNote::EmptyFile => "Die neue Datei ist leer.".into(),
        PreviewNote::Replaced { before, after } => {
            format!("{before} Bytes werden durch {after} Bytes ersetzt.")
        }
        PreviewNote::ReplacesBinary { bytes } => {
            format!("Ersetzt eine Binärdatei von {bytes} Bytes.")
        }
        PreviewNote::Unread { problem } => escaped(problem),
        PreviewNote::DeletesSkill { name } => format!("Der Skill `{name}` wird gelöscht."),
        PreviewNote::CompiledProgram => {
            "Es ist ein kompiliertes Programm, das sich nicht anzeigen lässt.".into()
        }
        PreviewNote::BackgroundJob { minutes, steps, tokens } => format!(
            "Läuft im Hintergrund, höchstens {minutes} Minuten, {steps} Schritte und {tokens} Tokens. Was dabei geschieht, wird wie alles andere geprüft und hier angefragt."
        ),
        PreviewNote::Build { minutes, rounds, tokens } => format!(
            "Ein Modell schreibt den Code; er läuft nur in der Sandbox, ohne Netzwerk: höchstens {rounds} Runden, {tokens} Tokens und {minutes} Minuten. Ohne eine weitere Genehmigung wird nichts installiert."
        ),
        PreviewNote::InstallsSkill { name, is_there: true } => {
            format!("Der Skill `{name}` wird durch diesen Code ersetzt:")
        }
        PreviewNote::InstallsSkill { name, is_there: false } => {
            format!("Der Skill `{name}` wird mit diesem Code installiert:")
        }
        PreviewNote::MakesPdf { from, bytes } => {
            format!("Erstellt ein PDF aus {from} ({bytes} Bytes).", from = escaped(from))
        }
        PreviewNote::ReplacesFile { path, bytes } => {
            format!("Ersetzt {path} ({bytes} Bytes).", path = escaped(path))
        }
        PreviewNote::ReplacesBy { path, before, after } => {
            format!("Ersetzt {path} ({before} Bytes) durch {after} Bytes.", path = escaped(path))
        }
        PreviewNote::Creates { path } => format!("Legt {path} an.", path = escaped(path)),
        PreviewNote::CreatesFiles { count } => format!("Legt {count} Dateien an."),
        PreviewNote::NextRun { at, rule, is_paused: false } => {
            format!("nächster Lauf: {at}, {rule}")
        }
        PreviewNote::NextRun { at, rule, is_paused: true } => {
            format!("angehalten, nächster Lauf wäre: {at}, {rule}")
        }
        note @ PreviewNote::PageElement { .. } => page_element(
            note,
            &ElementTexts {
                element: |role, name, page| {
                    format!("Element der Seite: {role} „{name}“. Seite: {page}")
                },
                link: |link| format!("Führt zu: {link}"),
                frame: |frame| format!("Im Frame: {frame}"),
            },
        ),
        PreviewNote::PaidService { name, cost } => {
            let cost = match cost {
                ServiceCost::Estimated(cost) => format!("Geschätzte Kosten: {cost}"),
                ServiceCost::Nothing => "Es kostet nichts".to_owned(),
                ServiceCost::Unknown => "Die Kosten sind nicht konfiguriert".to_owned(),
            };
            format!("{}. {}", escaped(name), escaped(&cost))
        }
        PreviewNote::Markdown(markdown) => markdown.clone(),
    },
    more_lines: |count| match count {
        1 => "… und 1 weitere Zeile".into(),
        _ => format!("… und {count} weitere Zeilen"),
    },
    more_characters: |count| format!("… und {count} weitere Zeichen"),
};

pub(super) const SPANISH: PreviewTexts = PreviewTexts {
    note: |note| match note {
        PreviewNote::Failure => "Esto fallará.".into(),
        PreviewNote::Unchanged => "No cambia nada.".into(),
        PreviewNote::EmptyFile => "El archivo nuevo está vacío.".into(),
        PreviewNote::Replaced { before, after } => {
            format!("Se sustituyen {before} bytes por {after} bytes.")
        }
        PreviewNote::ReplacesBinary { bytes } => {
            format!("Sustituye un archivo binario de {bytes} bytes.")
        }
        PreviewNote::Unread { problem } => escaped(problem),
        PreviewNote::DeletesSkill { name } => format!("Se eliminará la habilidad `{name}`."),
        PreviewNote::CompiledProgram => "Es un programa compilado, que no se puede mostrar.".into(),
        PreviewNote::BackgroundJob { minutes, steps, tokens } => format!(
            "Se ejecuta en segundo plano, como máximo {minutes} minutos, {steps} pasos y {tokens} tokens. Lo que haga se comprueba como todo lo demás y se consulta aquí."
        ),
        PreviewNote::Build { minutes, rounds, tokens } => format!(
            "Un modelo escribe el código, que solo se ejecuta en el entorno aislado, sin red: como máximo {rounds} rondas, {tokens} tokens y {minutes} minutos. No se instala nada sin otra aprobación."
        ),
        PreviewNote::InstallsSkill { name, is_there: true } => {
            format!("La habilidad `{name}` se sustituye por este código:")
        }
        PreviewNote::InstallsSkill { name, is_there: false } => {
            format!("La habilidad `{name}` se instala con este código:")
        }
        PreviewNote::MakesPdf { from, bytes } => {
            format!("Crea un PDF a partir de {from} ({bytes} bytes).", from = escaped(from))
        }
        PreviewNote::ReplacesFile { path, bytes } => {
            format!("Sustituye {path} ({bytes} bytes).", path = escaped(path))
        }
        PreviewNote::ReplacesBy { path, before, after } => {
            format!("Sustituye {path} ({before} bytes) por {after} bytes.", path = escaped(path))
        }
        PreviewNote::Creates { path } => format!("Crea {path}.", path = escaped(path)),
        PreviewNote::CreatesFiles { count } => format!("Crea {count} archivos."),
        PreviewNote::NextRun { at, rule, is_paused: false } => {
            format!("próxima ejecución: {at}, {rule}")
        }
        PreviewNote::NextRun { at, rule, is_paused: true } => {
            format!("en pausa, la próxima ejecución sería: {at}, {rule}")
        }
        note @ PreviewNote::PageElement { .. } => page_element(
            note,
            &ElementTexts {
                element: |role, name, page| {
                    format!("Elemento de la página: {role} «{name}». Página: {page}")
                },
                link: |link| format!("Lleva a: {link}"),
                frame: |frame| format!("En el marco: {frame}"),
            },
        ),
        PreviewNote::PaidService { name, cost } => {
            let cost = match cost {
                ServiceCost::Estimated(cost) => format!("Coste estimado: {cost}"),
                ServiceCost::Nothing => "No cuesta nada".to_owned(),
                ServiceCost::Unknown => "El coste no está configurado".to_owned(),
            };
            format!("{}. {}", escaped(name), escaped(&cost))
        }
        PreviewNote::Markdown(markdown) => markdown.clone(),
    },
    more_lines: |count| match count {
        1 => "… y 1 línea más".into(),
        _ => format!("… y {count} líneas más"),
    },
    more_characters: |count| format!("… y {count} caracteres más"),
};
