#!/usr/bin/env python3
"""What `bench.sh` runs: makes its sources, measures each program, prints a table."""

import csv
import json
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

REPORT_CHAPTERS = 50
# About 500 pages.
LONG_CHAPTERS = 294
SLIDES = 60
ROWS = 100_000
MANY_ROWS = 1_000_000
RUNS = 3
WORKER_RUNS = 21
# How many times as much CPU another program has to need.
RATIOS = {("pdf", "WeasyPrint"): 5, ("pdf", "LibreOffice"): 2.5, ("pptx", "pandoc"): 5,
          ("xlsx", "XlsxWriter"): 4}
# MiB.
MEMORY = {"sheet.csv": 60, "long.md": 500, "many.csv": 150}
MEMO_MS = 25


class Targets:
    """Prints figures beside their targets, and counts those that are missed."""

    def __init__(self):
        self.missed = 0

    def at_least(self, value, target):
        return self.shown(target, target is not None and value < target, "≥")

    def at_most(self, value, target):
        return self.shown(target, target is not None and value > target, "≤")

    def shown(self, target, is_missed, sign):
        self.missed += is_missed
        return "" if target is None else f"  {sign} {target}{' MISSED' if is_missed else ''}"


def report(path, chapters=REPORT_CHAPTERS):
    lines = ["---", "title: Annual report", "author: Ada Render", "toc: true", "---", ""]
    for chapter in range(1, chapters + 1):
        lines += [f"# Chapter {chapter}", ""]
        for section in range(1, 4):
            lines += [f"## Section {chapter}.{section}", ""]
            lines += ["The river carried more than in the year before, and **less** than was "
                      "hoped; what `follows` is told in [the table](https://example.org). " * 6, ""]
        lines += ["| Month | Level | Flow | Remark |", "|:--|--:|--:|:--|"]
        lines += [f"| {month} | {month * 1.5} | {month * 310} | as expected |" for month in range(1, 13)]
        lines += ["", "```python", "def flow(area, velocity):", "    return area * velocity", "```", ""]
        lines += [f"- point {point} of the chapter" for point in range(8)] + [""]
    path.write_text("\n".join(lines))


def deck(path):
    slides = ["---\ntitle: Deck\n---\n"]
    for number in range(SLIDES):
        slides.append(f"## Slide {number}\n\n- first point of {number}\n- second\n  - below it\n\n"
                      "| a | b |\n|---|---|\n| 1 | 2 |\n")
    path.write_text("\n---\n\n".join(slides))


def sheet(path):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "name", "amount", "share", "day", "done", "note", "place", "units",
                         "code"])
        for row in range(ROWS):
            writer.writerow([row, f"name {row % 977}", f"{row * 1.25:.2f}", f"{row % 100}%",
                             f"2026-{row % 12 + 1:02}-{row % 28 + 1:02}", "true", f"remark {row}",
                             f"place {row % 31}", row % 500, f"K-{row % 4001}"])


def many_rows(path):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "name", "amount", "day"])
        for row in range(MANY_ROWS):
            writer.writerow([row, f"name {row % 977}", f"{row * 1.25:.2f}",
                             f"2026-{row % 12 + 1:02}-{row % 28 + 1:02}"])


WEASYPRINT = """
import markdown, sys, weasyprint
text = open(sys.argv[1]).read().split('---', 2)[2]
html = markdown.markdown(text, extensions=['tables', 'fenced_code'])
weasyprint.HTML(string=html).write_pdf(sys.argv[2])
"""
XLSXWRITER = """
import csv, datetime, sys, xlsxwriter
book = xlsxwriter.Workbook(sys.argv[2]); sheet = book.add_worksheet()
money, share, day = (book.add_format({'num_format': f}) for f in ('0.00', '0%', 'yyyy-mm-dd'))
with open(sys.argv[1]) as file:
    for at, row in enumerate(csv.reader(file)):
        if at == 0:
            sheet.write_row(0, 0, row)
            continue
        sheet.write_number(at, 0, int(row[0])); sheet.write_string(at, 1, row[1])
        sheet.write_number(at, 2, float(row[2]), money)
        sheet.write_number(at, 3, int(row[3][:-1]) / 100, share)
        sheet.write_datetime(at, 4, datetime.datetime.fromisoformat(row[4]), day)
        sheet.write_boolean(at, 5, True); sheet.write_string(at, 6, row[6])
        sheet.write_string(at, 7, row[7]); sheet.write_number(at, 8, int(row[8]))
        sheet.write_string(at, 9, row[9])
book.close()
"""
PYTHON_PPTX = """
import sys
from pptx import Presentation
from pptx.util import Inches
deck = Presentation()
for number, part in enumerate(open(sys.argv[1]).read().split('\\n---\\n')[1:]):
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = f'Slide {number}'
    frame = slide.placeholders[1].text_frame
    frame.text = f'first point of {number}'
    for level, text in ((0, 'second'), (1, 'below it')):
        line = frame.add_paragraph(); line.text = text; line.level = level
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(5), Inches(6), Inches(1)).table
    for at, text in enumerate('ab12'):
        table.cell(at // 2, at % 2).text = text
deck.save(sys.argv[2])
"""


