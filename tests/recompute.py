#!/usr/bin/env python3
"""Every figure of a run's result.json, or of a study's study.json, once more from what was measured:
samples.csv, events.jsonl, and fio.json, with Python's standard library alone and none of the
program's code. tests/recompute.py DIR... ; a DIR is a run folder or a study's. Prints what differs
and ends in "N figures, M differ"; exit 1 when one does."""
import csv
import json
import math
import os
import sys

TOTALS = {"loader_asked_bytes", "io_read_bytes", "io_write_bytes", "io_called_read_bytes",
          "disk_read_bytes", "disk_write_bytes", "store_read_bytes", "store_write_bytes"}
FIXED = ("time_ms", "elapsed_s", "phase", "epoch")

figures = 0
differ = 0


def compare(where, said, ours):
    """Numbers agree to the digits that a file of text can hold."""
    global figures, differ
    figures += 1
    if said is None or ours is None:
        good = said is None and ours is None
    elif isinstance(ours, (str, bool)) or isinstance(said, (str, bool)):
        good = said == ours
    else:
        good = math.isclose(said, ours, rel_tol=1e-5, abs_tol=1e-6)
    if not good:
        differ += 1
        print(f"{where}: the program says {said}, recomputed {ours}")


class Samples:
    def __init__(self, path):
        with open(path, newline="") as f:
            lines = f.read().split("\n")[:-1]  # a torn last line has no end
        rows = list(csv.DictReader(lines))
        self.rows = [r for r in rows if None not in r.values() and None not in r]
        self.columns = [c for c in (self.rows[0] if self.rows else {}) if c not in FIXED]
        before = None
        for r in self.rows:
            at = float(r["elapsed_s"])
            r["seconds"] = 0.0 if before is None else at - before
            before = at
        self.phases = list(dict.fromkeys(r["phase"] for r in self.rows))

    def seconds(self, has):
        return sum(r["seconds"] for r in self.rows if has(r))

    def level(self, column, has):
        """mean over time, median, 95th percentile (linear between neighbours)"""
        known = [(float(r[column]), r["seconds"]) for r in self.rows if has(r) and r[column] != ""]
        if not known:
            return None
        weight = sum(s for _, s in known)
        if weight > 0:
            mean = sum(v * s for v, s in known) / weight
        else:
            mean = sum(v for v, _ in known) / len(known)
        values = sorted(v for v, _ in known)
        return {"mean": mean, "p50": quantile(values, 0.5), "p95": quantile(values, 0.95)}

    def growth(self, column, has):
        last = total = None
        for r in self.rows:
            if r.get(column, "") == "":
                continue
            now = float(r[column])
            if last is not None and has(r):
                total = (total or 0.0) + max(0.0, now - last)
            last = now
        return total

    def growth_by_epoch(self, column):
        """The same for every epoch in one pass."""
        last, out = None, {}
        for r in self.rows:
            if r.get(column, "") == "":
                continue
            now = float(r[column])
            if last is not None and r["epoch"] != "":
                number = int(r["epoch"])
                out[number] = out.get(number, 0.0) + max(0.0, now - last)
            last = now
        return out

    def mean(self, column, has):
        if column not in self.columns:
            return None
        level = self.level(column, has)
        return level["mean"] if level else None


def quantile(values, share):
    place = share * (len(values) - 1)
    k = int(place)
    if k + 1 == len(values):
        return values[k]
    return values[k] + (values[k + 1] - values[k]) * (place - k)


def load(*parts):
    path = os.path.join(*parts)
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return json.load(f)


def events(folder):
    path = os.path.join(folder, "events.jsonl")
    out = []
    if os.path.exists(path):
        with open(path) as f:
            for line in f:
                try:
                    out.append(json.loads(line))
                except ValueError:
                    pass  # torn
    return out


