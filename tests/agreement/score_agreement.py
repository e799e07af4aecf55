#!/usr/bin/env python3
"""Holds `stave score` against the official tools on result folders: score_agreement.py STAVE VERSION TREE...

A TREE is searched for folders ORG/results/SYSTEM/BENCHMARK of result_*.txt, as the published rounds have them
(github.com/mlcommons/training_results_vX). For each, the time to train of the official result_summarizer, in full
digits, and verdict and factor of the official rcp_checker (closed division) must be what `stave score --json` says.
Prints a line a folder: "=" where all agree, "DIFFERS in ..." or "official crashed (...)" where the official tool died
of the folder, which proves nothing either way; the last line counts them. Exit 1 when one differs or none agrees.

--points TEST_RCP compares every reference convergence point instead; TEST_RCP VERSION BENCHMARK prints ours.

The official tools (mlperf-logging, Apache-2.0, with numpy, scipy, pandas, yaml) are somebody else's programs: this runs
in a Python that has them; tests/agreement/score_agreement fetches them.
"""
import contextlib
import glob
import io
import json
import logging
import math
import os
import subprocess
import sys

from mlperf_logging.rcp_checker import rcp_checker
from mlperf_logging.result_summarizer import result_summarizer

# The official table lost this entry when DLRM left the suite; the rules of its rounds say five.
rcp_checker.submission_runs["training"].setdefault("dlrm", 5)

MESSAGES = {
    "RCP found": "found",
    "RCP Interpolation": "interpolated",
    "RCP not found but slower convergence on smaller batch size": "below",
    "Could not detect global_batch_size": "no batch",
    "Insufficient convergence": "not converged",
    "Cannot find any RCPs": "none",
}


def folders(tree):
    for at, _, files in sorted(os.walk(tree)):
        if any(f.startswith("result_") and f.endswith(".txt") for f in files):
            if at.split("/")[-3:-2] == ["results"]:
                yield at


def system_of(folder):
    parts = folder.split("/")
    path = "/".join(parts[:-3] + ["systems", parts[-2] + ".json"])
    try:
        with open(path, encoding="latin-1") as f:
            return json.load(f)
    except (OSError, ValueError):
        return {}


def quietly(call, *args, **more):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return call(*args, **more)


def official_score(folder, version):
    benchmark = result_summarizer._benchmark_alias(folder.split("/")[-1])
    try:
        score, _, _ = quietly(result_summarizer._compute_strong_score_standalone, benchmark,
                              folder.split("/")[-2], False, folder, "training", version)
    except Exception as e:
        return None, type(e).__name__ + ": " + str(e)[:60]
    if score is not None and version == "0.6.0":  # that round's times are seconds, which the tool takes for milliseconds
        score *= 1000
    return score, ""


def official_reference(folder, version):
    """(kind, passed, factor), or what the tool died of."""
    for samples in (False, True):
        try:
            passed, message, factor = quietly(rcp_checker.check_directory, folder, "training", version, False, samples,
                                              rcp_pass="pruned_rcps")
        except Exception as e:
            return type(e).__name__, None, None
        kind = MESSAGES.get(message)
        if kind is None and message.startswith("Missing RCP"):
            kind = "missing"
        # Logs that count BERT's samples in train_samples need the tool's switch for that.
        counted = quietly(rcp_checker.get_submission_epochs, glob.glob(folder + "/result_*.txt"), version, samples)
        if counted[2] != "bert" or not counted[1] or min(counted[1]) > 1e4:
            break
    if factor is not None and math.isnan(factor):  # the mean of no run at all
        kind, factor = "not converged", 1.0
    return kind, passed, factor


def ours(stave, folder, version):
    out = subprocess.run([stave, "score", folder, "--ruleset", version, "--json"], capture_output=True, text=True)
    if out.returncode not in (0, 4):
        raise RuntimeError("%s score %s ended with %d: %s" % (stave, folder, out.returncode, out.stderr.strip()))
    return json.loads(out.stdout)["results"][0]


