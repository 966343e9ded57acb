#!/usr/bin/env python3
"""Holds rendered files against third-party readers: `check.py FOLDER`.

The folder holds files made by `countersign render`; those named features, sheets, deck and charts
came from renderers/tests/corpus and are checked more closely.
Needs qpdf and poppler-utils, and from PyPI openpyxl, pikepdf, page-validation, python-docx and
python-pptx. Prints one line a finding and leaves with 1 if there is any.
"""

import datetime
import pathlib
import re
import subprocess
import sys
import zipfile

# Findings of page-validation that are its own, as (end of the rule, words of the message).
# Type 3 fonts carry colour emoji; their glyphs state their width by d0, which it reads as 0. In a
# CID-keyed CFF font, a glyph without a width has the defaultWidthX of its own font dictionary, as
# fontTools confirms; it takes 0. The last byte of a stream may be a carriage return; it takes that
# for a part of the line's end after it, and qpdf, which is asked too, knows the true length.
FALSE_FINDINGS = [
    ("-GLYPH-WIDTH-001", "Type3"),
    ("-GLYPH-WIDTH-001", "width 0.000 in its embedded CIDFontType0C program"),
    ("-STREAM-LENGTH-001", "does not match its raw content length"),
]
SENTINEL = re.compile(r"\b[A-Z][A-Z0-9]{1,2}-(?:[A-Z]{2}-)?\d{2,4}\b")
CORPUS = pathlib.Path(__file__).parents[2] / "renderers" / "tests" / "corpus"
# On no page: descriptions of pictures that are drawn, and what must be hidden.
OFF_PAGE = {"ALT-50", "ALT-52", "ALT-53", "ALT-54", "HID-62", "HID-63"}

findings = []


def need(path, holds, finding):
    if not holds:
        findings.append(f"{path.name}: {finding}")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def check_pdf(path):
    import page
    import pikepdf

    checked = run("qpdf", "--check", str(path))
    clean = "No syntax or stream encoding errors" in checked.stdout
    need(path, clean, f"qpdf: {checked.stdout[-200:]}{checked.stderr[-200:]}")
    for line in run("pdffonts", str(path)).stdout.splitlines()[2:]:
        # Columns from the right: object id (2), uni, sub, emb. Type 3 fonts are never subsets.
        *_, embedded, subset, unicode_, _, _ = line.split()
        whole = embedded == unicode_ == "yes" and (subset == "yes" or "Type 3" in line)
        need(path, whole, f"font not embedded whole: {line}")
    for profile in declared(path):
        for failure in page.validate_pdf(str(path), profile=profile).failures:
            known = any(
                failure.rule_id.endswith(rule) and words in failure.message
                for rule, words in FALSE_FINDINGS
            )
            need(path, known, f"{profile} {failure.rule_id}: {failure.message}")
    with pikepdf.open(path) as pdf:
        need(path, "/StructTreeRoot" in pdf.Root, "not tagged")
        need(path, "/Lang" in pdf.Root, "no language")
        need(path, str(pdf.docinfo.get("/Title", "")), "no title")
        count = len(pdf.pages)
    # A word may be cut at the end of a line, where pdftotext takes its hyphen away.
    text = re.sub(r"[\s-]+", "", run("pdftotext", "-layout", str(path), "-").stdout)
    if path.stem == "features":
        check_features_pdf(path, text, count)
    if path.stem == "charts":
        alts = alternatives(path)
        for words in CHARTS:
            need(path, any(alt.startswith(words) for alt in alts), f"no description {words}")


def declared(path):
    """The standards that a file claims; those of the corpus must claim the strictest."""
    import pikepdf

    with pikepdf.open(path) as pdf, pdf.open_metadata() as metadata:
        part = metadata.get("pdfaid:part")
        level = (metadata.get("pdfaid:conformance") or "").lower()
        profiles = ["ua1"] if metadata.get("pdfuaid:part") == "1" else []
    if part:
        profiles.append(f"{part}{level}")
    if (CORPUS / f"{path.stem}.md").exists():
        need(path, profiles == ["ua1", "2a"], f"claims only {profiles}")
    return profiles


def alternatives(path):
    """What the file says of its pictures."""
    import pikepdf

    with pikepdf.open(path) as pdf:
        items = [item for item in pdf.objects if isinstance(item, pikepdf.Dictionary)]
        return {str(item["/Alt"]) for item in items if "/Alt" in item}


