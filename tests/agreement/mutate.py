"""Ways to spoil a log: of its records, then of its lines."""
import copy
import json

# Not among the benchmarks: "common", whose sheet asks for itself again, so that the checker never ends.
VALUES = [None, True, False, 0, 1, 2, -1, 0.5, 1.0, 76.01, 0.759, 1e-4, 9.999999747378752e-05, 2e-4,
          3e-4, 1e-07, 8192, 1000, 2.5, 1e400, float("nan"), "", "x", "0.5", "closed", "open", "lars", "sgd",
          "adam", "resnet", "bert", "minigo", "maskrcnn", "rnnt", "gnmt", "stable_diffusion", [], [1], [1, 2], [40, 50], ["a", "b"], {},
          {"BBOX": 0.4}, {"BBOX": 0.4, "SEGM": 0.4}, {"a": 1, "b": 2}, "epoch_num", "ab"]
TIMES = ["same", "1700000000500", 1700000000500.5, 0, -5, 1e18, "1.2.3", "abc", " 17 ", "nan", "1e3", None]


def _pick(rng, log, key=None):
    at = [i for i, r in enumerate(log) if key is None or r["key"] == key]
    return rng.choice(at) if at else rng.randrange(len(log))


def drop(rng, log):
    del log[_pick(rng, log)]


def drop_all(rng, log):
    key = log[_pick(rng, log)]["key"]
    log[:] = [r for r in log if r["key"] != key] or log


def copy_record(rng, log):
    log.insert(rng.randrange(len(log) + 1), copy.deepcopy(log[_pick(rng, log)]))


def copy_changed(rng, log):
    r = copy.deepcopy(log[_pick(rng, log)])
    r["value"] = rng.choice(VALUES)
    log.insert(rng.randrange(len(log) + 1), r)


def change_value(rng, log):
    log[_pick(rng, log)]["value"] = rng.choice(VALUES)


def nudge_value(rng, log):
    r = log[_pick(rng, log)]
    if isinstance(r["value"], (int, float)) and not isinstance(r["value"], bool):
        r["value"] = rng.choice([r["value"] * 0.99, r["value"] * 2, r["value"] + 1, -r["value"],
                                 str(r["value"]), float(r["value"]), r["value"] / 2])
    elif isinstance(r["value"], list) and r["value"]:
        r["value"] = rng.choice([r["value"][:-1], r["value"] + [1], r["value"][::-1]])


def change_accuracy(rng, log):
    r = log[_pick(rng, log, "eval_accuracy")]
    r["value"] = rng.choice(VALUES + [0.9999, 1.0, 100 * r["value"] if isinstance(r["value"], float) else 5])


def drop_metadata(rng, log):
    m = log[_pick(rng, log)]["metadata"]
    if isinstance(m, dict) and m:
        del m[rng.choice(sorted(m))]


def change_metadata(rng, log):
    m = log[_pick(rng, log)]["metadata"]
    if isinstance(m, dict) and m:
        m[rng.choice(sorted(m))] = rng.choice(VALUES[:20] + ["x", "aborted", [], {}])


def add_metadata(rng, log):
    m = log[_pick(rng, log)]["metadata"]
    if isinstance(m, dict):
        m[rng.choice(["epoch_num", "samples_count", "step_num", "first_epoch_num", "epoch_count", "metric",
                      "status", "tensor"])] = rng.choice(VALUES[:16] + ["FID", "CLIP", "success"])


def metadata_type(rng, log):
    log[_pick(rng, log)]["metadata"] = rng.choice([None, "", "epoch_num status", [], ["epoch_num"], 3, {}])


def drop_field(rng, log):
    r = log[_pick(rng, log)]
    r.pop(rng.choice(sorted(r)), None)


def change_key(rng, log):
    r = log[_pick(rng, log)]
    r["key"] = rng.choice([5, None, "", "other", ["a"], r["key"].upper() if isinstance(r["key"], str) else 1,
                           log[_pick(rng, log)].get("key")])


def change_time(rng, log):
    r = log[_pick(rng, log)]
    t = rng.choice(TIMES)
    r["time_ms"] = str(r.get("time_ms")) if t == "same" else t


def late_init(rng, log):
    for r in log[_pick(rng, log, "init_stop"):]:
        if isinstance(r.get("time_ms"), int):
            r["time_ms"] += rng.choice([19, 21, 29, 31, 241]) * 60000


def early_stop(rng, log):
    log[_pick(rng, log, "run_stop")]["time_ms"] = 1700000000000


def swap(rng, log):
    i, j = _pick(rng, log), _pick(rng, log)
    log[i], log[j] = log[j], log[i]


def move(rng, log):
    r = log.pop(_pick(rng, log))
    log.insert(rng.randrange(len(log) + 1), r)


def other_division(rng, log):
    r = log[_pick(rng, log, "submission_division")]
    r["value"] = {"closed": "open"}.get(r["value"], "closed")


def other_benchmark(rng, log):
    log[_pick(rng, log, "submission_benchmark")]["value"] = rng.choice(
        ["resnet", "ssd", "bert", "dlrm", "gpt3", "unet3d", "minigo", "dlrm_dcnv2", "maskrcnn", "gnn",
         "llama2_70b_lora", "transformer", "ncf", "Resnet", ""])


