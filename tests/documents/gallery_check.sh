#!/usr/bin/env bash
# Compares thirty pages with their references in tests/documents/gallery/pages.
# Usage: tests/documents/gallery_check.sh [--full] [--update]   (after `cargo build`)
# Without --full only the pages of PDFs, because those of Office files need LibreOffice. --update
# writes the references. What differs is shown in target/gallery.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/common.sh
countersign=$(realpath "${COUNTERSIGN:-$(target_dir)/debug/countersign}")
python=$(python_with tests/documents/requirements.txt)/bin/python
"$python" tests/documents/gallery_test.py
exec "$python" tests/documents/gallery_check.py "$countersign" "$(target_dir)/gallery" "$@"