def check_meter(folder, result, samples):
    meter = result.get("meter")
    if meter is None:
        return
    compare(f"{folder} meter samples", meter["samples"], len(samples.rows))
    for phase in samples.phases:
        said = meter["phases"].get(phase, {})
        has = lambda r, p=phase: r["phase"] == p
        compare(f"{folder} {phase} seconds", said.get("seconds"), samples.seconds(has))
        for column in samples.columns:
            where = f"{folder} {phase} {column}"
            if column in TOTALS:
                compare(where, said.get(column, {}).get("total"), samples.growth(column, has))
                continue
            level = samples.level(column, has)
            for key in ("mean", "p50", "p95"):
                compare(f"{where} {key}", said.get(column, {}).get(key),
                        level[key] if level else None)


def origin(ratio):
    if ratio is None:
        return "unknown"
    return "disk" if ratio >= 0.8 else "cache" if ratio <= 0.2 else "mixed"


def check_epochs(folder, result, samples):
    said = result.get("data_epochs")
    if not isinstance(said, list):
        return
    if "without storage" in result.get("origin_words", "") or \
            "network" in result.get("origin_words", ""):
        print(f"{folder}: origins on such a file system do not follow from counters alone; left out")
        return
    asked_all = process_all = 0.0
    grown = {c: samples.growth_by_epoch(c)
             for c in ("loader_asked_bytes", "io_read_bytes", "disk_read_bytes")}
    ours = [(number, asked, grown["io_read_bytes"].get(number),
             grown["disk_read_bytes"].get(number))
            for number, asked in grown["loader_asked_bytes"].items() if asked]
    compare(f"{folder} number of epochs", len(said), len(ours))
    for e, (number, asked, process, device) in zip(said, ours):
        where = f"{folder} epoch {number}"
        ratio = min(1.0, process / asked) if process is not None else None
        compare(f"{where} epoch_num", e["epoch_num"], number)
        compare(f"{where} asked_bytes", e["asked_bytes"], asked)
        compare(f"{where} process_read_bytes", e.get("process_read_bytes"), process)
        compare(f"{where} disk_read_bytes", e.get("disk_read_bytes"), device)
        compare(f"{where} delivered_ratio", e.get("delivered_ratio"), ratio)
        compare(f"{where} origin", e["origin"], origin(ratio))
        asked_all += asked
        process_all += process or 0.0
    if ours and all(p is not None for _, _, p, _ in ours):
        compare(f"{folder} origin", result.get("origin"), origin(min(1.0, process_all / asked_all)))


def fio_document(folder):
    path = os.path.join(folder, "fio.json")
    if not os.path.exists(path):
        return None
    with open(path) as f:
        lines = f.read().split("\n")
    if "{" not in lines:
        return None
    try:
        return json.JSONDecoder().raw_decode("\n".join(lines[lines.index("{"):]))[0]
    except ValueError:
        return None


def fio_figures(folder):
    """What all jobs wrote together; a job's latencies count by its writes, percentiles are the
    slowest job's."""
    doc = fio_document(folder)
    if not doc or not doc.get("jobs"):
        return None
    writes = [j["write"] for j in doc["jobs"]]
    busy = [w for w in writes if w["total_ios"] > 0]
    out = {"write_bytes": sum(w["io_bytes"] for w in writes),
           "write_bytes_per_s": sum(w["bw_bytes"] for w in writes),
           "seconds": max(w["runtime"] for w in writes) / 1000, "latency": {}}
    if busy:
        latency = out["latency"]
        latency["mean"] = sum(w["lat_ns"]["mean"] * w["total_ios"] for w in busy) / \
            sum(w["total_ios"] for w in busy)
        latency["max"] = max(w["lat_ns"]["max"] for w in busy)
        for key, name in (("p50", "50.000000"), ("p95", "95.000000"), ("p99", "99.000000")):
            found = [(w["lat_ns"].get("percentile") or w["clat_ns"]["percentile"])[name]
                     for w in busy]
            latency[key] = max(found)
    return out


def check_ingest(folder, result):
    said, ours = result.get("ingest"), fio_figures(folder)
    if not said or not ours:
        return
    for key in ("write_bytes", "write_bytes_per_s", "seconds"):
        compare(f"{folder} ingest {key}", said.get(key), ours[key])
    for key, value in ours["latency"].items():
        compare(f"{folder} ingest latency {key}", said.get("latency_ns", {}).get(key), value)


