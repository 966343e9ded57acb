//! Property tests: Office files can represent any document of the model.

use proptest::prelude::*;

use super::picture::tests::png;
use super::reading::Parts;
use crate::document::{Alert, Align, Block, Definition, Inline, Item, List, Mark, Meta, Table};
use crate::{Document, Format, render};

/// Characters that are known to cause problems, and arbitrary ones.
fn text() -> impl Strategy<Value = String> {
    let trouble = prop::sample::select(vec![
        "",
        " ",
        "\u{0}\u{1b}",
        "<&>\"'",
        "]]>",
        "a\tb\nc",
        "\u{ffff}\u{fffe}",
        "שלום",
        "中文。",
        "👩\u{200d}💻",
        "e\u{301}",
        "word word word",
        "---",
        ":::",
        "\u{202e}x",
    ]);
    prop_oneof![trouble.prop_map(str::to_owned), ".{0,40}", "[a-z ]{0,300}"]
}

fn inline() -> impl Strategy<Value = Inline> {
    let url = prop_oneof![
        Just("#a".to_owned()),
        Just("https://e.org/%zz ä".to_owned()),
        Just("a.png".to_owned()),
        ".{0,30}"
    ];
    let leaf = prop_oneof![
        text().prop_map(Inline::Text),
        text().prop_map(Inline::Text),
        text().prop_map(Inline::Code),
        text().prop_map(Inline::Math),
        (0_usize..4).prop_map(Inline::Footnote),
        Just(Inline::SoftBreak),
        Just(Inline::LineBreak),
        (url.clone(), text(), text()).prop_map(|(url, alt, title)| Inline::Image {
            url,
            alt,
            title
        }),
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        let many = prop::collection::vec(inner, 0..4);
        prop_oneof![
            many.clone().prop_map(Inline::Strong),
            many.clone().prop_map(Inline::Emphasis),
            many.clone().prop_map(Inline::Strike),
            many.clone().prop_map(|parts| Inline::Marked(Mark::Raised, parts)),
            many.clone().prop_map(|parts| Inline::Marked(Mark::Highlighted, parts)),
            (url.clone(), text(), many).prop_map(|(url, title, content)| Inline::Link {
                url,
                title,
                content
            }),
        ]
    })
}

fn line() -> impl Strategy<Value = Vec<Inline>> {
    prop::collection::vec(inline(), 0..5)
}

fn table() -> impl Strategy<Value = Block> {
    let row = || prop::collection::vec(line(), 0..6);
    (row(), prop::collection::vec(row(), 0..6)).prop_map(|(header, rows)| {
        Block::Table(Table {
            align: vec![Align::Center, Align::End],
            header,
            rows,
            ..Table::default()
        })
    })
}

fn block() -> impl Strategy<Value = Block> {
    let leaf = prop_oneof![
        line().prop_map(Block::Paragraph),
        line().prop_map(Block::Paragraph),
        (0_u8..9, line()).prop_map(|(level, content)| Block::Heading { level, content }),
        (prop::option::of(Just("rust".to_owned())), text())
            .prop_map(|(language, text)| Block::Code { language, text }),
        text().prop_map(Block::Math),
        text().prop_map(Block::Comment),
        Just(Block::Break),
        table(),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let many = prop::collection::vec(inner, 0..4);
        let item = (prop::option::of(any::<bool>()), many.clone())
            .prop_map(|(task, blocks)| Item { task, blocks });
        let list =
            (prop::option::of(any::<u64>()), any::<bool>(), prop::collection::vec(item, 0..4))
                .prop_map(|(start, tight, items)| Block::List(List { start, tight, items }));
        let alert = prop::option::of(Just(Alert::Tip));
        let definition =
            (line(), many.clone()).prop_map(|(term, description)| Definition { term, description });
        prop_oneof![
            list,
            (alert, many).prop_map(|(alert, blocks)| Block::Quote { alert, blocks }),
            prop::collection::vec(definition, 0..3).prop_map(Block::Definitions),
        ]
    })
}

prop_compose! {
    fn document()(
        blocks in prop::collection::vec(block(), 0..8),
        notes in prop::collection::vec(prop::collection::vec(block(), 0..3), 0..3),
        words in prop::collection::vec(prop::option::of(text()), 5),
        switches in prop::collection::vec(any::<bool>(), 4),
    ) -> Document {
        let meta = Meta {
            title: words[0].clone(),
            author: words[1].clone(),
            language: words[2].clone(),
            header: words[3].clone(),
            footer: words[4].clone(),
            cover: switches[0],
            contents: switches[1],
            numbered: switches[2],
            paginate: switches[3],
            ..Meta::default()
        };
        let assets = [("a.png".to_owned(), png(30, 20))].into();
        Document { meta, blocks, notes, assets, ..Document::default() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_document_becomes_well_formed_parts_that_find_each_other(document in document()) {
        for format in [Format::Docx, Format::Pptx] {
            let rendered = render(&document, format).unwrap();
            let parts = Parts::of(&rendered.bytes);
            parts.check_links();
            prop_assert!(rendered.pages > 0);
            prop_assert_eq!(&rendered.bytes, &render(&document, format).unwrap().bytes);
        }
    }
}