def check_features_pdf(path, text, count):
    import pikepdf

    source = (CORPUS / "features.md").read_text()
    for sentinel in sorted(set(SENTINEL.findall(source)) - OFF_PAGE):
        need(path, sentinel.replace("-", "") in text, f"lost {sentinel}")
    for hidden in ("HID-62", "HID-63"):
        need(path, hidden.replace("-", "") not in text, f"shows {hidden}")
    need(path, f"1/{count}" in text and f"{count}/{count}" in text, "no page numbers")
    need(path, text.count("HDR3302") == count, "the header is not on every page")
    with pikepdf.open(path) as pdf:
        with pdf.open_outline() as outline:
            titles = [item.title for item in outline.root]
        need(path, any("OVR-1001" in title for title in titles), f"outline {titles}")
        alts = alternatives(path)
        for alt in ("ALT-50", "ALT-52", "ALT-53", "ALT-54"):
            need(path, any(alt in text for text in alts), f"no alternative text {alt}")
        urls = [
            str(note["/A"]["/URI"])
            for sheet in pdf.pages
            for note in sheet.get("/Annots", [])
            if "/A" in note and "/URI" in note["/A"]
        ]
        need(path, "https://example.org/a?b=1&c=2" in urls, f"links {urls}")


def check_xlsx(path):
    import openpyxl

    book = openpyxl.load_workbook(path)
    for sheet in book:
        need(path, len(sheet.title) <= 31, f"sheet name {sheet.title}")
        for cells in sheet.iter_rows():
            for cell in cells:
                if cell.data_type == "f":
                    check_formula(path, str(cell.value), book.sheetnames)
    with zipfile.ZipFile(path) as package:
        names = package.namelist()
    odd = [name for name in names if "externalLink" in name or "vba" in name.lower()]
    need(path, not odd, f"parts {odd}")
    if path.stem == "charts":
        check_charts_xlsx(path, book, openpyxl.load_workbook(path, data_only=True))
    if path.stem == "sheets":
        check_types(path, book, openpyxl.load_workbook(path, data_only=True))


def check_formula(path, formula, sheets):
    reaching = re.search(r"HYPERLINK|WEBSERVICE|IMPORT|INDIRECT|RTD|DDE|\||\[", formula, re.I)
    need(path, not reaching, f"formula {formula}")
    for sheet in re.findall(r"'((?:[^']|'')+)'!", formula):
        need(path, sheet.replace("''", "'") in sheets, f"formula {formula}")
    need(path, formula.count("!") == formula.count("'!"), f"formula {formula}")


CHARTS = ["Bar chart “Revenue by quarter”", "Line chart “Water level”",
          "Pie chart “How goods travel”", "Scatter chart"]


def check_charts_xlsx(path, book, values):
    count = sum(len(sheet._charts) for sheet in book)
    need(path, count == 4, f"{count} charts")
    freight = book["Freight"]
    rules = [rule.type for cells in freight.conditional_formatting for rule in cells.rules]
    need(path, sorted(rules) == ["cellIs", "dataBar"], f"conditional formats {rules}")
    shown = [cell.value for row in values["Freight"].iter_rows() for cell in row]
    need(path, 852700 in shown, "no total of the tonnes")
    check = [row[1].value for row in values["Check"].iter_rows(min_row=2)]
    need(path, check == [852700, 13.1], f"formulas over sheets give {check}")