def factor_of(reference):
    """What the official function returns beside its verdict. Of a test that failed it is a number that nothing uses
    (it sets no scaling then), and `stave score` has 1 there: the same number follows from the two means."""
    if reference["passed"] or "mean" not in reference:
        return reference.get("factor", 1.0)
    return max(1.0, reference["mean"] / reference["submission_mean"])


def same(a, b, within=1e-12):
    if a is None or b is None:
        return a is None and b is None
    return math.isclose(a, b, rel_tol=within)


def compare(stave, folder, version):
    theirs, why = official_score(folder, version)
    mine = ours(stave, folder, version)
    differs, crashed = [], []
    # Times of 0.6 are seconds since 1970 with three places, whose differences the tool rounds to 1e-7.
    if why:
        crashed.append("score")
    elif not same(theirs, mine.get("minutes"), 1e-8 if version == "0.6.0" else 1e-12):
        differs.append("score")
    reference = mine.get("reference_convergence")
    note = ""
    if reference and version >= "1.0.0":
        kind, passed, factor = official_reference(folder, version)
        my_kind = {"above": "missing"}.get(reference["kind"], reference["kind"])
        if my_kind == "below" and not reference["passed"]:
            my_kind = "missing"
        if my_kind == "none":
            passed = passed or False
        if kind in MESSAGES.values() or kind == "missing":
            if (kind, passed) != (my_kind, reference["passed"]) or not same(factor, factor_of(reference)):
                differs.append("reference")
        else:
            crashed.append("reference: " + str(kind))
        note = "%s %s %s | %s %s %s" % (kind, passed, factor, reference["kind"], reference["passed"], reference.get("factor"))
    verdict = "DIFFERS in " + ", ".join(differs) if differs else "official crashed" if crashed else "="
    print("%s %s: %s %s, ours %s; %s %s" % (verdict + (" (" + ", ".join(crashed) + ")" if crashed else ""), folder, theirs,
                                            why, mine.get("minutes"), note, mine["problems"] if verdict != "=" else ""),
          flush=True)
    return "differ" if differs else "crashed" if crashed else "agree"


def points(dump):
    bad = n = 0
    for version in ("1.0.0", "1.1.0", "2.0.0", "2.1.0", "3.0.0", "3.1.0", "4.0.0"):
        for path in sorted(glob.glob(os.path.dirname(rcp_checker.__file__) + "/training_%s/rcps_*.json" % version)):
            benchmark = os.path.basename(path)[5:-5]
            checker = rcp_checker.RCP_Checker("training", version, benchmark, False)
            lines = subprocess.run([dump, version, benchmark], capture_output=True, text=True).stdout.split("\n")
            mine = sorted(line for line in lines if line)
            theirs = sorted("%.10g %.6f %.6f %.4f %d" % (
                r["BS"], r["RCP Mean"], r["RCP Stdev"], r["Min Epochs"],
                not any(p is r for p in checker.pruned_rcp_data.values())) for r in checker.rcp_data.values())
            n += len(theirs)
            if mine != theirs:
                bad += 1
                print("%s %s: theirs %s, ours %s" % (version, benchmark, theirs, mine))
    print("%d points; %d benchmarks differ" % (n, bad))
    return bad == 0


def main():
    logging.disable(logging.CRITICAL)
    if len(sys.argv) == 3 and sys.argv[1] == "--points":
        sys.exit(0 if points(sys.argv[2]) else 1)
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    stave, version, trees = sys.argv[1], sys.argv[2], sys.argv[3:]
    verdicts = [compare(stave, os.path.abspath(f), version) for t in trees for f in folders(t)]
    agree, differ, crashed = (verdicts.count(v) for v in ("agree", "differ", "crashed"))
    print("%d agree, %d differ, in %d the official tool crashed and nothing could be compared" % (agree, differ, crashed))
    sys.exit(0 if agree and not differ else 1)


main()
