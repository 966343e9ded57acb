//! The words that the renderers add, in the document's language.

use crate::document::Alert;

/// The language of a tag such as `de-AT`.
fn primary(language: Option<&str>) -> String {
    let tag = language.unwrap_or("en");
    tag.split('-').next().unwrap_or(tag).to_lowercase()
}

/// The title of an alert.
pub fn alert(kind: Alert, language: Option<&str>) -> &'static str {
    let words = match primary(language).as_str() {
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

/// The names of total rows: sum, average, minimum, maximum, count.
pub fn totals(language: Option<&str>) -> [&'static str; 5] {
    match primary(language).as_str() {
        "de" => ["Summe", "Durchschnitt", "Minimum", "Maximum", "Anzahl"],
        "fr" => ["Total", "Moyenne", "Minimum", "Maximum", "Nombre"],
        "es" => ["Total", "Promedio", "Mínimo", "Máximo", "Recuento"],
        "it" => ["Totale", "Media", "Minimo", "Massimo", "Conteggio"],
        "pt" => ["Total", "Média", "Mínimo", "Máximo", "Contagem"],
        "nl" => ["Totaal", "Gemiddelde", "Minimum", "Maximum", "Aantal"],
        "ru" => ["Итого", "Среднее", "Минимум", "Максимум", "Количество"],
        "ar" => ["الإجمالي", "المتوسط", "الحد الأدنى", "الحد الأقصى", "العدد"],
        "he" => ["סה״כ", "ממוצע", "מינימום", "מקסימום", "מספר"],
        "zh" => ["合计", "平均", "最小值", "最大值", "计数"],
        "ja" => ["合計", "平均", "最小", "最大", "件数"],
        "ko" => ["합계", "평균", "최솟값", "최댓값", "개수"],
        _ => ["Total", "Average", "Minimum", "Maximum", "Count"],
    }
}

/// The kinds of numbered captions.
pub const FIGURE: usize = 0;
pub const TABLE: usize = 1;

/// The word before the number of a caption.
pub fn caption(kind: usize, language: Option<&str>) -> &'static str {
    let words = match primary(language).as_str() {
        "de" => ["Abbildung", "Tabelle"],
        "fr" => ["Figure", "Tableau"],
        "es" => ["Figura", "Tabla"],
        "it" => ["Figura", "Tabella"],
        "pt" => ["Figura", "Tabela"],
        "nl" => ["Figuur", "Tabel"],
        "ru" => ["Рисунок", "Таблица"],
        "ar" => ["شكل", "جدول"],
        "he" => ["איור", "טבלה"],
        "zh" => ["图", "表"],
        "ja" => ["図", "表"],
        "ko" => ["그림", "표"],
        _ => ["Figure", "Table"],
    };
    words[kind]
}

/// The parts of a caption such as “Figure 3: text”: its word, its number and the rest.
pub fn numbered<'t>(kind: usize, text: &'t str, language: Option<&str>) -> Option<[&'t str; 3]> {
    let word = caption(kind, language);
    let rest = text.strip_prefix(word)?.strip_prefix(' ')?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (number, rest) = rest.split_at(end);
    let is_numbered = !number.is_empty() && rest.starts_with(':');
    is_numbered.then_some([&text[..word.len()], number, rest])
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