def check_types(path, book, values):
    types = book["Types 类型"]
    expected = {
        "B2": (1, "n", "0"),
        "B4": (1234567, "n", "#,##0"),
        "C4": (1e-9, "n", "0E+00"),
        "D2": (0.125, "n", "0.0%"),
        "E2": (1234.5, "n", '"$"#,##0.00'),
        "E3": (-99, "n", '"$"#,##0.00;("$"#,##0.00)'),
        "E4": (88, "n", '"¥"#,##0.00'),
        "E5": (5, "n", '"€"#,##0.00'),
        "F2": (datetime.datetime(2026, 3, 31), "d", None),
        "F5": (datetime.datetime(2026, 4, 1), "d", None),
        "G2": (datetime.datetime(2026, 3, 31, 13, 45), "d", None),
        "G3": (datetime.datetime(1999, 12, 31, 23, 59, 59), "d", None),
        "H2": (True, "b", None),
        "H3": (False, "b", None),
        "I2": ("=B2*C2", "f", None),
        "J2": ("00123", "s", None),
        "J3": ("+86 138 0000 0000", "s", None),
        "J4": ("1234567890123456789", "s", None),
        "J5": ("3-4", "s", None),
    }
    for at, (value, kind, shown) in expected.items():
        cell = types[at]
        right = cell.value == value and cell.data_type == kind
        right = right and shown in (None, cell.number_format)
        need(path, right, f"{at} is {cell.value!r} {cell.data_type} {cell.number_format}")
    computed = [values["Types 类型"][at].value for at in ("I2", "I3", "I4")]
    need(path, computed == [1.5, -6, "y"], f"computed {computed}")
    need(path, types.freeze_panes == "A2", "no frozen header")
    need(path, [t.ref for t in types.tables.values()] == ["A1:J5"], "no native table")
    need(path, types.print_title_rows == "$1:$1", "no repeated header row")
    rich = book["Rich cells"]
    need(path, rich["A3"].hyperlink.target == "https://example.org/x", "no link")
    need(path, rich["B3"].value == "two\nlines", "no line break")
    wide, narrow = types.column_dimensions["J"].width, types.column_dimensions["B"].width
    need(path, wide > narrow, "widths do not follow the content")


def check_docx(path):
    import docx

    document = docx.Document(str(path))
    text = "\n".join(paragraph.text for paragraph in document.paragraphs)
    need(path, text.strip() or document.tables, "nothing to read")
    if path.stem == "charts":
        told = [shape._inline.docPr.get("descr") for shape in document.inline_shapes]
        for words in CHARTS:
            need(path, any(one.startswith(words) for one in told), f"no description {words}")
        with zipfile.ZipFile(path) as package:
            kinds = sorted(name.rsplit(".")[-1] for name in package.namelist() if "/media/" in name)
        need(path, kinds == ["png"] * 4 + ["svg"] * 4, f"pictures {kinds}")
    if path.stem == "features":
        need(path, document.core_properties.title, "no title")
        headings = [p for p in document.paragraphs if p.style.name.startswith("Heading")]
        need(path, len(headings) == 13, f"{len(headings)} headings")
        need(path, len(document.tables) >= 3, f"{len(document.tables)} tables")


def check_pptx(path):
    import pptx

    deck = pptx.Presentation(str(path))
    need(path, len(deck.slides) > 0, "no slides")
    width, height = deck.slide_width, deck.slide_height
    for number, slide in enumerate(deck.slides, 1):
        for shape in slide.shapes:
            if shape.left is None or shape.width is None:
                continue
            inside = shape.left >= 0 and shape.top >= 0
            inside = inside and shape.left + shape.width <= width
            inside = inside and shape.top + shape.height <= height
            need(path, inside, f"slide {number}: {shape.name} is off the slide")
    if path.stem == "charts":
        charts = [shape for slide in deck.slides for shape in slide.shapes if shape.has_chart]
        told = [shape._element.nvGraphicFramePr.cNvPr.get("descr") for shape in charts]
        need(path, [any(one.startswith(words) for one in told) for words in CHARTS] == [True] * 4,
             f"charts {told}")
        bars = charts[0].chart
        need(path, list(bars.plots[0].categories) == ["Q1", "Q2", "Q3", "Q4"], "no categories")
        need(path, list(bars.plots[0].series[1].values) == [0.8, 1.1, -0.4, 1.6], "no values")
        need(path, bars.part.chart_workbook.xlsx_part is not None, "no workbook to edit")
    if path.stem == "deck":
        notes = " ".join(
            slide.notes_slide.notes_text_frame.text for slide in deck.slides if slide.has_notes_slide
        )
        need(path, "NOTE-01" in notes and "NOTE-02" in notes, "speaker's notes are lost")


CHECKS = {".pdf": check_pdf, ".xlsx": check_xlsx, ".docx": check_docx, ".pptx": check_pptx}


def main(folder):
    files = sorted(path for path in pathlib.Path(folder).iterdir() if path.suffix in CHECKS)
    if not files:
        sys.exit(f"{folder} holds no rendered files")
    for path in files:
        try:
            CHECKS[path.suffix](path)
        except Exception as error:  # a reader that gives up is a finding, and the others still count
            findings.append(f"{path.name}: {type(error).__name__}: {error}")
    print("\n".join(findings) or f"{len(files)} files are in order")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
