#!/usr/bin/env python3
"""Computes the figures of "meter" in result.json again, from samples.csv alone: tests/meter_figures.py DIR.

Every figure of result.json must be there again within rounding, and no figure may be missing from it."""
import csv
import json
import math
import statistics
import sys

TOTALS = {"loader_asked_bytes", "io_read_bytes", "io_write_bytes", "io_called_read_bytes", "disk_read_bytes",
          "disk_write_bytes", "store_read_bytes", "store_write_bytes"}


def quantiles(values):
    if len(values) == 1:
        return values[0], values[0]
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return cuts[9], cuts[18]


def level(rows, name):
    known = [(float(r[name]), r["interval"]) for r in rows if r[name] != ""]
    if not known:
        return None
    weight = sum(s for _, s in known)
    mean = sum(v * s for v, s in known) / weight if weight > 0 else statistics.mean(v for v, _ in known)
    p50, p95 = quantiles([v for v, _ in known])
    return {"mean": mean, "p50": p50, "p95": p95}


def total(rows, name, phase):
    last, growth = None, None
    for r in rows:
        if r[name] == "":
            continue
        if last is not None and r["phase"] == phase:
            growth = (growth or 0) + max(0, float(r[name]) - last)
        last = float(r[name])
    return None if growth is None else {"total": growth}


def main():
    folder = sys.argv[1]
    with open(folder + "/samples.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    with open(folder + "/result.json") as f:
        meter = json.load(f)["meter"]
    before = None
    for r in rows:
        r["interval"] = float(r["elapsed_s"]) - before if before is not None else 0
        before = float(r["elapsed_s"])
    names = [n for n in rows[0] if n not in ("time_ms", "elapsed_s", "phase", "epoch", "interval")]
    wanted = {}
    for phase in dict.fromkeys(r["phase"] for r in rows):
        of_phase = [r for r in rows if r["phase"] == phase]
        figures = {n: total(rows, n, phase) if n in TOTALS else level(of_phase, n) for n in names}
        wanted[phase] = {n: v for n, v in figures.items() if v is not None}
        wanted[phase]["seconds"] = sum(r["interval"] for r in of_phase)
    flat = lambda d, at="": [x for k, v in d.items() for x in (flat(v, at + k + ".") if isinstance(v, dict) else [(at + k, v)])]
    ours, theirs = dict(flat(wanted)), dict(flat(meter["phases"]))
    wrong = [k for k in sorted(set(ours) | set(theirs))
             if k not in ours or k not in theirs or not math.isclose(ours[k], theirs[k], rel_tol=1e-9, abs_tol=1e-9)]
    for k in wrong:
        print("%s: result.json has %s, samples.csv gives %s" % (k, theirs.get(k), ours.get(k)))
    if meter["samples"] != len(rows):
        wrong.append("samples")
        print("result.json counts %d samples, samples.csv has %d" % (meter["samples"], len(rows)))
    print("%d figures compared, %d differ" % (len(ours), len(wrong)))
    sys.exit(1 if wrong else 0)


main()
