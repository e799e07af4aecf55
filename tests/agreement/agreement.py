#!/usr/bin/env python3
"""Does `stave check` say of a log what the official compliance checker says?

agreement.py STAVE [N [SEED]]       logs made and spoilt here, N of them (default 600)
agreement.py STAVE --logs RULESET FILE...    logs that somebody has
"""
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import mutate
import official
import variants


def documented():
    """What we refuse and the official checker accepts, on purpose: docs/rules.md gives the reasons."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/rules.md")
    with open(path, encoding="utf-8") as f:
        rows = [line.split("|")[1] for line in f if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}


STRICTER = documented()
# The record itself is not taken then, so that errors may follow.
LOSES = {"field-type", "no-blank", "too-deep", "too-long", "glued"}


def ours(stave, ruleset, paths):
    out = []
    for i in range(0, len(paths), 200):
        run = subprocess.run([stave, "check", "--json", "--ruleset", ruleset] + paths[i:i + 200],
                             stdout=subprocess.PIPE, check=False)
        if run.returncode not in (0, 4):
            sys.exit(f"stave check ended with {run.returncode}")
        out += json.loads(run.stdout.decode("utf-8", "replace"))
    return out


def compare(theirs, mine):
    """same, stricter, or differs."""
    names = {f["name"] for f in mine["findings"] if f["severity"] == "strict"}
    accepted = theirs is True
    if accepted == mine["stands"]:
        return "same"
    if accepted and names and names <= STRICTER and (mine["official_accepts"] or names & LOSES):
        return "stricter"
    return "differs"


class Table:
    def __init__(self):
        self.rows = collections.OrderedDict()
        self.stricter = collections.Counter()
        self.crashes = collections.Counter()
        self.differs = []

    def add(self, row, theirs, mine, about):
        what = compare(theirs, mine)
        c = self.rows.setdefault(row, collections.Counter())
        c["logs"] += 1
        c[what] += 1
        c["accepted" if theirs is True else "refused"] += 1
        if isinstance(theirs, str):
            c["traceback"] += 1
            self.crashes[theirs] += 1
        if what == "stricter":
            self.stricter.update({f["name"] for f in mine["findings"] if f["severity"] == "strict"})
        if what == "differs":
            self.differs.append((about, theirs, mine))

    def show(self):
        columns = ["logs", "accepted", "refused", "traceback", "same", "stricter", "differs"]
        print(f"{'':24}" + "".join(f"{c:>10}" for c in columns))
        total = collections.Counter()
        for row, c in self.rows.items():
            print(f"{row:24}" + "".join(f"{c[x]:>10}" for x in columns))
            total.update(c)
        print(f"{'all':24}" + "".join(f"{total[x]:>10}" for x in columns))
        print("(accepted, refused: by the official checker; traceback: refused by ending with one)")
        if self.crashes:
            print("its tracebacks:", ", ".join(f"{k} {v}" for k, v in self.crashes.most_common()))
        if self.stricter:
            print("stricter on purpose:", ", ".join(f"{k} {v}" for k, v in self.stricter.most_common()))
        for about, theirs, mine in self.differs[:20]:
            print(f"DIFFERS: {about}: official {theirs}, stave {'stands' if mine['stands'] else 'does not stand'}")
            for f in mine["findings"][:4]:
                print("   ", f["severity"], f["name"], f.get("key", ""), f["found"])
        return len(self.differs)


def bases():
    for ruleset in official.ROUNDS:
        for division, benchmark, sheets in official.benchmarks(ruleset):
            yield ruleset, division, benchmark, sheets


def make_bases(folder):
    """Logs that the official checker accepts, by round."""
    good, bad = collections.OrderedDict(), []
    for i, (ruleset, division, benchmark, sheets) in enumerate(bases()):
        log = official.valid_log(ruleset, division, benchmark, sheets)
        path = os.path.join(folder, f"base{i}")
        with open(path, "w", encoding="latin-1") as f:
            f.write("".join(official.line_of(r, ruleset) + "\n" for r in log))
        if official.judge(path, ruleset) is True:
            good.setdefault(ruleset, []).append((f"{division} {'_'.join(sheets[-1][:-5].split('_')[1:]) or benchmark}", log, path))
        else:
            bad.append(f"{ruleset} {division} {benchmark}")
    return good, bad


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(text.encode("latin-1", "replace"))
    return path


def spoil(rng, folder, good, n):
    """(ruleset, path, what was done) of n logs."""
    rulesets = list(good)
    for i in range(n):
        ruleset = rulesets[i % len(rulesets)]
        name, log, _ = rng.choice(good[ruleset])
        text, done = mutate.mutate(rng, log, lambda r, v=ruleset: official.line_of(r, v))
        yield ruleset, write(folder, f"m{i}", text), f"{ruleset} {name}: {', '.join(done)}"


def show_variants(stave, folder, good, table):
    """The variants one by one."""
    log = next(log for name, log, _ in good["4.0.0"] if name == "closed resnet_lars")
    made = [(name, write(folder, f"v{i}", text))
            for i, (name, text) in enumerate(variants.texts(log, lambda r: official.line_of(r, "4.0.0")))]
    print(f"{'a closed resnet log, 4.0.0':42}{'official':22}stave")
    for (name, path), mine in zip(made, ours(stave, "4.0.0", [p for _, p in made])):
        theirs = official.judge(path, "4.0.0")
        said = [f"{f['severity']} {f['name']}" for f in mine["findings"] if f["severity"] in ("error", "strict")]
        word = {True: "accepts", False: "refuses"}.get(theirs, f"refuses ({theirs})")
        print(f"  {name:40}{word:22}{'stands' if mine['stands'] else 'refuses: ' + ', '.join(sorted(set(said)))}")
        table.add("variants", theirs, mine, name)


def run_made(stave, n, seed):
    rng = random.Random(seed)
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        good, bad = make_bases(folder)
        table = Table()
        for ruleset, logs in good.items():
            for (name, _, path), mine in zip(logs, ours(stave, ruleset, [p for _, _, p in logs])):
                table.add(f"{ruleset} as it should", True, mine, f"{ruleset} {name}, untouched")
        show_variants(stave, folder, good, table)
        made = list(spoil(rng, folder, good, n))
        for ruleset in good:
            mine = [m for m in made if m[0] == ruleset]
            for (_, path, about), m in zip(mine, ours(stave, ruleset, [p for _, p, _ in mine])):
                about += f" ({os.path.basename(path)})" if os.environ.get("KEEP") else ""
                table.add(f"{ruleset} spoilt", official.judge(path, ruleset), m, about)
        if bad:
            print("no log that the official checker accepts could be made for:", "; ".join(bad))
        if os.environ.get("KEEP"):
            shutil.copytree(folder, os.environ["KEEP"])
    return table.show()


def run_logs(stave, ruleset, paths):
    table = Table()
    for path, mine in zip(paths, ours(stave, ruleset, paths)):
        table.add(ruleset, official.judge(path, ruleset), mine, path)
    return table.show()


def main():
    stave = sys.argv[1]
    if sys.argv[2:3] == ["--logs"]:
        sys.exit(1 if run_logs(stave, sys.argv[3], sys.argv[4:]) else 0)
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 600
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int.from_bytes(os.urandom(4), "little")
    sys.exit(1 if run_made(stave, n, seed) else 0)


if __name__ == "__main__":
    main()
