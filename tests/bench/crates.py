#!/usr/bin/env python3
"""Prints the crates that take longest to compile, from the page that `cargo build --timings` writes.

Usage: crates.py [PAGE [COUNT]]
"""

import collections
import json
import pathlib
import re
import sys

page = sys.argv[1] if len(sys.argv) > 1 else "target/cargo-timings/cargo-timing.html"
count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
found = re.search(r"const UNIT_DATA = (\[.*?\]);\n", pathlib.Path(page).read_text(), re.DOTALL)
if not found:
    sys.exit(f"{page} is no page of cargo")
seconds = collections.Counter()
for unit in json.loads(found[1]):
    # A crate is several units: its build script, its library, its programs.
    seconds[f"{unit['name']} {unit['version']}"] += unit["duration"]
print("| crate | seconds | share |\n| --- | ---: | ---: |")
for crate, took in seconds.most_common(count):
    print(f"| {crate} | {took:.0f} | {100 * took / seconds.total():.1f} % |")
print(f"\n{len(seconds)} crates, {seconds.total():.0f} seconds")