def check_rate(folder, result):
    """The rate is samples over the time of training; both stand in result.json."""
    if result.get("train_ns") and result.get("samples_trained"):
        compare(f"{folder} samples_per_s", result.get("samples_per_s"),
                result["samples_trained"] / result["train_ns"] * 1e9)


def check_run(folder):
    result = load(folder, "result.json")
    if result is None:
        print(f"{folder}: no result.json")
        return
    check_rate(folder, result)
    check_ingest(folder, result)
    path = os.path.join(folder, "samples.csv")
    if os.path.exists(path):
        samples = Samples(path)
        check_meter(folder, result, samples)
        check_epochs(folder, result, samples)


# ---- a study (docs/study.md) ----


def steps_of(folder, warm_s):
    """The step events behind the warm-up: (steps, rate, share of waiting) each."""
    start, over, before, out = None, False, 0, []
    for e in events(folder):
        at = e["elapsed_ns"]
        if e["key"] == "run_start":
            start = at
        elif e["key"] == "epoch_stop":
            over = True
        elif e["key"] == "step":
            k, before = e["step_num"] - before, e["step_num"]
            if over and k > 0 and e.get("samples_per_s", 0) > 0:
                out.append((k, e["samples_per_s"], e.get("data_wait_ratio", 0.0)))
            if start is not None and (at - start) / 1e9 >= warm_s:
                over = True
    return out


def run_figures(folder, run, study):
    result = load(folder, "result.json")
    path = os.path.join(folder, "samples.csv")
    ours = {}
    if "train_samples_per_s" in run:
        steps = steps_of(folder, study["warm_s"])
        if steps:
            time = sum(k / r for k, r, _ in steps)
            ours["train_samples_per_s"] = sum(k for k, _, _ in steps) / time
            ours["wait_ratio"] = sum(w * k / r for k, r, w in steps) / time
        else:
            ours["train_samples_per_s"] = result["samples_per_s"]
            ours["wait_ratio"] = result["data_wait_ns"] / result["train_ns"]
    if "run_ns" in result:
        ours["run_s"] = result["run_ns"] / 1e9
    if os.path.exists(path):
        samples = Samples(path)
        has = lambda r: r["phase"] == "train"
        seconds = samples.seconds(has)
        for name in ("disk_read", "disk_write"):
            grown = samples.growth(name + "_bytes", has) if seconds > 0 else None
            if grown is not None:
                ours[name + "_bytes_per_s"] = grown / seconds
        for name in ("cpu_process_percent", "cpu_machine_percent", "memory_anon_bytes",
                     "memory_file_bytes"):
            mean = samples.mean(name, has)
            if mean is not None:
                ours[name] = mean
        sm = [samples.mean(c, has) for c in samples.columns
              if c.startswith("gpu") and c.endswith("_sm_percent") and "mig" not in c]
        used = [samples.mean(c, has) for c in samples.columns
                if c.startswith("gpu") and c.endswith("_memory_used_bytes") and "mig" not in c]
        sm, used = [v for v in sm if v is not None], [v for v in used if v is not None]
        if sm:
            ours["gpu_sm_percent"] = sum(sm) / len(sm)
        if used:
            ours["gpu_memory_used_bytes"] = sum(used)
    ratios = [e["delivered_ratio"] for e in result.get("data_epochs", []) if "delivered_ratio" in e]
    if ratios:
        ours["delivered_ratio"] = ratios[-1]
    fio = fio_figures(folder)
    if fio and "ingest" in result:
        ours["ingest_bytes_per_s"] = fio["write_bytes_per_s"]
        if "p99" in fio["latency"]:
            ours["ingest_p99_ms"] = fio["latency"]["p99"] / 1e6
    copied = load(folder, "copy_in.json")
    if copied:
        ours["ingest_bytes_per_s"] = copied["copied_bytes"] / copied["seconds"]
    return ours


