"""The official compliance checker in this process, and logs that it accepts.

The checker (PyPI mlperf-logging) brings its rules as YAML files whose checks are Python expressions.
A log that it accepts is made by trying values until each expression holds, so that nothing of the
rules is repeated here.
"""
import json
import logging
import math
import os
import re

import yaml
from mlperf_logging.compliance_checker import mlp_compliance

ROUNDS = ["0.6.0", "0.7.0", "1.0.0", "1.1.0", "2.0.0", "2.1.0", "3.0.0", "3.1.0", "4.0.0"]
WHERE = os.path.dirname(mlp_compliance.__file__)
logging.disable(logging.CRITICAL)

# Each judgement parses the same YAML files, which takes most of its time; the checker only reads
# what comes of them.
_parsed = {}
_load = yaml.load


def _load_once(f, Loader=yaml.BaseLoader):
    if f.name not in _parsed:
        _parsed[f.name] = _load(f, Loader=Loader)
    return _parsed[f.name]


yaml.load = _load_once


def judge(path, ruleset):
    """True, False, or the name of the exception that ended it."""
    mlp_compliance.enqueued_configs.clear()
    checker = mlp_compliance.make_checker("training", ruleset, False, False)
    try:
        return bool(mlp_compliance.main(path, f"training_{ruleset}/common.yaml", checker)[0])
    except (Exception, RecursionError) as e:  # a traceback is how it refuses some files
        return type(e).__name__


def _rows(name):
    with open(os.path.join(WHERE, name)) as f:
        return yaml.load(f, Loader=yaml.BaseLoader) or []


def benchmarks(ruleset):
    """(division, benchmark, sheets) of each sheet file; division is None in round 0.6."""
    out = []
    for name in sorted(os.listdir(os.path.join(WHERE, f"training_{ruleset}"))):
        base = name[:-5]
        if ruleset == "0.6.0":
            if base not in ("common", "score", "minigo"):
                out.append(("closed", base, [name]))
            continue
        division, _, rest = base.partition("_")
        if division not in ("closed", "open") or rest == "common" or rest.startswith("resnet_"):
            continue
        sheets = [f"{division}_common.yaml", name]
        if division == "closed" and rest == "resnet":
            out += [(division, rest, sheets + [f"closed_resnet_{o}.yaml"]) for o in ("sgd", "lars")]
        else:
            out.append((division, rest, sheets))
    return out


def _candidates(text):
    """What the expression itself names, and the usual."""
    words = re.findall(r"'([^']*)'|\"([^\"]*)\"", text)
    names = [a or b for a, b in words]
    numbers = [float(x) for x in re.findall(r"(?<![\w.])\d+\.?\d*(?:e-?\d+)?", text)]
    # The targets' files are about one side of a number; a little beside it is the other.
    near = [y for x in numbers for y in (x, x * 1.001, x * 0.999)]
    whole = [int(x) for x in numbers if x == int(x)]
    return (whole + near + names + [1, 8, 0.5, 0.05, 2000, True, "x", [40, 50], [1, 2], [16, 20],
            {"BBOX": 0.4, "SEGM": 0.35}, {"iteration": 1}])


def _holds(expression, value, metadata, state):
    v = {"value": value, "metadata": metadata}
    try:
        return bool(eval(expression.strip(), dict(state), {"v": v, "ll": None}))
    except Exception:
        return False


def _state(values):
    return {"s": {"global_batch_size": values.get("global_batch_size", 64), "run_started": True,
                  "init_started": True, "init_stopped": True},
            "is_integer": mlp_compliance.is_integer, "math": math}


def _value(key, row, values, given):
    checks = row.get("CHECK", [])
    checks = [c for c in (checks if isinstance(checks, list) else [checks])
              if "s['" not in c or "global_batch_size" in c]
    if "ATLEAST_ONE_CHECK" in row:
        checks.append(row["ATLEAST_ONE_CHECK"])
    checks = [c for c in checks if "v['value']" in c]
    pool = [given[key]] if key in given else _candidates(" ".join(checks))
    for value in pool:
        if all(_holds(c, value, {}, _state(values)) for c in checks):
            return value
    return 1


