#!/usr/bin/env bash
# Renders the corpus in all four formats and lets other people's programs judge the files.
# Usage: [FONTS="a.ttf b.otf"] tests/documents/check.sh PYTHON   (one that has requirements.txt)
set -euo pipefail
python=$1
cd "$(dirname "$0")/../.."
render=${CARGO_TARGET_DIR:-target}/debug/examples/render
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/all" "$scratch/office"
for source in renderers/tests/corpus/{features,deck,sheets}.md renderers/tests/corpus/hostile/*.md; do
    name=$(basename "$source" .md)
    for format in pdf docx pptx xlsx; do
        "$render" "$source" "$format" "$scratch/all/$name.$format" ${FONTS:-} 2>>"$scratch/warnings"
    done
    cp "$scratch/all/$name."{docx,pptx} "$scratch/office/"
done
"$python" tests/documents/check.py "$scratch/all"
"$python" tests/documents/office_check.py "$scratch/office"
