"""One log of a closed ResNet run in the ways that people's logs were found to be."""
import copy
import json


def _set(key, field, value):
    def f(log):
        for r in log:
            if r["key"] == key:
                r[field] = value
    return f


def _meta(key, **changes):
    def f(log):
        for r in log:
            if r["key"] == key:
                r["metadata"] = {k: v for k, v in {**r["metadata"], **changes}.items() if v is not None}
    return f


def _drop(key):
    def f(log):
        log[:] = [r for r in log if r["key"] != key]
    return f


def _again(key, **changes):
    def f(log):
        i = next(i for i, r in enumerate(log) if r["key"] == key)
        log.insert(i + 1, {**copy.deepcopy(log[i]), **changes})
    return f


def _before(first, second):
    def f(log):
        a = next(i for i, r in enumerate(log) if r["key"] == first)
        b = next(i for i, r in enumerate(log) if r["key"] == second)
        log[a], log[b] = log[b], log[a]
    return f


def _early_stop(log):
    start = next(r for r in log if r["key"] == "run_start")["time_ms"]
    log[-1]["time_ms"] = start - 5000


RECORDS = {
    "plain": lambda log: None,
    "time_ms a float": _set("seed", "time_ms", 1700000000000.5),
    "time_ms a string": _set("seed", "time_ms", "1700000000000"),
    "a key twice, equal": _again("global_batch_size"),
    "a key twice, different": _again("global_batch_size", value=31),
    "run_stop 5 s before run_start": _early_stop,
    "no gradient_accumulation_steps": _drop("gradient_accumulation_steps"),
    "no cache_clear": _drop("cache_clear"),
    "no run_stop": _drop("run_stop"),
    "init_stop before init_start": _before("init_start", "init_stop"),
    "eval_accuracy with samples_count alone": _meta("eval_accuracy", epoch_num=None, samples_count=50000),
    "accuracy in per cent": _set("eval_accuracy", "value", 76.01),
    "accuracy NaN": _set("eval_accuracy", "value", float("nan")),
    "end rate from a 32-bit float": _set("lars_opt_end_learning_rate", "value", 9.999999747378752e-05),
    "weight decay from a 32-bit float": _set("lars_opt_weight_decay", "value", 4.999999873689376e-05),
    "lars_epsilon 1e-07": _set("lars_epsilon", "value", 1e-07),
    "weight decay 0": _set("lars_opt_weight_decay", "value", 0),
    "run_stop with status aborted": _meta("run_stop", status="aborted"),
}


def _prefix(lines):
    lines[4] = "0: " + lines[4]


def _escape(lines):
    lines[4] = "\x1b[A\x1b[A" + lines[4]


def _returns(lines):
    lines[:] = [line + "\r" for line in lines]


def _glued(lines):
    lines[4:6] = [lines[4] + lines[5]]


def _cut(lines):
    lines[4] = lines[4][:40] + "[rank3] ok " + lines[4][40:]


def _no_metadata(lines):
    r = json.loads(lines[4][len(":::MLLOG "):])
    del r["metadata"]
    lines[4] = ":::MLLOG " + json.dumps(r)


def _nan(lines):
    lines[:] = [line.replace("NaN", "nan") for line in lines]


LINES = {
    "rank in front": _prefix,
    "escape sequence in front": _escape,
    "carriage returns": _returns,
    "two lines glued": _glued,
    "cut by another rank's text": _cut,
    "a record without metadata": _no_metadata,
}


def texts(log, line_of):
    """(name, text) of each."""
    for name, change in list(RECORDS.items()) + [("accuracy nan", RECORDS["accuracy NaN"])]:
        changed = copy.deepcopy(log)
        change(changed)
        lines = [line_of(r) for r in changed]
        if name == "accuracy nan":
            _nan(lines)
        yield name, "\n".join(lines) + "\n"
    for name, change in LINES.items():
        lines = [line_of(r) for r in log]
        change(lines)
        yield name, "\n".join(lines) + "\n"
