#!/usr/bin/env python3
"""Reads PDFs of LibreOffice: `extract_check.py COUNTERSIGN FOLDER`.

LibreOffice (`soffice`) writes the Word file of the corpus' `features.md` in this folder as a PDF,
once with tags and once without. Prints one line for each text that is missing, and exits with 1 if
there is any.
"""

import pathlib
import subprocess
import sys
import tempfile

ALWAYS = [
    "- bullet one BUL-21",
    "1. ordered one ORD-27",
    "العربية: هذا نص تجريبي من اليمين إلى اليسار. RTL-16",
    "| A | B | C | D | E | F | G | H | I | J |",
]
# What only the tags say.
TAGGED = [
    "### 1 Overview OVR-1001",
    "\na. nested ordered ORD-28",
    "[real link LNK-06](https://example.org/a?b=1&c=2)",
]


def extracted(countersign, file, is_tagged):
    """The text of the PDF that LibreOffice makes of a file."""
    with tempfile.TemporaryDirectory() as scratch:
        tags = '{"UseTaggedPDF":{"type":"boolean","value":"%s"}}' % str(is_tagged).lower()
        subprocess.run(["soffice", f"-env:UserInstallation=file://{scratch}/profile", "--headless",
                        "--convert-to", f"pdf:writer_pdf_Export:{tags}", "--outdir", scratch, file],
                       capture_output=True, check=False, timeout=180)
        pdf = pathlib.Path(scratch) / f"{file.stem}.pdf"
        command = [countersign, "--log", "off", "extract", pdf]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main(countersign, folder):
    file = pathlib.Path(folder) / "features.docx"
    missing = 0
    for is_tagged, texts in ((True, ALWAYS + TAGGED), (False, ALWAYS)):
        read = extracted(countersign, file, is_tagged)
        for text in texts:
            if text not in read:
                print(f"PDF of LibreOffice, tagged: {is_tagged}: {text} is missing")
                missing += 1
    return 1 if missing else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