def measure(command):
    """The median CPU seconds of some runs, and the most memory of one in MiB."""
    seconds, memory = [], 0
    for _ in range(RUNS):
        timed = ["/usr/bin/time", "-f", "%U %S %M", *map(str, command)]
        run = subprocess.run(timed, capture_output=True, text=True, check=False)
        if run.returncode:
            return None
        user, system, most = run.stderr.strip().splitlines()[-1].split()
        seconds.append(float(user) + float(system))
        memory = max(memory, int(most) // 1024)
    return statistics.median(seconds), memory


MEMO = "# Memo\n\nTo all: the river rises.\n\n| Day | Level |\n|:--|--:|\n| Monday | 3.1 |\n"


def worker(countersign, ending):
    """Milliseconds that pass, and CPU milliseconds, for a short document in the confined process."""
    fonts = ["/usr/share/fonts"]
    work = {"Own": json.dumps({"Draw": fonts})}
    job = {"work": work, "limits": None, "readable": fonts, "writable": []}
    part = {"text": MEMO, "folder": ".", "pictures": {}, "warnings": []}
    wish = {"format": ending, "text": {"Markdown": [part]}, "title": None, "date": None,
            "aspect": None, "assets": {}}
    command = [countersign, "confine", "--job", json.dumps(job)]
    passed, used = [], []
    for _ in range(WORKER_RUNS):
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        order = json.dumps({"File": wish}).encode()
        subprocess.run(command, input=order, capture_output=True, check=True)
        passed.append(time.monotonic() - started)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(passed) * 1000, statistics.median(used) * 1000


def command_passes(command):
    """The milliseconds that pass while a command runs."""
    passed = []
    for _ in range(WORKER_RUNS):
        started = time.monotonic()
        subprocess.run(command, capture_output=True, check=True)
        passed.append(time.monotonic() - started)
    return statistics.median(passed) * 1000


def main(countersign):
    folder, targets = pathlib.Path(tempfile.mkdtemp()), Targets()
    try:
        sources = {"report.md": report, "deck.md": deck, "sheet.csv": sheet}
        for name, make in sources.items():
            make(folder / name)
        ours = [countersign, "--log", "off", "render"]
        python = sys.executable
        text, slides, rows = (folder / name for name in sources)
        word = folder / "ours.docx"
        office = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless",
                  "--convert-to", "pdf", "--outdir", folder / "office", word]
        others = {
            "pdf": (text, [("WeasyPrint", [python, "-c", WEASYPRINT, text, folder / "w.pdf"]),
                           ("LibreOffice", office)]),
            "docx": (text, [("pandoc", ["pandoc", "--toc", text, "-o", folder / "p.docx"])]),
            "pptx": (slides, [("pandoc", ["pandoc", slides, "-o", folder / "p.pptx"]),
                              ("python-pptx", [python, "-c", PYTHON_PPTX, slides, folder / "y.pptx"])]),
            "xlsx": (rows, [("XlsxWriter", [python, "-c", XLSXWRITER, rows, folder / "x.xlsx"])]),
        }
        subprocess.run([*ours, text, "-o", word], check=True, capture_output=True)
        print(f"{'':6}{'program':14}{'CPU s':>8}{'MiB':>7}{'ratio':>8}")
        for ending, (source, programs) in others.items():
            own, memory = measure([*ours, source, "-o", folder / f"ours.{ending}"])
            limit = targets.at_most(memory, MEMORY.get(source.name))
            print(f"{ending:6}{'countersign':14}{own:8.2f}{memory:7}{1:8.1f}{limit and limit + ' MiB'}")
            for name, command in programs:
                result = measure(command) if shutil.which(str(command[0])) else None
                if result is None:
                    print(f"{'':6}{name:14}   is not to be had here")
                else:
                    ratio = result[0] / max(own, 0.01)
                    target = targets.at_least(ratio, RATIOS.get((ending, name)))
                    print(f"{'':6}{name:14}{result[0]:8.2f}{result[1]:7}{ratio:8.1f}{target}")
        print("\nLarge documents:")
        large = {"long.md": (lambda path: report(path, LONG_CHAPTERS), "pdf"),
                 "many.csv": (many_rows, "xlsx")}
        for name, (make, ending) in large.items():
            make(folder / name)
            own, memory = measure([*ours, folder / name, "-o", folder / f"large.{ending}"])
            print(f"{name:20}{own:8.2f} s CPU{memory:7} MiB{targets.at_most(memory, MEMORY[name])}")
        memo = folder / "memo.md"
        memo.write_text(MEMO)
        print("\nA memo, as a command and drawn in a process of its own:")
        for ending in others:
            passed = command_passes([*ours, memo, "-o", folder / f"memo.{ending}"])
            print(f"{ending:6}{passed:8.0f} ms{targets.at_most(passed, MEMO_MS)}")
        for ending in others:
            passed, used = worker(countersign, ending)
            print(f"{ending:6}{passed:8.0f} ms, of which {used:.0f} ms CPU")
    finally:
        shutil.rmtree(folder)
    return targets.missed


if __name__ == "__main__":
    started = time.monotonic()
    missed = main(sys.argv[1])
    print(f"{time.monotonic() - started:.0f} s in all", file=sys.stderr)
    if missed and "--check" in sys.argv:
        sys.exit(f"{missed} targets are missed")
