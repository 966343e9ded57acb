//! The words that the renderers add, in the document's language.

use crate::document::Alert;

/// The title of an alert.
pub fn alert(kind: Alert, language: Option<&str>) -> &'static str {
    let language = language.unwrap_or("en").to_lowercase();
    let words = match language.split('-').next().unwrap_or("en") {
        "de" => ["Hinweis", "Tipp", "Wichtig", "Warnung", "Vorsicht"],
        "fr" => ["Remarque", "Astuce", "Important", "Avertissement", "Attention"],
        "es" => ["Nota", "Consejo", "Importante", "Advertencia", "Precaución"],
        "it" => ["Nota", "Suggerimento", "Importante", "Avviso", "Attenzione"],
        "pt" => ["Nota", "Dica", "Importante", "Aviso", "Cuidado"],
        "nl" => ["Opmerking", "Tip", "Belangrijk", "Waarschuwing", "Let op"],
        "ru" => ["Примечание", "Совет", "Важно", "Предупреждение", "Осторожно"],
        "ar" => ["ملاحظة", "نصيحة", "مهم", "تحذير", "تنبيه"],
        "he" => ["הערה", "טיפ", "חשוב", "אזהרה", "זהירות"],
        "zh" => ["注意", "提示", "重要", "警告", "小心"],
        "ja" => ["注記", "ヒント", "重要", "警告", "注意"],
        "ko" => ["참고", "팁", "중요", "경고", "주의"],
        _ => ["Note", "Tip", "Important", "Warning", "Caution"],
    };
    match kind {
        Alert::Note => words[0],
        Alert::Tip => words[1],
        Alert::Important => words[2],
        Alert::Warning => words[3],
        Alert::Caution => words[4],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_language_and_fall_back_to_english() {
        assert_eq!(alert(Alert::Tip, Some("de-CH")), "Tipp");
        assert_eq!(alert(Alert::Caution, Some("zh-CN")), "小心");
        assert_eq!(alert(Alert::Warning, Some("tlh")), "Warning");
        assert_eq!(alert(Alert::Note, None), "Note");
    }
}
