//! OpenDocument texts, sheets and slides.

use renderers::read;

use super::{open_document, package, words};

fn sheet(rows: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content xmlns:office='o' xmlns:text='t' xmlns:table='b'><office:body>\
         <table:table table:name='S'>{rows}</table:table></office:body></office:document-content>"
    );
    let mimetype = "application/vnd.oasis.opendocument.spreadsheet";
    package(&[("mimetype", mimetype), ("content.xml", &content)])
}

/// LibreOffice's encoding of repeated cells, repeated rows and merged cells.
/// Proves MC-26.
#[test]
fn repeated_cells_and_spaces_of_opendocument_are_expanded() {
    let sheet = sheet(
        "<table:table-row><table:table-cell table:number-columns-spanned='3'><text:p>wide</text:p>\
         </table:table-cell><table:covered-table-cell table:number-columns-repeated='2'/>\
         <table:table-cell><text:p>d</text:p></table:table-cell></table:table-row>\
         <table:table-row table:number-rows-repeated='2'><table:table-cell \
         table:number-columns-repeated='3'><text:p>5</text:p></table:table-cell><table:table-cell>\
         <text:p>y</text:p></table:table-cell></table:table-row>\
         <table:table-row table:number-rows-repeated='1048570'><table:table-cell \
         table:number-columns-repeated='16384'/></table:table-row>",
    );
    let wanted = "## S\n\n| wide | ← | ← | d |\n| --- | --- | --- | --- |\n| 5 | 5 | 5 | y |\n\
         | 5 | 5 | 5 | y |";
    assert_eq!(words("a.ods", &sheet).trim_end_matches("\n|  |  |  |  |"), wanted);
}

/// A small file cannot produce an unlimited number of cells.
/// Proves S14.
#[test]
fn repeated_cells_are_bounded() {
    let long = "x".repeat(30_000);
    for (columns, rows) in [(16_384, 1), (200, 1_000_000), (1, usize::MAX)] {
        let row = format!(
            "<table:table-row table:number-rows-repeated='{rows}'><table:table-cell \
             table:number-columns-repeated='{columns}'><text:p>{long}</text:p></table:table-cell>\
             </table:table-row>"
        );
        let Err(refused) = read::to_markdown("a.ods", &sheet(&row.repeat(3))) else {
            panic!("{columns} columns and {rows} rows were read");
        };
        assert!(refused.to_string().contains("limit"), "{refused}");
    }
}

#[test]
fn titles_headers_and_footers_of_opendocument_texts_are_read() {
    let styles = "<s:style s:name='Title' s:family='paragraph'/>\
        <s:style s:name='Own' s:family='paragraph' s:parent-style-name='Subtitle'/>\
        <o:master-styles><s:master-page s:name='Standard'><s:header><t:p>Acme</t:p></s:header>\
        <s:header-left s:display='false'><t:p>Old</t:p></s:header-left>\
        <s:footer><t:p>Page <t:page-number>1</t:page-number><t:title>???</t:title></t:p></s:footer>\
        </s:master-page><s:master-page s:name='Other'><s:header><t:p>Unused</t:p></s:header></s:master-page>\
        <s:master-page s:name='Wide' s:next-style-name='Last'><s:header><t:p>Acme</t:p><t:p>Annex</t:p></s:header>\
        </s:master-page><s:master-page s:name='Last'><s:footer><t:p>End</t:p></s:footer></s:master-page>\
        </o:master-styles>";
    let content = "<s:style s:name='P1' s:family='paragraph' s:parent-style-name='Own'/>\
        <s:style s:name='P2' s:family='paragraph' s:parent-style-name='Text' s:master-page-name='Wide'/>\
        <o:body><t:p t:style-name='Title'>Report</t:p><t:p t:style-name='P1'>of all</t:p>\
        <t:p t:style-name='P2'>Text</t:p></o:body>";
    let wanted = "# Report\n\n## of all\n\nText\n\n## Headers and footers\n\nAcme\n\nPage #\n\n\
                  Acme\n\nAnnex\n\nEnd";
    assert_eq!(words("a.odt", &open_document("text", styles, content)), wanted);
}

#[test]
fn titles_and_hidden_slides_of_opendocument_are_read() {
    let content = "<s:style s:name='dp2'><s:drawing-page-properties p:visibility='hidden'/></s:style>\
        <d:page><d:frame p:class='title'><d:text-box><t:p>One</t:p></d:text-box></d:frame>\
        <d:frame p:class='outline'><d:text-box><t:p>text</t:p></d:text-box></d:frame></d:page>\
        <d:page d:style-name='dp2'><d:frame p:class='title'><d:text-box><t:p>Two</t:p></d:text-box></d:frame></d:page>";
    let wanted = "## Slide 1\n\n### One\n\ntext\n\n## Slide 2 (hidden)\n\n### Two";
    assert_eq!(words("a.odp", &open_document("presentation", "", content)), wanted);
}

