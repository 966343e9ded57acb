#!/usr/bin/env python3
"""Draws the gallery of the documentation: `gallery.py COUNTERSIGN` writes docs/images/gallery-*.png.

Each picture shows pages of files that `countersign render` makes of the corpus; those of Word,
PowerPoint and Excel as LibreOffice lays them out. Needs libreoffice (writer, calc, impress, math),
poppler-utils, Noto's fonts, and Pillow from PyPI.
"""

import pathlib
import subprocess
import sys
import tempfile

from PIL import Image

HERE = pathlib.Path(__file__).parents[2]
CORPUS = HERE / "renderers" / "tests" / "corpus"
# Of each format: pages of a source, the height of a page in pixels, how much of it is shown.
GALLERY = {
    "pdf": ([("charts", 1), ("charts", 2), ("columns", 1)], 560, 1),
    "docx": ([("charts", 1), ("charts", 2), ("columns", 1)], 560, 1),
    "pptx": ([("charts", page) for page in (1, 2, 4)] + [("deck", page) for page in (4, 5, 8)], 232, 1),
    "xlsx": ([("charts", page) for page in (1, 2, 3)], 560, 0.6),
}
IN_A_ROW = 3
BACKGROUND = (217, 222, 226)
GAP = 14


def pages(countersign, ending, source, folder):
    """The pages of a source in that format, as a PDF."""
    file = folder / f"{source}.{ending}"
    if not file.exists():
        command = [countersign, "--log", "off", "render", CORPUS / f"{source}.md", "-o", file]
        subprocess.run(command, check=True)
    if ending == "pdf":
        return file
    shown = folder / ending / f"{source}.pdf"
    if not shown.exists():
        profile = f"-env:UserInstallation=file://{folder}/profile"
        command = ["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", shown.parent, file]
        subprocess.run(command, check=True, capture_output=True)
    return shown


def page(pdf, number, height, part):
    into = pdf.with_suffix("")
    command = ["pdftoppm", "-png", "-r", "150", "-singlefile", "-f", number, "-l", number, pdf, into]
    subprocess.run([str(word) for word in command], check=True)
    picture = Image.open(into.with_suffix(".png")).convert("RGB")
    picture = picture.resize((round(picture.width * height / picture.height), height), Image.LANCZOS)
    return picture.crop((0, 0, picture.width, round(height * part)))


def wall(pictures):
    rows = [pictures[at:at + IN_A_ROW] for at in range(0, len(pictures), IN_A_ROW)]
    width = max(sum(picture.width + GAP for picture in row) for row in rows) + GAP
    height = sum(row[0].height + GAP for row in rows) + GAP
    whole = Image.new("RGB", (width, height), BACKGROUND)
    top = GAP
    for row in rows:
        left = GAP
        for picture in row:
            whole.paste(picture, (left, top))
            left += picture.width + GAP
        top += row[0].height + GAP
    return whole


def main(countersign):
    with tempfile.TemporaryDirectory() as scratch:
        for ending, (shown, height, part) in GALLERY.items():
            folder = pathlib.Path(scratch)
            files = [(pages(countersign, ending, source, folder), number) for source, number in shown]
            picture = wall([page(pdf, number, height, part) for pdf, number in files])
            few = picture.quantize(96, dither=Image.Dither.NONE)
            few.save(HERE / "docs" / "images" / f"gallery-{ending}.png", optimize=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve())
