#!/usr/bin/env python3
"""Edits files that other programs made, and holds the results against third-party readers:
`edit_check.py EDITOR FOLDER [--full]`.

EDITOR is the example `edit` of the renderers. Needs openpyxl, pikepdf, python-docx and python-pptx
from PyPI, qpdf, and the schema validator as `office_check.py` does. With `--full` LibreOffice opens
the files as well. Prints one line for each finding, and exits with 1 if there is any.
"""

import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import docx
import openpyxl
import pikepdf
import pptx
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Font, PatternFill
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.table import Table, TableStyleInfo
from pptx.util import Inches

import office_check
from office_check import need

EDITOR = sys.argv[1] if len(sys.argv) > 2 else None
FOLDER = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None


def edit(kind, request, output, *inputs):
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(request, file)
    done = subprocess.run([EDITOR, kind, file.name, str(output), *map(str, inputs)],
                          capture_output=True, text=True, check=False)
    os.unlink(file.name)
    need(output, done.returncode == 0, f"the edit fails: {done.stderr.strip()[-300:]}")
    return done.returncode == 0


def kept(before, after, changed):
    """All parts but these are the same, byte for byte."""
    with zipfile.ZipFile(before) as old, zipfile.ZipFile(after) as new:
        for name in old.namelist():
            if not any(name.startswith(start) for start in changed):
                same = name in new.namelist() and old.read(name) == new.read(name)
                need(after, same, f"{name} is not the same")


def make_workbook(path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sales"
    sheet.append(["Port", "Tonnes", "Double", "Day"])
    for row, (port, tonnes) in enumerate([("Oslo", 5), ("Genoa", 7), ("Kiel", 9)], 2):
        sheet.append([port, tonnes, f"=B{row}*2", f"2026-05-0{row}"])
        cell = sheet.cell(row, 4)
        cell.value = datetime.date(2026, 5, row)
        cell.number_format = "DD.MM.YYYY"
        sheet.cell(row, 2).font = Font(bold=True, color="FF0000")
    table = Table(displayName="Ports", ref="A1:D4")
    table.tableStyleInfo = TableStyleInfo(name="TableStyleMedium9", showRowStripes=True)
    sheet.add_table(table)
    red = PatternFill(bgColor="FFC7CE")
    sheet.conditional_formatting.add("B2:B4", CellIsRule(operator="lessThan", formula=["6"], fill=red))
    check = DataValidation(type="whole", operator="greaterThan", formula1="0")
    sheet.add_data_validation(check)
    check.add("B2:B4")
    sheet["A2"].comment = Comment("a note", "Ann")
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=4), titles_from_data=True)
    sheet.add_chart(chart, "G2")
    other = book.create_sheet("Other sheet")
    other["A1"] = "=SUM(Sales!B2:B4)"
    other.merge_cells("B1:C2")
    book.defined_names["Total"] = DefinedName("Total", attr_text="Sales!$B$2:$B$4")
    book.save(path)


def check_workbook():
    before, after = FOLDER / "book-before.xlsx", FOLDER / "book.xlsx"
    make_workbook(before)
    request = {
        "sheets": [{"name": "New one", "rows": [["a", 1], ["=Sales!B2", True]]}],
        "cells": [{"sheet": "Sales", "cell": "B2", "value": 50},
                  {"sheet": "Sales", "cell": "D2", "value": "2026-06-01"},
                  {"sheet": "Other sheet", "cell": "E9", "value": " text & <more> "}],
        "rows": [{"table": "Ports", "rows": [{"Port": "Bergen", "Tonnes": 3}, ["Hull", 4]]}],
    }
    if not edit("workbook", request, after, before):
        return
    book = openpyxl.load_workbook(after)
    sheet = book["Sales"]
    for cell, value in [("B2", 50), ("C2", "=B2*2"), ("A5", "Bergen"), ("B6", 4), ("C6", "=B6*2")]:
        need(after, sheet[cell].value == value, f"{cell} is {sheet[cell].value!r}")
    need(after, sheet["D2"].value.month == 6, f"D2 is {sheet['D2'].value!r}")
    need(after, sheet["B5"].font.bold and sheet["D6"].number_format == "DD.MM.YYYY", "formats are lost")
    need(after, sheet.tables["Ports"].ref == "A1:D6", f"the table is {sheet.tables['Ports'].ref}")
    ranges = [str(area.sqref) for area in sheet.conditional_formatting]
    need(after, ranges == ["B2:B6"], f"the conditional format is in {ranges}")
    need(after, str(sheet.data_validations.dataValidation[0].sqref) == "B2:B6", "the validation")
    need(after, sheet["A2"].comment.text == "a note", "the comment is lost")
    need(after, book["Other sheet"]["E9"].value == " text & <more> ", "spaces or signs are lost")
    formula = book["New one"]["A2"].value
    need(after, formula == "='Sales'!B2", f"the formula of the new sheet is {formula}")
    need(after, book.defined_names["Total"].attr_text == "Sales!$B$2:$B$4", "the name is lost")
    kept(before, after, ["xl/worksheets/sheet", "xl/workbook.xml", "xl/_rels/workbook", "[Content",
                         "xl/tables/"])