#[test]
fn hidden_text_of_opendocument_is_marked() {
    let hidden = "<s:text-properties t:display='none'/>";
    // Long names are cut.
    let long = "P".repeat(300);
    let styles = format!(
        "<s:style s:name='Secret' s:family='text'>{hidden}</s:style><t:list-style s:name='L'>\
         <t:list-level-style-bullet>{hidden}</t:list-level-style-bullet></t:list-style>"
    );
    let content = format!(
        "<s:style s:name='T1' s:family='text' s:parent-style-name='Secret'/><s:style s:name='{long}' \
         s:family='paragraph'>{hidden}</s:style><t:p>a <t:span t:style-name='T1'>b</t:span> c</t:p>\
         <t:p t:style-name='{long}'>d</t:p><t:section t:display='none'><t:section><t:p>e</t:p></t:section>\
         </t:section><t:section t:display='condition' t:is-hidden='true'><t:h>f</t:h></t:section>\
         <t:section><t:p>g<t:hidden-paragraph t:is-hidden='true'/></t:p>\
         <t:p>h<t:hidden-paragraph t:is-hidden='false'/></t:p></t:section>"
    );
    let wanted =
        "a {hidden: b} c\n\n{hidden: d}\n\n{hidden: e}\n\n# {hidden: f}\n\n{hidden: g}\n\nh";
    assert_eq!(words("a.odt", &open_document("text", &styles, &content)), wanted);
}

#[test]
fn tables_of_opendocument_that_follow_each_other_stay_apart() {
    let table = |text: &str| {
        format!(
            "<table:table><table:table-row><table:table-cell><t:p>{text}</t:p></table:table-cell>\
             </table:table-row></table:table>"
        )
    };
    let file = open_document("text", "", &(table("a") + &table("b")));
    assert_eq!(words("a.odt", &file), "| a |\n| --- |\n\n| b |\n| --- |");
}

#[test]
fn hidden_rows_and_columns_of_opendocument_are_marked() {
    let cell = "<table:table-cell><t:p>1</t:p></table:table-cell>";
    let row = |attributes: &str| {
        format!("<table:table-row {attributes}>{}</table:table-row>", cell.repeat(3))
    };
    let content = format!(
        "<table:table table:name='S'><table:table-column/><table:table-column \
         table:number-columns-repeated='2' table:visibility='collapse'/>{}{}{}{}<table:table-row \
         table:visibility='collapse' table:number-rows-repeated='1048572'><table:table-cell/>\
         </table:table-row></table:table>",
        row(""),
        row("table:visibility='filter' table:number-rows-repeated='2'"),
        row(""),
        row("table:visibility='collapse'"),
    );
    let read = words("a.ods", &open_document("spreadsheet", "", &content));
    assert!(
        read.ends_with("| 1 | 1 | 1 |\n|  |  |  |\n\nHidden rows: 2–3, 5.\n\nHidden columns: B–C."),
        "{read}"
    );
}

#[test]
fn a_table_inside_a_paragraph_of_an_opendocument_text_is_a_table() {
    let cell = |text: &str| format!("<table:table-cell><t:p>{text}</t:p></table:table-cell>");
    let table = format!(
        "<table:table><table:table-row>{}{}</table:table-row></table:table>",
        cell("a"),
        cell("b")
    );
    let content = format!(
        "<t:p>before <d:frame><d:text-box>{table}</d:text-box></d:frame>after</t:p><t:p>next</t:p>"
    );
    let wanted = "| a | b |\n| --- | --- |\n\nbefore after\n\nnext";
    assert_eq!(words("a.odt", &open_document("text", "", &content)), wanted);
}

/// Older programs write divided cells of sheets as tables.
#[test]
fn a_table_in_a_cell_of_a_sheet_is_no_sheet() {
    let cell = |text: &str| format!("<table:table-cell><t:p>{text}</t:p></table:table-cell>");
    let row = |cells: &str| format!("<table:table-row>{cells}</table:table-row>");
    let inner = format!(
        "<table:table-cell><table:table table:is-sub-table='true'>{}{}</table:table></table:table-cell>",
        row(&cell("1")),
        row(&cell("2"))
    );
    let content = format!(
        "<table:table table:name='S'><table:table-column/><table:table-column \
         table:visibility='collapse'/>{}</table:table>",
        row(&format!("{inner}{}", cell("b")))
    );
    let wanted = "## S\n\n| 1<br>2 | b |\n| --- | --- |\n\nHidden columns: B.";
    assert_eq!(words("a.ods", &open_document("spreadsheet", "", &content)), wanted);
}

#[test]
fn footnotes_of_opendocument_stand_apart_from_the_text() {
    let note = "<t:note><t:note-citation>1</t:note-citation><t:note-body><t:p>Only for</t:p>\
        <t:p>members</t:p></t:note-body></t:note>";
    let content = format!(
        "<t:p>Price is 100{note}EUR</t:p><table:table><table:table-row><table:table-cell>\
         <t:p>30{note}</t:p></table:table-cell></table:table-row></table:table>"
    );
    let wanted = "Price is 100[^1]EUR\n\n| 30[^2] |\n| --- |\n\n## Footnotes\n\n\
                  [^1]: Only for members\n\n[^2]: Only for members";
    assert_eq!(words("a.odt", &open_document("text", "", &content)), wanted);
}

#[test]
fn items_of_opendocument_keep_their_labels() {
    let content = "<t:list-style s:name='L'><t:list-level-style-number t:level='1' s:num-format='I' \
        s:num-prefix='§ '/><t:list-level-style-number t:level='2' s:num-format='1' s:num-suffix='.' \
        t:display-levels='2'/><t:list-level-style-number t:level='3' s:num-format='a' \
        s:num-suffix=')'/></t:list-style>\
        <t:list t:style-name='L'><t:list-item><t:p>one</t:p></t:list-item><t:list-item><t:p>two</t:p>\
        <t:list><t:list-item><t:p>in</t:p><t:list><t:list-item><t:p>deep</t:p></t:list-item></t:list>\
        </t:list-item></t:list></t:list-item></t:list>";
    let wanted = "§ I one\n§ II two\n    II.1. in\n        a) deep";
    assert_eq!(words("a.odt", &open_document("text", "", content)), wanted);
}
