"""Compares the texts of number formats with those of LibreOffice.

Usage: formats_check.py COUNTERSIGN

COUNTERSIGN renders a workbook with the function TEXT for each format and value. Its stored results
must be those that LibreOffice (`soffice`) computes for the same formulas in a CSV file. Not compared
are numbers without a format, which have fewer digits in Excel, negative numbers in sections with a
condition, whose sign LibreOffice drops, and the spaces at the end and halves of fractions with a
given denominator, which differ in Excel.
"""

import csv
import pathlib
import re
import subprocess
import sys
import tempfile

import openpyxl

NUMBERS = [0, 0.06, 0.5, 1.5, 3, 12, 500, 1234.5678, 1234567]
NEGATIVE = [-0.2, -3, -12, -1234567]
DIGITS = [5, 5551234, 123456789, 5551234567, 20260305, 12345678901234]
PARTS = [0, 0.5, 2.5, 3, -2.5, 1.25, 2.125, 1 / 3, 3.14159265, 0.99, 12.7]
MOMENTS = [46086.75, 0.5, 1.75, 46086.000012]
FORMATS = [
    (NUMBERS, ['[>=60]"pass";"fail"', '[=3]"three";[=0]"no";0', '[>=1000]0.0,"k";0',
               '[>=1000000]0.0,,"M";[>=1000]0.0,"k";0', '[=12]0" item";0" items"']),
    (NUMBERS + NEGATIVE, ["0;;0", "0;-0;", "0;", ";;;", '"p";"n";"z"', "0;(0)", "+0;-0;0",
                          '0 "x";;"null"', "[Red]0;[Blue]-0", "[<0](0);0", "#,##0.00_);(#,##0.00)",
                          "??0", "0.???", "0.0?", "#", "0.#", ".00", "0 %", "0.00%", "$ #,##0",
                          "#,##0,", '0.0,"k"', '0.00,,"M"', "0.00E+00", "##0.0E+0", "0.0E-0"]),
    (DIGITS, ["(000) 000-0000", "000-00-0000", '0000"-"00"-"00', "###-####", "0-0.0-0",
              "[<=9999999]###-####;(###) ###-####", "#\\ ##0.00"]),
    (PARTS, ["?/?", "# ?/?", "# ??/??", "# ???/???", "#,##0 ?/?"]),
    ([0, 0.5, 2.5, 3, -2.5, 1 / 3, 3.14159265, 0.99, 12.7], ["0 ?/2", "# ?/10", "# ??/100"]),
    (MOMENTS, ["mm:ss.0", "h:mm:ss.000", "[h]:mm", "[mm]:ss", "[s]", "d/m/yy h:mm AM/PM",
               "yyyy-mm-dd", "ddd d mmm", "hh:mm A/P", "mmmmm", 'yyyy"Q"']),
    (["Smith", "5x"], ['"Mr. "@', '0;0;0;"t "@', "0;0;0;", "@@", "0;-0;0"]),
]
# US English, formulas are computed, texts are as the cells show them.
CSV_FILTER = "44,34,76,1,,1033,false,true,false,false,false,-1"


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def formulas():
    """The value and format of each formula, and its source."""
    for values, formats in FORMATS:
        for text in formats:
            for value in values:
                literal = quoted(value) if isinstance(value, str) else repr(value)
                yield (value, text), f"=TEXT({literal},{quoted(text)})"


def stored(countersign, folder, sources):
    """The results in our workbook. Words around a text keep its spaces."""
    # Signs that Markdown would read. A backslash before the other bracket would begin a formula.
    escapes = {ord(sign): "\\" + sign for sign in "\\*_]<>#|$"}
    escaped = [source.translate(escapes) for source in sources]
    path = folder / "ours.md"
    path.write_text("| a |\n| --- |\n" + "".join(f'| {source}&"." |\n' for source in escaped))
    subprocess.run([countersign, "--log", "off", "render", path, "-o", folder / "ours.xlsx"],
                   stdout=subprocess.DEVNULL, check=True)
    sheet = openpyxl.load_workbook(folder / "ours.xlsx", data_only=True).active
    return [sheet.cell(row + 2, 1).value for row in range(len(sources))]


def computed(folder, sources):
    """The results in LibreOffice."""
    path = folder / "theirs.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([source + '&"."'] for source in sources)
    profile = f"-env:UserInstallation=file://{folder}/profile"
    subprocess.run(["soffice", profile, "--headless", f"--infilter=CSV:{CSV_FILTER}", "--convert-to",
                    f"csv:Text - txt - csv (StarCalc):{CSV_FILTER}", "--outdir", folder / "out", path],
                   capture_output=True, check=True, timeout=180)
    (result,) = (folder / "out").iterdir()
    with result.open(newline="") as file:
        return [row[0] for row in csv.reader(file)]


def main():
    cases, sources = zip(*formulas())
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        ours, theirs = stored(sys.argv[1], folder, sources), computed(folder, sources)
    assert len(ours) == len(theirs), f"{len(ours)} and {len(theirs)} results"
    ours, theirs = ([re.sub(r" +\.$", ".", text) for text in texts] for texts in (ours, theirs))
    wrong = [f"{case}: {one!r}, LibreOffice {other!r}"
             for case, one, other in zip(cases, ours, theirs) if one != other]
    print("\n".join(wrong) or f"{len(cases)} texts of number formats are those of LibreOffice")
    sys.exit(bool(wrong))


main()