def check_computed(folder):
    """LibreOffice computes the formulas when it opens the workbook."""
    path = FOLDER / "book.xlsx"
    profile = f"-env:UserInstallation=file://{folder}/profile"
    subprocess.run(["soffice", profile, "--headless", "--convert-to", "csv", "--outdir", folder,
                    str(path)], capture_output=True, check=False, timeout=180)
    text = (pathlib.Path(folder) / "book.csv").read_text()
    for row in ["Oslo,50,100,", "Hull,4,8,"]:
        need(path, row in text, f"LibreOffice does not compute {row!r}: {text!r}")


def make_document(path):
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "For {{client.name}}"
    document.sections[0].footer.paragraphs[0].text = "Page of {{client.name}}"
    document.add_heading("Offer", 1)
    paragraph = document.add_paragraph("Dear {{cli")
    paragraph.add_run("ent.na").bold = True
    paragraph.add_run("me}}, this is the old text.")
    document.add_paragraph("It is {{missing}}.", style="List Bullet")
    table = document.add_table(rows=3, cols=2, style="Table Grid")
    for row, words in enumerate([("Item", "Price"), ("{{#items}}{{name}}", "{{price}}{{/items}}"),
                                 ("Sum", "{{sum}}")]):
        for column, word in enumerate(words):
            table.cell(row, column).text = word
    document.save(path)


def texts(document):
    return [paragraph.text for paragraph in document.paragraphs]


def check_documents():
    template, filled = FOLDER / "template-before.docx", FOLDER / "filled.docx"
    make_document(template)
    values = {"client": {"name": "Ann & Co"}, "sum": 4.5,
              "items": [{"name": "Boat", "price": 3}, {"name": "Oar", "price": 1.5}]}
    if not edit("fill", {"Once": values}, filled, template):
        return
    document = docx.Document(str(filled))
    need(filled, "Dear Ann & Co, this is the old text." in texts(document), str(texts(document)))
    need(filled, document.sections[0].header.paragraphs[0].text == "For Ann & Co", "the header")
    rows = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
    expected = [["Item", "Price"], ["Boat", "3"], ["Oar", "1.5"], ["Sum", "4.5"]]
    need(filled, rows == expected, f"the rows are {rows}")
    kept(template, filled, ["word/document.xml", "word/header", "word/footer"])

    merged = FOLDER / "merged"
    merged.mkdir()
    each = {"Each": {"rows": [{"client": {"name": name}, "items": [], "sum": 0} for name in ("A", "B")],
                     "values": {}, "pattern": "{{client.name}}.docx"}}
    if edit("fill", each, merged, template):
        names = sorted(path.name for path in merged.iterdir())
        need(merged, names == ["A.docx", "B.docx"], f"the files are {names}")
        shutil.copy(merged / "B.docx", FOLDER / "row.docx")

    changes = [
        {"action": "replace_text", "old": "the old text", "new": "a new one"},
        {"action": "set_cell", "table": 1, "row": 2, "column": 2, "text": "4"},
        {"action": "add_row", "table": 1, "after": 2, "cells": ["Sail", "9"]},
        {"action": "remove_row", "table": 1, "row": 4},
        {"action": "insert_paragraph", "after": "a new one", "text": "An added one."},
        {"action": "remove_paragraph", "containing": "It is"},
    ]
    plain, tracked = FOLDER / "edited.docx", FOLDER / "tracked.docx"
    if edit("word", {"changes": changes}, plain, filled):
        document = docx.Document(str(plain))
        words = texts(document)
        need(plain, words[1:3] == ["Dear Ann & Co, this is a new one.", "An added one."], str(words))
        rows = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
        expected = [["Item", "Price"], ["Boat", "4"], ["Sail", "9"], ["Sum", "4.5"]]
        need(plain, rows == expected, f"the rows are {rows}")
    author = {"name": "Ann", "date": "2026-05-01T12:00:00Z"}
    changes[4]["after"] = "Dear Ann"
    if edit("word", {"changes": changes, "author": author}, tracked, filled):
        xml = docx.Document(str(tracked)).element.xml
        need(tracked, xml.count("<w:ins ") > 4 and xml.count("<w:del ") > 4, "few tracked changes")