def _keys(ruleset, sheets):
    """Key records, the later sheet's before the earlier's, and the tensors' names."""
    keys, tensors = {}, []
    for name in ["common.yaml"] + sheets:
        for row in _rows(f"training_{ruleset}/{name}"):
            if "KEY" in row:
                keys[row["KEY"]["NAME"]] = row["KEY"]
            if "END" in row and "initialized_tensors" in str(row["END"]):
                tensors = re.findall(r"[\"']([^\"']+)[\"']", str(row["END"]["CHECK"]).split("sorted([")[1])
    return keys, tensors


IN_ORDER = {"init_stop", "run_start", "run_stop", "block_start", "block_stop", "epoch_start",
            "epoch_stop", "eval_start", "eval_stop", "eval_accuracy", "init_start", "cache_clear",
            "train_samples", "eval_samples", "weights_initialization", "aggregated_eval_accuracy"}


def record(key, value, metadata, ms):
    kind = ("INTERVAL_START" if key.endswith("_start") else
            "INTERVAL_END" if key.endswith("_stop") else "POINT_IN_TIME")
    return {"namespace": "", "time_ms": ms, "event_type": kind, "key": key, "value": value,
            "metadata": {"file": "train.c", "lineno": 12, **metadata}}


def valid_log(ruleset, division, benchmark, sheets):
    """Records of a log that ought to be accepted."""
    keys, tensors = _keys(ruleset, sheets)
    given = {"submission_division": division, "submission_benchmark": benchmark,
             "submission_status": "onprem", "submission_org": "org", "cache_clear": True,
             "submission_platform": "box"}
    if len(sheets) == 3:
        given["opt_name"] = sheets[2][len("closed_resnet_"):-5]
    elif ruleset == "0.6.0" and benchmark == "resnet":
        given["opt_name"] = "lars"
    values, log, ms = {}, [], 1700000000000
    counted = "step_num" if ruleset == "3.1.0" else "samples_count"

    def put(key, metadata=None, value=None):
        nonlocal ms
        ms += 1000
        log.append(record(key, value, metadata or {}, ms))

    put("cache_clear", value=True)
    put("init_start")
    for key, row in keys.items():
        if key in IN_ORDER or (row.get("REQ") is None and ruleset == "0.6.0"
                               and key == "opt_learning_rate_decay_boundary_epochs"):
            continue
        values[key] = _value(key, row, values, given)
        put(key, {"method": "discard"} if key == "max_sequence_length" else {}, values[key])
    if "seed" not in keys:
        put("seed", value=4711)
    for name in tensors:
        put("weights_initialization", {"tensor": name})
    put("init_stop")
    put("run_start")
    for key in ("train_samples", "eval_samples"):
        put(key, value=_value(key, keys.get(key, {}), values, {}))
    accuracy = keys["eval_accuracy"]
    reached = _value("eval_accuracy", accuracy, values, {})
    for epoch in (1, 2):
        meta = {"epoch_num": epoch, counted: 1000 * epoch}
        put("block_start", {"first_epoch_num": epoch, "epoch_count": 1})
        put("epoch_start", meta)
        put("epoch_stop", meta)
        put("eval_start", meta)
        if "aggregated_eval_accuracy" in keys:
            put("eval_accuracy", {**meta, "metric": "FID"}, 50.0)
            put("eval_accuracy", {**meta, "metric": "CLIP"}, 0.16)
        else:
            put("eval_accuracy", meta, reached)
        put("eval_stop", meta)
        put("block_stop", {"first_epoch_num": epoch})
    put("run_stop", {"status": "success"})
    return log


def line_of(r, ruleset):
    if ruleset != "0.6.0":
        return ":::MLLOG " + json.dumps(r)
    rest = json.dumps({"value": r["value"], "metadata": r["metadata"]})
    return f":::MLL {r['time_ms'] / 1e3:.3f} {r['key']}: {rest}"