FIGURES = ("train_samples_per_s", "wait_ratio", "run_s", "disk_read_bytes_per_s",
           "disk_write_bytes_per_s", "cpu_process_percent", "cpu_machine_percent",
           "memory_anon_bytes", "memory_file_bytes", "gpu_sm_percent", "gpu_memory_used_bytes",
           "delivered_ratio", "ingest_bytes_per_s", "ingest_p99_ms")


def deviation(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


def student(p, freedom):
    """The quantile of Student's t: its density added up by Simpson's rule, then bisection."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / \
        math.sqrt(freedom * math.pi)
    density = lambda x: scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)

    def below(x):
        n, h = 4000, x / 4000
        total = density(0) + density(x)
        for i in range(1, n):
            total += density(i * h) * (4 if i % 2 else 2)
        return 0.5 + total * h / 3
    low, high = 0.0, 700.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < p else (low, middle)
    return (low + high) / 2


def check_slowdown(where, said, base, mine):
    pairs = [1 - mine[r] / base[r] for r in sorted(base) if r in mine]
    if not pairs:
        return None
    mean, n = sum(pairs) / len(pairs), len(pairs)
    compare(f"{where} slowdown n", said.get("n"), n)
    compare(f"{where} slowdown ratio", said.get("ratio"), mean)
    if n < 2:
        return None
    sd = deviation(pairs)
    half = student(0.975, n - 1) * sd / math.sqrt(n)
    compare(f"{where} slowdown sd", said.get("sd"), sd)
    compare(f"{where} slowdown low", said.get("low"), mean - half)
    compare(f"{where} slowdown high", said.get("high"), mean + half)
    compare(f"{where} told apart", said.get("told_apart", False),
            mean - half > 0 or mean + half < 0)
    return n, sd


def check_table(folder, study):
    spreads = []
    for row in study["table"]:
        where = f"{folder} {row['workload']} condition {row['condition']}"
        runs = [r for r in study["runs"] if r.get("stands") and r["workload"] == row["workload"]]
        mine = [r for r in runs if r["condition"] == row["condition"]]
        compare(f"{where} n", row["n"], len(mine))
        for figure in FIGURES:
            values = [r[figure] for r in mine if figure in r]
            said = row.get(figure)
            if not values:
                compare(f"{where} {figure}", said, None)
                continue
            compare(f"{where} {figure} mean", said["mean"], sum(values) / len(values))
            compare(f"{where} {figure} least", said["least"], min(values))
            compare(f"{where} {figure} most", said["most"], max(values))
            if len(values) > 1:
                compare(f"{where} {figure} sd", said["sd"], deviation(values))
        if row["condition"] == 0 or not row.get("slowdown"):
            continue
        whole = {r["repeat"]: r.get("whole_run") for r in runs if r["condition"] == 0}
        rates = lambda c: {r["repeat"]: r["train_samples_per_s"] for r in runs
                           if r["condition"] == c and "train_samples_per_s" in r and
                           r.get("whole_run") == whole.get(r["repeat"])}
        spreads.append(check_slowdown(where, row["slowdown"], rates(0), rates(row["condition"])))
    spreads = [s for s in spreads if s]
    if spreads:
        n = min(s[0] for s in spreads)
        root = math.sqrt(sum(s[1] ** 2 for s in spreads) / len(spreads))
        compare(f"{folder} repeats of the smallest difference",
                study.get("smallest_difference_repeats"), n)
        compare(f"{folder} smallest difference", study.get("smallest_difference_ratio"),
                (student(0.975, n - 1) + student(0.8, n - 1)) * root / math.sqrt(n))


def check_study(folder, study):
    for run in study["runs"]:
        sub = os.path.join(folder, run["dir"])
        check_run(sub)
        if not run.get("stands"):
            continue
        ours = run_figures(sub, run, study)
        for figure in FIGURES:
            compare(f"{sub} of the study: {figure}", run.get(figure), ours.get(figure))
    check_table(folder, study)


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    for folder in (f.rstrip("/") for f in sys.argv[1:]):
        study = load(folder, "study.json")
        if study:
            check_study(folder, study)
        else:
            check_run(folder)
    print(f"{figures} figures, {differ} differ")
    return 1 if differ or not figures else 0


if __name__ == "__main__":
    sys.exit(main())
