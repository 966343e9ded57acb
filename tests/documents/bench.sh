#!/usr/bin/env bash
# Compares what a document costs here with what it costs elsewhere, as ratios of CPU seconds.
# Usage: tests/documents/bench.sh [--check]   (after `cargo build --release --bin countersign`)
# With --check it fails if a target is missed.
# Asks pandoc and LibreOffice (Debian) where they are to be had; brings WeasyPrint, XlsxWriter and
# python-pptx from PyPI. Prints the median of three runs, and by how much each is slower than ours.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/common.sh
countersign=$(realpath "${COUNTERSIGN:-$(target_dir)/release/countersign}")
exec "$(python_with tests/documents/requirements-bench.txt)/bin/python" tests/documents/bench.py "$countersign" "$@"