def check_decks():
    template, filled = FOLDER / "deck-before.pptx", FOLDER / "deck.pptx"
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "{{title}}"
    slide.placeholders[1].text = "one {{point}}\ntwo"
    slide.notes_slide.notes_text_frame.text = "say {{title}}"
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Table"
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(6), Inches(1)).table
    for at, word in enumerate(["Item", "Price", "{{#items}}{{name}}", "{{price}}{{/items}}"]):
        table.cell(at // 2, at % 2).text = word
    deck.save(template)
    values = {"title": "Rivers & more", "point": "first\nline",
              "items": [{"name": "Boat", "price": 3}, {"name": "Oar", "price": 1}]}
    if not edit("fill", {"Once": values}, filled, template):
        return
    deck = pptx.Presentation(str(filled))
    first, second = deck.slides
    need(filled, first.shapes.title.text == "Rivers & more", "the title")
    need(filled, first.placeholders[1].text == "one first\vline\ntwo", repr(first.placeholders[1].text))
    need(filled, first.notes_slide.notes_text_frame.text == "say Rivers & more", "the notes")
    table = next(shape.table for shape in second.shapes if shape.has_table)
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    need(filled, rows == [["Item", "Price"], ["Boat", "3"], ["Oar", "1"]], f"the rows are {rows}")
    kept(template, filled, ["ppt/slides/slide", "ppt/notesSlides/notesSlide"])


def make_pdf(path, words, form=False):
    pdf = pikepdf.new()
    font = pdf.make_indirect(pikepdf.Dictionary(
        Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica))
    for word in words:
        page = pdf.add_blank_page(page_size=(300, 400))
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=font))
        page.Contents = pdf.make_stream(f"BT /F1 20 Tf 30 350 Td ({word}) Tj ET".encode())
    if form:
        field = pdf.make_indirect(pikepdf.Dictionary(
            Type=pikepdf.Name.Annot, Subtype=pikepdf.Name.Widget, FT=pikepdf.Name.Tx,
            T=pikepdf.String("name"), Rect=[30, 200, 200, 220], F=4, P=pdf.pages[0].obj,
            DA=pikepdf.String("/Helv 0 Tf 0 g")))
        pdf.pages[0].Annots = pdf.make_indirect(pikepdf.Array([field]))
        pdf.Root.AcroForm = pikepdf.Dictionary(
            Fields=[field], DA=pikepdf.String("/Helv 0 Tf 0 g"),
            DR=pikepdf.Dictionary(Font=pikepdf.Dictionary(Helv=font)))
    pdf.save(path)


def words_of(path):
    shown = subprocess.run(["pdftotext", "-layout", str(path), "-"], capture_output=True, text=True,
                           check=False)
    return [page.split() for page in shown.stdout.split("\f")[:-1]]


def check_pdfs():
    one, two, form = (FOLDER / f"{name}-before.pdf" for name in ("one", "two", "form"))
    make_pdf(one, ["first", "second", "third"])
    make_pdf(two, ["fourth"])
    make_pdf(form, ["form"], form=True)
    merged = FOLDER / "merged.pdf"
    request = {"pages": ["3,1", None], "rotations": [{"pages": "1", "degrees": 90}],
               "page_numbers": True, "watermark": "Draft"}
    if edit("pdf", request, merged, one, two):
        shown = words_of(merged)
        for page, word in zip(shown, ["third", "first", "fourth"], strict=True):
            need(merged, word in page, f"{word} is not in {page}")
        with pikepdf.open(merged) as pdf:
            need(merged, pdf.pages[0].obj.get("/Rotate") == 90, "the page is not rotated")
    filled = FOLDER / "filled.pdf"
    if edit("pdf", {"fields": {"name": "Ann Müller"}}, filled, form):
        with pikepdf.open(filled) as pdf:
            field = pdf.Root.AcroForm.Fields[0]
            need(filled, str(field.V) == "Ann Müller", f"the value is {field.V}")
        need(filled, "Müller" in sum(words_of(filled), []), f"the value is not drawn: {words_of(filled)}")
    both = FOLDER / "both.pdf"
    if edit("pdf", {"pages": [None, None]}, both, filled, two):
        need(both, "Müller" in words_of(both)[0], "the value of the form is lost")


def main(full):
    FOLDER.mkdir(parents=True, exist_ok=True)
    check_workbook()
    check_documents()
    check_decks()
    check_pdfs()
    made = sorted(path for path in FOLDER.iterdir() if path.is_file() and "before" not in path.name)
    office = [path for path in made if path.suffix != ".pdf"]
    # Some programs write files that the schema does not allow.
    originals = [path for path in FOLDER.glob("*-before.*") if path.suffix != ".pdf"]
    office_check.check_schemas(office, originals)
    for path in made:
        if path.suffix == ".pdf":
            check = subprocess.run(["qpdf", "--check", str(path)], capture_output=True, text=True,
                                   check=False)
            need(path, check.returncode == 0, f"qpdf: {check.stdout[-300:]}{check.stderr[-300:]}")
    if full:
        with tempfile.TemporaryDirectory() as scratch:
            office_check.check_opens(office, scratch)
            check_computed(scratch)
    for finding in office_check.findings:
        print(finding)
    print(f"{len(made)} edited files, {len(office_check.findings)} findings")
    return 1 if office_check.findings or not made else 0


if __name__ == "__main__":
    if FOLDER is None:
        sys.exit(__doc__)
    sys.exit(main("--full" in sys.argv))
