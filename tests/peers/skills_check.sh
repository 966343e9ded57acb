#!/bin/sh
# Holds what `countersign skill scan` says of a skill's form against the standard's own validator
# (PyPI skills-ref): what that one takes without a word we take without a warning, and what it
# refuses we refuse or warn about. Ends with 1 on a difference.
# Usage: tests/peers/skills_check.sh
set -eu
. "$(dirname "$0")/common.sh"
venv=$(python_with tests/peers/requirements-skills.txt)

build
binary=$target/debug/countersign
cd "$scratch"

# lay FOLDER: a skill there, its SKILL.md from standard input.
lay() {
    mkdir -p "skills/$1"
    cat >"skills/$1/SKILL.md"
}
lay good <<'MD'
---
name: good
description: How we write letters. Use when a letter is asked for.
license: MIT
compatibility: any
metadata:
  author: ann
---
Begin with Dear.
MD
lay folded <<'MD'
---
name: folded
description: >
  How we write letters,
  over two lines.
---
MD
printf -- '---\nname: 技能\ndescription: 写信\n---\n' | lay 技能
printf -- '---\nname: other-name\ndescription: d\n---\n' | lay mismatch
printf -- '---\nname: Upper\ndescription: d\n---\n' | lay Upper
printf -- '---\nname: a--b\ndescription: d\n---\n' | lay a--b
printf -- '---\nname: under_score\ndescription: d\n---\n' | lay under_score
printf -- '---\nname: mute\n---\n' | lay mute
printf -- '---\nname: empty\ndescription: ""\n---\n' | lay empty
printf -- '---\ndescription: d\n---\n' | lay nameless
printf -- '---\nname: colon\ndescription: Use when: always\n---\n' | lay colon
printf -- 'No front matter\n' | lay bare
printf -- '---\nname: long\ndescription: %s\n---\n' "$(printf 'x%.0s' $(seq 1025))" | lay long
cp -r "$root"/examples/skills/* skills/

differences=0
for place in skills/*; do
    theirs=fine ours=fine
    "$venv/bin/agentskills" validate "$place" >"$scratch/theirs" 2>&1 || theirs=fault
    "$binary" --log error skill scan "$place" >"$scratch/ours" 2>&1 || ours=fault
    grep -q 'warning:' "$scratch/ours" && ours=fault
    echo "$place: $theirs, $ours"
    if [ "$theirs" != "$ours" ]; then
        cat "$scratch/theirs" "$scratch/ours"
        differences=$((differences + 1))
    fi
done
[ "$differences" = 0 ]