RECORDS = [drop, drop, drop, drop_all, copy_record, copy_changed, change_value, change_value, nudge_value,
           nudge_value, change_accuracy, drop_metadata, drop_metadata, change_metadata, add_metadata,
           metadata_type, drop_field, change_key, change_time, late_init, early_stop, swap, move,
           other_division, other_benchmark]


def _at(rng, lines):
    return rng.randrange(len(lines))


def cut_end(rng, lines):
    i = _at(rng, lines)
    lines[i] = lines[i][:rng.randrange(len(lines[i]) + 1)]


def cut_through(rng, lines):
    i = _at(rng, lines)
    at = rng.randrange(len(lines[i]) + 1)
    lines[i] = lines[i][:at] + rng.choice(["storage.cc:12 opened", "12:21:34]", "\t", "\x01", "\x00", "\x85"]) + lines[i][at:]


def new_line_in(rng, lines):
    i = _at(rng, lines)
    at = rng.randrange(len(lines[i]) + 1)
    lines[i] = lines[i][:at] + rng.choice(["\n", "\r", "\r\n"]) + lines[i][at:]


def glue(rng, lines):
    i = _at(rng, lines)
    if i + 1 < len(lines):
        lines[i:i + 2] = [lines[i] + rng.choice(["", " ", "; "]) + lines[i + 1]]


def prefix(rng, lines):
    i = _at(rng, lines)
    lines[i] = rng.choice(["0: ", "\x1b[A", "[rank 3] ", "x" * 300000, "\u00e4 ", "::", ":::MLL", ":::"]) + lines[i]


def suffix(rng, lines):
    i = _at(rng, lines)
    lines[i] += rng.choice([" ", "\t", "\x0c", "\x1c", "\xa0", "\x85", "\r", " 12:21", "\x1b[0m", "}", ",", "\x00"])


def all_return(rng, lines):
    lines[:] = [line + "\r" for line in lines]


def noise(rng, lines):
    lines.insert(_at(rng, lines), rng.choice(["epoch 3", "", "y" * 300000, ":::MLLO", ":::MLLOG", ":::MLLOG ", ":::MLLOG []",
                                              ":::MLLOG 5", ":::MLLOG null", ":::MLLOG \"x\"", ":::MLL 1.0 a: 5", ":::MLPv0.5.0 x",
                                              ":::MLL 1.0 other: {\"value\": 1}", ":::MLLOG {}", ":::MLL 1.2.3 x: {}"]))


def no_blank(rng, lines):
    i = _at(rng, lines)
    lines[i] = lines[i].replace(":::MLLOG ", rng.choice([":::MLLOG", ":::MLLOG  ", ":::MLLOG\t", ":::mllog "]), 1)


def lower_nan(rng, lines):
    i = _at(rng, lines)
    lines[i] = lines[i].replace('"value": ', '"value": ' + rng.choice(["nan, ", "01", "+", "1.", ".5", "0x1 ", "'a'", "1_0"]), 1)


def spelling(rng, lines):
    i = _at(rng, lines)
    old, new = rng.choice([('"key"', '"k\\u0065y"'), ('"value"', '"value": 3, "value"'), ('"metadata"', '"metadata": {}, "metadata"'),
                           ('": ', '" : '), ('{', '{ '), ('}', '\t}'), ('"value": ', '"value": "\\ud800", "x": '),
                           ('"value": ', '"value": "a\\u0000", "x": '), ('"value": ', '"value": "\\x", "x": '),
                           ('"value": ', '"value": [' + "[" * rng.choice([3, 20, 40]) + ', "x": '), (', ', ',,'), ('}}', '},}')])
    lines[i] = lines[i].replace(old, new, 1)


def deep(rng, lines):
    i, n = _at(rng, lines), rng.choice([5, 40, 200])
    lines[i] = lines[i].replace('"metadata": {', '"metadata": {"d": ' + "[" * n + "]" * n + ", ", 1)


LINES = [cut_end, cut_through, new_line_in, glue, prefix, suffix, suffix, all_return, noise, noise, no_blank,
         lower_nan, spelling, spelling, deep]


def mutate(rng, log, line_of):
    """(text of a spoilt log, the names of what was done)."""
    log = copy.deepcopy(log)
    done = []
    n_records, n_lines = rng.choice([(1, 0), (1, 0), (2, 0), (3, 0), (0, 1), (0, 2), (1, 1)])
    for _ in range(n_records):
        if len(log) > 1:
            f = rng.choice(RECORDS)
            try:
                f(rng, log)
            except (KeyError, TypeError):  # an earlier change took what this one wants
                continue
            done.append(f.__name__)
    lines = []
    for r in log:
        try:
            lines.append(line_of(r))
        except (KeyError, TypeError):
            lines.append(":::MLLOG " + json.dumps(r))
    for _ in range(n_lines):
        f = rng.choice(LINES)
        f(rng, lines)
        done.append(f.__name__)
    # The checker's search takes quadratic time on what follows a record: minutes for a long line.
    lines = [line[:line.rfind(":::MLL") + 5000] if ":::MLL" in line else line for line in lines]
    text = "\n".join(lines) + ("" if rng.random() < 0.05 else "\n")
    return text, done
