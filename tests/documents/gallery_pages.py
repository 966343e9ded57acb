"""The pages of the gallery: which they are, and how they are rendered."""

import pathlib
import re
import shutil
import subprocess

import pptx
from PIL import Image
from pptx.dml.color import RGBColor

ROOT = pathlib.Path(__file__).parents[2]
CORPUS = ROOT / "renderers" / "tests" / "corpus"
GALLERY = pathlib.Path(__file__).parent / "gallery"
# Of each format: the pages of each source, which is in the gallery or in the corpus.
PAGES = {
    "pdf": {
        "report.md": [1, 2, 4, 5, 6, 8, 9, 10],
        "columns.md": [1],
        "rtl.md": [1],
        "scripts.md": [1],
    },
    "docx": {"report.md": [4, 7, 8, 9, 10], "rtl.md": [1]},
    "pptx": {"pitch.md": [1, 2, 3, 4, 5, 6, 7, 9], "branded.md": [3]},
    "xlsx": {"workbook.md": [1, 2, 3], "ships.csv": [1]},
}
# The fonts that Office files name. LibreOffice replaces them with what is installed.
OFFICE_FONTS = ["Arial", "Calibri", "Courier New", "Cambria Math", "Microsoft YaHei"]
# The width of a picture in pixels; it is reduced from this resolution.
PORTRAIT, LANDSCAPE, RESOLUTION = 480, 640, 144


def names(formats):
    """The names of the pages: source, format and number."""
    return [f"{pathlib.Path(source).stem}-{ending}-{number}"
            for ending in formats for source, numbers in PAGES[ending].items() for number in numbers]


def render(countersign, formats, folder):
    """The pages of these formats as pictures, by their names; nothing for a page that is not there."""
    sources = folder / "sources"
    shutil.copytree(CORPUS, sources)
    shutil.copytree(GALLERY / "sources", sources, dirs_exist_ok=True)
    write_template(sources / "template.pptx")
    office = []
    for ending in formats:
        for source in PAGES[ending]:
            file = folder / f"{pathlib.Path(source).stem}-{ending}.{ending}"
            command = [countersign, "--log", "off", "render", sources / source, "-o", file]
            answer = subprocess.run(command, capture_output=True, text=True, check=False)
            if answer.returncode:
                raise RuntimeError(f"{source} as {ending}: {answer.stderr}")
            office += [file] if ending != "pdf" else []
    if office:
        profile = f"-env:UserInstallation=file://{folder}/profile"
        command = ["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", folder, *office]
        subprocess.run(command, check=True, capture_output=True, timeout=600)
    return {name: picture(folder, *name.rsplit("-", 1)) for name in names(formats)}


def picture(folder, document, number):
    into = folder / f"{document}-{number}"
    command = ["pdftoppm", "-png", "-singlefile", "-r", str(RESOLUTION), "-f", number, "-l", number]
    # A page that is not there is an error of pdftoppm.
    subprocess.run([*command, folder / f"{document}.pdf", into], check=False, capture_output=True)
    page = into.with_name(f"{into.name}.png")
    if not page.exists():
        return None
    page = Image.open(page).convert("RGB")
    # The last pixels may be outside of the page.
    page = page.crop((0, 0, page.width - 2, page.height - 2))
    width = PORTRAIT if page.height > page.width else LANDSCAPE
    return page.resize((width, round(page.height * width / page.width)), Image.LANCZOS)


def write_template(path):
    """A company's template: a coloured background, and colours for charts."""
    deck = pptx.Presentation()
    fill = deck.slide_master.background.fill
    fill.solid()
    fill.fore_color.rgb = RGBColor(0xFB, 0xF3, 0xE4)
    parts = (relation.target_part for relation in deck.slide_master.part.rels.values())
    theme = next(part for part in parts if part.partname.startswith("/ppt/theme/"))
    xml = theme.blob.decode()
    for name, color in (("accent1", "8C2F39"), ("accent2", "2F6B8C")):
        xml = re.sub(f"(<a:{name}><a:srgbClr val=\")[0-9A-F]+", rf"\g<1>{color}", xml)
    theme._blob = xml.encode()
    deck.save(str(path))


def versions(formats):
    """The programs and fonts that draw the pages of these formats, in words for the reader."""
    found = {"poppler": re.search(r"version (\S+)", output("pdftoppm", "-v")).group(1)}
    if formats != ["pdf"]:
        found["libreoffice"] = re.search(r"LibreOffice (\S+)", output("soffice", "--version")).group(1)
        found["fonts"] = {font: output("fc-match", "-f", "%{family[0]}", font) for font in OFFICE_FONTS}
    return found


def output(*command):
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return answer.stdout + answer.stderr
