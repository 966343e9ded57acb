#!/usr/bin/env python3
"""Writes the SQL statements of an earlier release, which have to work on the tables of this one.

    python3 tests/releases/statements.py 3e20d08

reads src/store at that commit and writes statements.sqlite.sql and statements.postgres.sql beside
this file, one statement after the other, each closed by a line with a semicolon. Run it for the
release that comes before the next one, and commit what it writes.
"""

import re
import subprocess
import sys
from pathlib import Path

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def text_of(literal):
    """What a Rust string literal stands for."""
    literal = re.sub(r"\\\n\s*", "", literal)
    return literal.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def closing(text, at):
    """The place of the bracket that closes the one at `at`; brackets in strings do not count."""
    depth, place = 0, at
    while place < len(text):
        if text[place] == '"':
            place = LITERAL.match(text, place).end()
            continue
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(text[place], 0)
        if depth == 0:
            return place
        place += 1
    raise ValueError("a bracket is not closed")


def arguments(text):
    """The arguments between two brackets."""
    found, start, place = [], 0, 0
    while place < len(text):
        if text[place] == '"':
            place = LITERAL.match(text, place).end()
        elif text[place] in "({[":
            place = closing(text, place) + 1
        elif text[place] == ",":
            found.append(text[start:place])
            start = place = place + 1
        else:
            place += 1
    return [argument.strip() for argument in [*found, text[start:]] if argument.strip()]


def without_tests(text):
    return text.split("\n#[cfg(test)]")[0]


def take_macros(text):
    """The macros that put statements together, by name, and the file without them."""
    macros = {}
    while found := re.search(r"macro_rules! (\w+) \{", text):
        end = closing(text, found.end() - 1)
        body = text[found.end() : end]
        rule = re.search(r"\(([^)]*)\) => \{", body)
        names = re.findall(r"\$(\w+):", rule.group(1))
        macros[found.group(1)] = (names, body[rule.end() : body.rindex("}", 0, body.rindex("}") + 1)])
        text = text[: found.start()] + text[end + 1 :]
    return macros, text


def expanded(text, macros):
    """The text with each call of those macros in place of what it stands for."""
    for _ in range(10):
        for name, (names, body) in macros.items():
            while found := re.search(rf"\b{name}!\(", text):
                end = closing(text, found.end() - 1)
                given = dict(zip(names, arguments(text[found.end() : end])))
                filled = re.sub(r"\$(\w+)", lambda name: given.get(name.group(1), name.group(0)), body)
                text = text[: found.start()] + filled.strip() + text[end + 1 :]
    while found := re.search(r"concat!\(", text):
        # The innermost first.
        start = text.rfind("concat!(")
        opens = start + len("concat!")
        end = closing(text, opens)
        parts = [LITERAL.fullmatch(part).group(1) for part in arguments(text[opens + 1 : end])]
        text = text[:start] + '"' + "".join(parts) + '"' + text[end + 1 :]
    return text


def is_statement(text):
    lines = [line.strip() for line in text.strip().splitlines()]
    lines = [line for line in lines if line and not line.startswith("--")]
    return bool(lines) and lines[0].startswith(VERBS) and len(" ".join(lines).split()) > 2


def statements(text):
    """The statements of one file: for SQLite, for PostgreSQL."""
    macros, text = take_macros(without_tests(text))
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    text = expanded(text, macros)
    for_one = {0: [], 1: []}
    while found := re.search(r"\.either\(", text):
        end = closing(text, found.end() - 1)
        both = arguments(text[found.end() : end])
        for which, argument in enumerate(both):
            if literal := LITERAL.fullmatch(argument):
                for_one[which].append(text_of(literal.group(1)))
        text = text[: found.start()] + text[end + 1 :]
    common = [text_of(literal.group(1)) for literal in LITERAL.finditer(text)]
    return [list(filter(is_statement, common + for_one[which])) for which in (0, 1)]


def main(commit):
    folder = Path(__file__).parent
    sqlite, postgres = [], []
    for path in git("ls-tree", "-r", "--name-only", commit, "src/store").split():
        # The one file that knows both databases has no statement over a table; copies are SQLite's.
        if path.endswith(("/db.rs", "/backup.rs")):
            continue
        for_sqlite, for_postgres = statements(git("show", f"{commit}:{path}"))
        sqlite += for_sqlite
        postgres += for_postgres
    for name, found in (("sqlite", sqlite), ("postgres", postgres)):
        head = f"-- The statements of {git('rev-parse', '--short', commit).strip()}.\n"
        lines = ("\n".join(line.strip() for line in text.strip().splitlines()) for text in found)
        (folder / f"statements.{name}.sql").write_text(head + "".join(f"{text}\n;\n" for text in lines))
        print(f"{len(found)} statements for {name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
