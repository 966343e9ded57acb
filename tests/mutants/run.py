"""Mutation testing: which changes of the program does no test notice?

    tests/mutants/run FILE_OR_FOLDER...

`cargo mutants` lists the mutants. It would build the program for each; here all of them are compiled
into one copy of the tree, and an environment variable switches one on. A first run of all tests
records which mutants each test reaches. Then each mutant runs the tests that reach it, the most
specific ones first, until one fails. The state is kept in target/mutants, so that an interrupted run
goes on where it was.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import tree_sitter_rust
from tree_sitter import Language, Parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "mutants"
TREE = WORK / "tree"
SELECT = ["--workspace", "--all-features", "--all-targets", "--locked"]
# The other packages do not contain mutants. Processes that tests start get no environment, so that
# no mutant is active in them.
PROCESSES = (
    r"end_to_end::(discord|fault_matrix|first_hour|kills|telegram|terminal)|tools::(browser|fuzz)"
)
TESTS = f"package(countersign) & !(binary(it) & test(/^({PROCESSES})::/))"
# The tests of one mutant that are tried at most.
MAX_TESTS = 24
AT_ONCE = int(os.environ.get("NEXTEST_TEST_THREADS", 6))
# Several mutants at once, because many tests of a mutant only wait until they time out.
MUTANTS_AT_ONCE = 4
# A folder of its own: Cargo names what it builds after the path within the tree, and would take it
# for that of the tree without mutants. Functions with many mutants need a larger stack.
ENVIRONMENT = dict(os.environ, CARGO_TARGET_DIR=str(WORK / "target"), RUST_MIN_STACK=str(64 << 20))

# What a mutated place asks. A place that is reached is noted once per process.
SWITCH = '''//! Switches mutants on.
#![allow(clippy::all, clippy::pedantic, missing_docs)]

pub fn active(mutant: usize) -> bool {
    use std::{collections::HashSet, io::Write as _, sync::{LazyLock, Mutex}};
    static ACTIVE: LazyLock<Option<usize>> =
        LazyLock::new(|| std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()));
    static REACHED: LazyLock<Option<Mutex<HashSet<usize>>>> =
        LazyLock::new(|| std::env::var_os("MUTANTS_REACHED").map(|_| Mutex::default()));
    if let Some(reached) = &*REACHED {
        if reached.lock().map_or(false, |mut seen| seen.insert(mutant)) {
            let folder = std::env::var_os("MUTANTS_REACHED").unwrap_or_default();
            let name = std::env::var("MUTANTS_TEST")
                .or_else(|_| std::env::var("NEXTEST_BINARY_ID").and_then(|binary| {
                    std::env::var("NEXTEST_TEST_NAME").map(|test| format!("{binary} {test}"))
                }))
                .unwrap_or_default();
            let path = std::path::Path::new(&folder).join(name.replace('/', "|"));
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            if let Ok(mut file) = file {
                let _ = writeln!(file, "{mutant}");
            }
        }
    }
    *ACTIVE == Some(mutant)
}
'''


def main(paths):
    WORK.mkdir(parents=True, exist_ok=True)
    mutants = listed(paths)
    compiled = compile_all(mutants)
    reached = coverage()
    report(judge(compiled, reached))


def listed(paths):
    """The mutants of these paths, numbered."""
    kept = WORK / "listed.json"
    if not kept.exists():
        globs = []
        for path in paths:
            globs += ["-f", f"{path}/**/*.rs" if (ROOT / path).is_dir() else path]
        command = ["cargo", "mutants", "--list", "--json", *globs]
        found = json.loads(subprocess.check_output(command, cwd=ROOT))
        # A field that is left out of an expression cannot be switched at run time.
        found = [mutant for mutant in found if mutant["genre"] != "StructField"]
        kept.write_text(json.dumps([dict(mutant, id=n) for n, mutant in enumerate(found)]))
    return json.loads(kept.read_text())


def compile_all(mutants):
    """Compiles the mutants that the compiler accepts into one program."""
    kept = WORK / "compiled.json"
    if kept.exists():
        return json.loads(kept.read_text())
    # Each attempt to compile takes minutes.
    known = WORK / "rejected.json"
    rejected = set(json.loads(known.read_text())) if known.exists() else set()
    while True:
        left = [mutant for mutant in mutants if mutant["id"] not in rejected]
        copy_tree()
        places = apply(left)
        bad = errors(places, {mutant["id"]: mutant["genre"] for mutant in left})
        if not bad:
            break
        print(f"the compiler rejects {len(bad)} of {len(left)} mutants", flush=True)
        rejected |= bad
        known.write_text(json.dumps(sorted(rejected)))
    # Operators in the chain of an `if let` cannot be switched.
    switched = {id for lines in places.values() for ids in lines.values() for id in ids}
    left = [mutant for mutant in left if mutant["id"] in switched]
    kept.write_text(json.dumps(left))
    return left


def copy_tree():
    files = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in filter(None, files):
        source, target = ROOT / name, TREE / name
        if not source.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.write_bytes(source.read_bytes())


def apply(mutants):
    """Writes the mutants into the copy. Returns the lines of each file with the mutants on them."""
    by_file, places = {}, {}
    for mutant in mutants:
        by_file.setdefault(mutant["file"], []).append(mutant)
    for name, of_file in by_file.items():
        text, lines = mutated((ROOT / name).read_text(), of_file)
        (TREE / name).write_text(text)
        places[name] = lines
    (TREE / "src/mutants.rs").write_text(SWITCH)
    library = TREE / "src/lib.rs"
    # The warnings about mutated lines would fill the disk.
    library.write_text("#![allow(warnings)]\n" + library.read_text() + "\npub mod mutants;\n")
    return places


def mutated(text, mutants):
    """The text with all mutants, innermost first, and which of them are on which line."""
    data = text.encode()
    root = Parser(Language(tree_sitter_rust.language())).parse(data).root_node
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)

    def offset(at):
        line = data[starts[at["line"] - 1]:starts[at["line"]]].decode()
        return starts[at["line"] - 1] + len(line[: at["column"] - 1].encode())

    edits = []
    groups = {}
    for mutant in mutants:
        begin, end = offset(mutant["span"]["start"]), offset(mutant["span"]["end"])
        groups.setdefault((mutant["genre"], begin, end), []).append(mutant)
    for (genre, begin, end), group in groups.items():
        edit = guarded(data, root, genre, (begin, end), group)
        if edit:
            edits.append((*edit, group))
    return written(data, edits)


def guarded(data, root, genre, span, group):
    """(begin, end, function of the inner text) that puts a group of mutants of one place there."""
    begin, end = span
    node = root.descendant_for_byte_range(begin, end)
    if genre == "FnValue":
        if b"const fn" in data[max(0, begin - 400):begin].rsplit(b"\n\n", 1)[-1]:
            return None
        checks = "".join(
            f" if crate::mutants::active({m['id']}) {{ return {m['replacement']}; }}" for m in group
        )
        return begin, end, lambda inner: checks + " " + inner
    if genre == "BinaryOperator":
        while node and node.type not in ("binary_expression", "compound_assignment_expr"):
            node = node.parent
        if not node or in_let_chain(node):
            return None
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if (operator.start_byte, operator.end_byte) != span:
            return None

        def either(inner):
            # The operands may have mutants of their own.
            first = inner.index("\x00L"), inner.index("\x00R")
            operands = inner[first[0] + 2:first[1]], inner[first[1] + 2:]
            text = ""
            for m in group:
                text += f"if crate::mutants::active({m['id']}) {{ {operands[0]} {m['replacement']} {operands[1]} }} else "
            return f"({text}{{ {operands[0]} {operator.text.decode()} {operands[1]} }})"

        return node.start_byte, node.end_byte, either, (left, right)
    if genre == "UnaryOperator":
        while node and node.type != "unary_expression":
            node = node.parent
        if not node:
            return None
        m = group[0]
        return (
            node.start_byte,
            node.end_byte,
            lambda inner: f"(if crate::mutants::active({m['id']}) {{ {inner[1:]} }} else {{ {inner} }})",
        )
    if genre == "MatchArm":
        while node and node.type != "match_arm":
            node = node.parent
        pattern = node and node.child_by_field_name("pattern")
        if not pattern or pattern.child_by_field_name("condition"):
            return None
        m = group[0]
        return (
            pattern.start_byte,
            pattern.end_byte,
            lambda inner: f"{inner} if !crate::mutants::active({m['id']})",
        )
    if genre == "MatchArmGuard":
        checks = {m["replacement"]: m["id"] for m in group}
        inner = lambda inner: "({}{}({}))".format(
            f"crate::mutants::active({checks['true']}) || " if "true" in checks else "",
            f"!crate::mutants::active({checks['false']}) && " if "false" in checks else "",
            inner,
        )
        return begin, end, inner
    return None


def in_let_chain(node):
    while node and node.type in ("binary_expression", "parenthesized_expression"):
        node = node.parent
    return bool(node) and node.type in ("let_chain", "let_condition")


def written(data, edits):
    """Applies nested edits. Returns the text and the mutants of each line."""
    edits.sort(key=lambda edit: (edit[0], -edit[1]))

    def render(begin, end, inside):
        text, at, index = "", begin, 0
        while index < len(inside):
            edit = inside[index]
            rest = index + 1
            while rest < len(inside) and inside[rest][1] <= edit[1]:
                rest += 1
            nested = inside[index + 1:rest]
            text += data[at:edit[0]].decode()
            if len(edit) == 5:
                left, right = edit[3]
                marks = []
                for mark, part in (("\x00L", left), ("\x00R", right)):
                    own = [e for e in nested if e[0] >= part.start_byte and e[1] <= part.end_byte]
                    marks.append(mark + render(part.start_byte, part.end_byte, own))
                inner = "".join(marks)
            else:
                inner = render(edit[0], edit[1], nested)
            ids = ",".join(str(m["id"]) for m in edit[-1])
            text += f"/*M{ids}*/" + edit[2](inner)
            at, index = edit[1], rest
        return text + data[at:end].decode()

    text = render(0, len(data), edits)
    lines = {}
    for number, line in enumerate(text.split("\n"), 1):
        for ids in re.findall(r"/\*M([\d,]+)\*/", line):
            lines.setdefault(number, []).extend(int(id) for id in ids.split(","))
    return text, lines


# The most lines of a `match` in which arms are looked for.
MATCH_LINES = 40


def errors(places, genres):
    """The mutants on lines that the compiler rejects; empty if everything compiles."""
    command = ["cargo", "build", *SELECT, "--message-format=json", "--keep-going"]
    run = subprocess.run(command, cwd=TREE, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    bad, messages = set(), []
    for line in run.stdout.splitlines():
        message = json.loads(line).get("message") or {}
        if message.get("level") != "error":
            continue
        messages.append(message["rendered"])
        for span in message["spans"]:
            if not span["is_primary"]:
                continue
            lines = places.get(span["file_name"], {})
            if (message.get("code") or {}).get("code") == "E0004":
                # Without its arms, the `match` above them is not exhaustive.
                within = range(span["line_start"], span["line_start"] + MATCH_LINES)
                all = [id for number in within for id in lines.get(number, [])]
                bad.update(id for id in all if genres[id] == "MatchArm")
                continue
            # The nearest marked line at or above the error.
            near = [number for number in lines if number <= span["line_end"]]
            if near:
                bad.update(lines[max(near)])
    if run.returncode and not bad:
        sys.exit("\n".join(messages) or "the build failed")
    return bad


def coverage():
    """The mutants that each test reaches, and how long it takes."""
    kept = WORK / "reached.json"
    if kept.exists():
        return json.loads(kept.read_text())
    folder = WORK / "reached"
    folder.mkdir(exist_ok=True)
    environment = dict(ENVIRONMENT, MUTANTS_REACHED=str(folder))
    environment["NEXTEST_EXPERIMENTAL_LIBTEST_JSON"] = "1"
    command = ["cargo", "nextest", "run", *SELECT, "-E", TESTS, "--no-fail-fast", "--retries", "0"]
    command += ["--message-format", "libtest-json-plus"]
    run = subprocess.run(command, cwd=TREE, env=environment, stdout=subprocess.PIPE, text=True)
    took = {}
    for line in run.stdout.splitlines():
        event = json.loads(line)
        if event.get("type") == "test" and event.get("event") == "ok":
            took[event["name"]] = event.get("exec_time", 0)
    reached = {}
    for path in folder.iterdir():
        name = path.name.replace("|", "/")
        binary, _, test = name.partition(" ")
        # The unit tests of a library are listed under its name twice.
        listed_as = binary if "::" in binary else f"{binary}::{binary}"
        seconds = took.get(f"{listed_as}${test}")
        # A test that fails without any mutant says nothing.
        if seconds is not None:
            reached[name] = {"took": seconds, "mutants": sorted({int(n) for n in path.read_text().split()})}
    kept.write_text(json.dumps(reached))
    return reached


def binaries():
    command = ["cargo", "nextest", "list", *SELECT, "--list-type", "binaries-only", "--message-format", "json"]
    found = json.loads(subprocess.check_output(command, cwd=TREE, env=ENVIRONMENT, stderr=subprocess.DEVNULL))
    # `path+file:///folder#name@version`: tests run in the folder of their package.
    folder = lambda it: it["package-id"].removeprefix("path+file://").split("#")[0]
    return {name: (it["binary-path"], folder(it)) for name, it in found["rust-binaries"].items()}


def judge(mutants, reached):
    """What becomes of each mutant: the test that fails, `survived` or `not reached`."""
    kept = WORK / "verdicts.json"
    verdicts = json.loads(kept.read_text()) if kept.exists() else {}
    programs = binaries()
    tests_of = {}
    for name, about in reached.items():
        for mutant in about["mutants"]:
            # The most specific and quickest first, of those whose names have words in common.
            cost = (len(about["mutants"]) ** 0.5) * (about["took"] + 0.2)
            tests_of.setdefault(mutant, []).append((cost, name))

    def verdict(mutant):
        words = words_of(f"{mutant['file']} {(mutant.get('function') or {}).get('function_name', '')}")
        relevant = lambda test: (-len(words & words_of(test[1])), *test)
        tests = [name for _, name in sorted(tests_of.get(mutant["id"], []), key=relevant)[:MAX_TESTS]]
        # A test that takes much longer than without the mutant does not end.
        limits = [(name, 20 + 10 * reached[name]["took"]) for name in tests]
        return first_failure(mutant["id"], limits, programs) if tests else "not reached"

    begun = time.monotonic()
    # In a random order, so that an interrupted run has judged a sample.
    shuffled = random.Random(1).sample(mutants, len(mutants))
    left = [mutant for mutant in shuffled if str(mutant["id"]) not in verdicts]
    with ThreadPoolExecutor(MUTANTS_AT_ONCE) as pool:
        judged = {pool.submit(verdict, mutant): mutant for mutant in left}
        for done in as_completed(judged):
            mutant = judged[done]
            verdicts[str(mutant["id"])] = done.result()
            kept.write_text(json.dumps(verdicts))
            minutes = (time.monotonic() - begun) / 60
            print(f"{len(verdicts)}/{len(mutants)} {minutes:.1f} min {label(mutant)}: {done.result()}", flush=True)
    return [(mutant, verdicts[str(mutant["id"])]) for mutant in mutants]


def words_of(text):
    """The longer words of a name, without their endings."""
    return {word[:6] for word in re.split(r"[^a-z]+", text.lower()) if len(word) > 3} - {"store", "worker"}


def first_failure(mutant, tests, programs):
    running, failed = [], []

    def one(test_and_limit):
        name, limit = test_and_limit
        if failed:
            return None
        binary, _, test = name.partition(" ")
        program, folder = programs[binary]
        environment = dict(ENVIRONMENT, MUTANT=str(mutant), CARGO_MANIFEST_DIR=folder, NEXTEST="1")
        process = subprocess.Popen(
            [program, "--exact", test, "--nocapture"], cwd=folder, env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        running.append(process)
        try:
            return None if process.wait(limit) == 0 else name
        except subprocess.TimeoutExpired:
            return f"{name} (timeout)"
        finally:
            stop(process)

    with ThreadPoolExecutor(max(1, AT_ONCE // 2)) as pool:
        for done in as_completed([pool.submit(one, name) for name in tests]):
            if done.result() and not failed:
                failed.append(done.result())
                # The ids of others may be those of new processes by now.
                for process in running:
                    if process.poll() is None:
                        stop(process)
    return failed[0] if failed else "survived"


def stop(process):
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass


def label(mutant):
    at = mutant["span"]["start"]
    function = (mutant.get("function") or {}).get("function_name", "")
    return f"{mutant['file']}:{at['line']}:{at['column']} {function}: {mutant['genre']} -> {mutant['replacement']}"


def report(verdicts):
    left = [(m, v) for m, v in verdicts if v in ("survived", "not reached")]
    print(f"\n{len(verdicts)} mutants, {len(verdicts) - len(left)} noticed by a test, {len(left)} not:")
    for mutant, verdict in left:
        print(f"{verdict}: {label(mutant)}")


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit(__doc__))
