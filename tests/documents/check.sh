#!/usr/bin/env bash
# Renders the corpus in all four formats and lets other people's programs judge the files.
# Usage: tests/documents/check.sh PYTHON [--full]   (a Python that has requirements.txt)
# With --full LibreOffice opens every file, and the schema validator in $OOXML_VALIDATOR reads it.
set -euo pipefail
python=$1
cd "$(dirname "$0")/../.."
countersign=$(realpath "${CARGO_TARGET_DIR:-target}/debug/countersign")
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
"$python" tests/documents/check.py "$scratch/all"
"$python" tests/documents/office_check.py "$scratch/office" "${@:2}"
