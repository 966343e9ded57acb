#!/usr/bin/env python3
"""Compares the gallery: `gallery_check.py COUNTERSIGN OUTPUT [--full] [--update]`.

Thirty pages are rendered and compared with the pictures in gallery/pages: those of PDFs, and with
`--full` those of Office files as LibreOffice lays them out. If a page differs, OUTPUT/PAGE.png shows
the old page, the new page and the difference. With `--update` the pages become the references.

Other versions of LibreOffice and other fonts break lines elsewhere, so Office files are compared only
if those are the ones of the references (gallery/versions.json).
"""

import json
import pathlib
import shutil
import sys
import tempfile

from PIL import Image

import gallery_compare
import gallery_pages
from gallery_pages import GALLERY, PAGES

REFERENCES = GALLERY / "pages"
VERSIONS = GALLERY / "versions.json"
OFFICE = ["docx", "pptx", "xlsx"]


def reference(name):
    return REFERENCES / f"{name}.webp"


def load(name):
    with Image.open(reference(name)) as picture:
        return picture.convert("RGB")


def recorded():
    return json.loads(VERSIONS.read_text()) if VERSIONS.exists() else {}


def obstacle(formats):
    """Why Office files cannot be compared here."""
    old, new = recorded(), gallery_pages.versions(formats)
    versions = [".".join(known.get("libreoffice", "?").split(".")[:2]) for known in (old, new)]
    if versions[0] != versions[1]:
        return f"the references were made with LibreOffice {versions[0]}, and this is {versions[1]}"
    fonts = [f"{font} is {new['fonts'][font]} instead of {known}"
             for font, known in old["fonts"].items() if new["fonts"].get(font) != known]
    return f"the fonts are not those of the references: {', '.join(fonts)}" if fonts else None


def finding(name, page, output):
    """What is wrong with a page."""
    if page is None:
        return "the document has no such page"
    if not reference(name).exists():
        return "there is no reference"
    old, found = load(name), None
    if old.size == page.size:
        found = gallery_compare.difference(old, page)
        if found.max() <= 1:
            return None
    file = output / f"{name}.png"
    gallery_compare.side_by_side(old, page, found).save(file)
    if found is None:
        return f"the size was {old.size} and is {page.size}, see {file}"
    top, left = divmod(int(found.argmax()), found.shape[1])
    return f"differs {found.max():.1f} times as much as tolerated at {left}, {top}, see {file}"


def check(pages, output):
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    findings = {name: finding(name, page, output) for name, page in pages.items()}
    for file in REFERENCES.glob("*"):
        if file.stem not in gallery_pages.names(PAGES):
            findings[file.stem] = "is a reference of no page"
    findings = {name: finding for name, finding in findings.items() if finding}
    for name, what in findings.items():
        print(f"{name}: {what}")
    if findings:
        print("If the new pages are right: tests/documents/gallery_check.sh --full --update")
    print(f"{len(pages)} pages of the gallery, {len(findings)} findings")
    return 1 if findings else 0


def update(pages, formats):
    """Writes the pages that have changed."""
    missing = [name for name, page in pages.items() if page is None]
    if missing:
        sys.exit(f"no such pages: {', '.join(missing)}")
    REFERENCES.mkdir(parents=True, exist_ok=True)
    for file in REFERENCES.glob("*"):
        if file.stem not in gallery_pages.names(PAGES):
            file.unlink()
    written = 0
    for name, page in pages.items():
        file = reference(name)
        if file.exists():
            old = load(name)
            if old.size == page.size and old.tobytes() == page.tobytes():
                continue
        page.save(file, lossless=True, quality=100, method=6)
        written += 1
    versions = recorded() | gallery_pages.versions(formats)
    VERSIONS.write_text(json.dumps(versions, indent=2, ensure_ascii=False) + "\n")
    print(f"{written} of {len(pages)} pages written to {REFERENCES}")


def main(countersign, output, options):
    formats = list(PAGES) if "--full" in options else ["pdf"]
    why = obstacle(formats) if "--full" in options and "--update" not in options else None
    if why:
        print(f"The Office files of the gallery are not compared: {why}")
        formats = ["pdf"]
    with tempfile.TemporaryDirectory() as scratch:
        pages = gallery_pages.render(countersign, formats, pathlib.Path(scratch))
    if "--update" in options:
        update(pages, formats)
        return 0
    return check(pages, pathlib.Path(output))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
