#!/usr/bin/env python3
"""Holds `stave submit --verify` against the official package checker: package_agreement.py STAVE [VERSION ORG]...

Both must accept or both refuse each tree; a traceback of the official tool is a refusal. Where ours is stricter the tree
is accepted by the official tool, ours says so ("official_accepts"), and refuses it all the same; such a tree is shown
with a star. Prints a line a tree and ends in "N agree, N differ"; exit 1 when one differs.

The official tools (mlperf-logging, Apache-2.0, with numpy, scipy, pandas, yaml) are somebody else's programs: this runs
in a Python that has them; tests/agreement/package_agreement fetches them. The logs are made here: no run took place.
"""
import contextlib
import io
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import warnings

from mlperf_logging.package_checker import package_checker
from mlperf_logging.rcp_checker import rcp_checker

# The official table lost this entry when DLRM left the suite; the rules of its rounds say five.
rcp_checker.submission_runs["training"].setdefault("dlrm", 5)

ORG = "tiny"
SYSTEM = "box"
STATUS = "Research, Development, or Internal (RDI)"
FIELDS = """submitter division status system_name number_of_nodes host_processors_per_node host_processor_model_name
host_processor_core_count host_processor_vcpu_count host_processor_frequency host_processor_caches
host_processor_interconnect host_memory_capacity host_storage_type host_storage_capacity host_networking
host_networking_topology host_memory_configuration accelerators_per_node accelerator_model_name
accelerator_host_interconnect accelerator_frequency accelerator_on-chip_memories accelerator_memory_configuration
accelerator_memory_capacity accelerator_interconnect accelerator_interconnect_topology cooling hw_notes framework
other_software_stack operating_system sw_notes""".split()


# ---- submissions made here ----


def log(division, seed, epochs=39, batch=3264, benchmark="resnet", status="success"):
    """A ResNet log of 4.0.0 that evaluates every four epochs and reaches 0.7600 at the last."""
    lines, now = [], [1700000000000]

    def put(key, value=None, kind="POINT_IN_TIME", **metadata):
        now[0] += 1000
        lines.append(":::MLLOG " + json.dumps({
            "namespace": "", "time_ms": now[0], "event_type": kind, "key": key, "value": value,
            "metadata": {"file": "loop.c", "lineno": 77, **metadata}}))

    put("cache_clear", True)
    put("init_start", kind="INTERVAL_START")
    put("submission_org", ORG)
    put("submission_platform", "testbox")
    put("submission_division", division)
    put("submission_status", "research")
    put("submission_benchmark", benchmark)
    put("global_batch_size", batch)
    put("gradient_accumulation_steps", 1)
    put("seed", seed)
    put("opt_name", "lars")
    put("lars_opt_base_learning_rate", 10.5)
    put("lars_opt_end_learning_rate", 0.0001)
    put("lars_opt_learning_rate_decay_poly_power", 2)
    put("lars_opt_learning_rate_decay_steps", 41)
    put("lars_epsilon", 0)
    put("lars_opt_learning_rate_warmup_epochs", 2)
    put("lars_opt_momentum", 0.9)
    put("lars_opt_weight_decay", 0.00005)
    put("init_stop", kind="INTERVAL_END")
    put("run_start", kind="INTERVAL_START")
    put("train_samples", 1281167)
    put("eval_samples", 50000)
    first = 1
    for last in range(3, epochs + 1, 4):
        count = last - first + 1
        put("block_start", kind="INTERVAL_START", first_epoch_num=first, epoch_count=count)
        put("eval_start", kind="INTERVAL_START", epoch_num=last)
        put("eval_accuracy", 0.7600 if last == epochs else 0.01 * last, epoch_num=last)
        put("eval_stop", kind="INTERVAL_END", epoch_num=last)
        put("block_stop", kind="INTERVAL_END", first_epoch_num=first, epoch_count=count)
        first = last + 1
    put("run_stop", kind="INTERVAL_END", status=status)
    return "\n".join(lines) + "\n"


def description(division, **changes):
    d = {f: "x" for f in FIELDS}
    d.update(submitter=ORG, division=division, status=STATUS, system_name="testbox", number_of_nodes="1",
             host_processors_per_node="1", accelerators_per_node="0")
    d.update(changes)
    return d


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def runs(dir, division, epochs):
    """Five run folders as `stave run` leaves them, and the description beside them."""
    options = {"training": {"lr": 10.5}, "resnet50": {"classes": 1000}}
    for i, e in enumerate(epochs, 1):
        write(f"{dir}/runs/run-{i}/mlperf.log", log(division, 1000 + i, e))
        write(f"{dir}/runs/run-{i}/run.json", json.dumps({
            "stave_version": "0.1.0", "workload": "resnet50", "preset": "imagenet", "ruleset": "4.0.0",
            "seed": 1000 + i, "options": options}))
    write(f"{dir}/{SYSTEM}.json", json.dumps(description(division)))


def submit(stave, dir, division, epochs):
    runs(dir, division, epochs)
    said = subprocess.run([stave, "submit", f"{dir}/runs", "--to", f"{dir}/sub", "--org", ORG, "--system",
                           f"{dir}/{SYSTEM}.json"], capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit(f"stave submit ended with {said.returncode}:\n{said.stdout}{said.stderr}")
    return f"{dir}/sub/{ORG}"


# ---- one thing wrong ----


def result(tree, i, bench="resnet"):
    return f"{tree}/results/{SYSTEM}/{bench}/result_{i}.txt"


def edit(path, change):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    write(path, change(text))


def replace(old, new, count=-1):
    return lambda text: text.replace(old, new, count)


def without(key):
    return lambda text: "".join(l for l in text.splitlines(True) if f'"key": "{key}"' not in l)


def change_json(path, **changes):
    with open(path, encoding="utf-8") as f:
        d = json.load(f)
    if not isinstance(d, dict):
        return  # an earlier change of the pair made it something else
    for k, v in changes.items():
        k = k.replace("__", "-")
        if v is None:
            d.pop(k, None)
        else:
            d[k] = v
    write(path, json.dumps(d))


def of_description(**changes):
    return lambda tree, rng: change_json(f"{tree}/systems/{SYSTEM}.json", **changes)


def of_logs(change, which=range(5)):
    def apply(tree, rng):
        for i in which:
            if os.path.exists(result(tree, i)):
                edit(result(tree, i), change)
    return apply


def same_seeds(tree, rng):
    for i in (3, 4):
        if os.path.exists(result(tree, i)):
            edit(result(tree, i), replace(f'"value": {1001 + i}', '"value": 1003'))


def move(old, new):
    def apply(tree, rng):
        if os.path.exists(f"{tree}/{old}"):
            os.renames(f"{tree}/{old}", f"{tree}/{new}")
    return apply


def put(name, text):
    return lambda tree, rng: write(f"{tree}/{name}", text)


def drop(name):
    def apply(tree, rng):
        path = f"{tree}/{name}"
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.remove(path)
    return apply


RESNET = f"results/{SYSTEM}/resnet"
MUTATIONS = {
    "a log too few": drop(f"{RESNET}/result_4.txt"),
    "a log too many": put(f"{RESNET}/result_5.txt", log("open", 4711)),
    "a log of another name": move(f"{RESNET}/result_2.txt", f"{RESNET}/run_2.txt"),
    "result_final.txt in place of result_4.txt": move(f"{RESNET}/result_4.txt", f"{RESNET}/result_final.txt"),
    "a stray file": put(f"{RESNET}/notes.txt", "hello\n"),
    "a hidden file": put(f"{RESNET}/.notes", "hello\n"),
    "a stray folder": put(f"{RESNET}/old/result_0.txt", "hello\n"),
    "a file among the benchmarks": put(f"results/{SYSTEM}/README.md", "hello\n"),
    "a benchmark of no round": move(RESNET, f"results/{SYSTEM}/resnet50"),
    "the folder of another benchmark": move(RESNET, f"results/{SYSTEM}/ssd"),
    "the folder of one with other runs": move(RESNET, f"results/{SYSTEM}/bert"),
    "no description": drop(f"systems/{SYSTEM}.json"),
    "a description of another name": move(f"systems/{SYSTEM}.json", "systems/other.json"),
    "a second, bad description": put("systems/other.json", "{}"),
    "a description that is no JSON": put(f"systems/{SYSTEM}.json", "{'a': 1}"),
    "an empty description": put(f"systems/{SYSTEM}.json", ""),
    "a description that is a list": put(f"systems/{SYSTEM}.json", "[]"),
    "text behind the description": put(f"systems/{SYSTEM}.json", json.dumps(description("open")) + "x"),
    "a field missing": of_description(cooling=None),
    "division missing": of_description(division=None),
    "another division": of_description(division="open "),
    "division Closed": of_description(division="Closed"),
    "a number of accelerators": of_description(accelerators_per_node=0),
    "a number of nodes": of_description(number_of_nodes=1),
    "a list of software": of_description(other_software_stack={"oneDNN": "2.6"}),
    "null in a name": of_description(framework=7),
    "status of an early round": of_description(status="onprem"),
    "status that nobody knows": of_description(status="available"),
    "status missing": of_description(status=None),
    "an empty status": of_description(status=""),
    "an extra field": of_description(colour="blue"),
    "an empty field": of_description(host_networking=""),
    "a field to fill in": of_description(cooling="FILL IN: air or liquid"),
    "another submitter": of_description(submitter="someone"),
    "another platform": of_description(system_name="other"),
    "the same seed twice": same_seeds,
    "no seed in one log": of_logs(without("seed"), [2]),
    "no seed at all": of_logs(without("seed")),
    "a seed that is a text of digits": of_logs(replace('"key": "seed", "value": 1003', '"key": "seed", "value": " 1003 "')),
    "a seed that is text": of_logs(replace('"key": "seed", "value": 1003', '"key": "seed", "value": "x"')),
    "a seed with a fraction": of_logs(replace('"key": "seed", "value": 1003', '"key": "seed", "value": 1004.7')),
    "a seed that is null": of_logs(replace('"key": "seed", "value": 1003', '"key": "seed", "value": null')),
    "one log that does not comply": of_logs(without("init_stop"), [1]),
    "two logs that do not comply": of_logs(without("init_stop"), [1, 3]),
    "one run without its stop": of_logs(without("run_stop"), [0]),
    "one aborted run": of_logs(replace('"status": "success"', '"status": "aborted"'), [0]),
    "two aborted runs": of_logs(replace('"status": "success"', '"status": "aborted"'), [0, 1]),
    "one run below the target": of_logs(replace('"value": 0.76,', '"value": 0.70,'), [0]),
    "two runs below the target": of_logs(replace('"value": 0.76,', '"value": 0.70,'), [0, 4]),
    "another batch in one log": of_logs(replace('"value": 3264', '"value": 3200'), [4]),
    "another batch in all": of_logs(replace('"value": 3264', '"value": 3200')),
    "a batch above the reference's": of_logs(replace('"value": 3264', '"value": 1000000')),
    "a batch below the reference's": of_logs(replace('"value": 3264', '"value": 64')),
    "no batch": of_logs(without("global_batch_size")),
    "another benchmark in one log": of_logs(replace('"value": "resnet"', '"value": "bert"'), [2]),
    "another division in the logs": of_logs(replace('"value": "closed"', '"value": "open"')),
    "one cut line": of_logs(replace('"key": "train_samples"', '"key": "train_sa'), [1]),
    "one record without metadata": of_logs(replace('"metadata": {"file": "loop.c", "lineno": 77}}', '"x": 1}', 1), [1]),
    "an empty log": of_logs(lambda text: "", [3]),
    "two empty logs": of_logs(lambda text: "", [3, 4]),
    "no results": drop("results"),
    "no benchmarks": drop("benchmarks"),
    "no systems": drop("systems"),
    "a file among the systems": put("systems/README.md", "x"),
    "a file among the results": put("results/README.md", "x"),
    "a second system without description": put("results/other/resnet/result_0.txt", "x"),
    "an empty second system": put("results/other/README", "x"),
    "seeds bypassed": put(f"{RESNET}/package_checker_params", "seed-checker-bypass"),
    "seeds bypassed, with a newline": put(f"{RESNET}/package_checker_params", "seed-checker-bypass\n"),
    "convergence bypassed for the system": put(f"results/{SYSTEM}/package_checker_params", "rcp-bypass"),
    "both bypassed": put(f"{RESNET}/package_checker_params", "seed-checker-bypass\nrcp-bypass"),
    "a scaling that is not": put(f"{RESNET}/scaling.json", '{"scaling_factor": 2.0}'),
    "a name with a blank": put(f"benchmarks/resnet/a b.txt", "x"),
    "a hidden name": put(f"benchmarks/resnet/.a", "x"),
}


# ---- both verdicts ----


def official(tree, version, params=()):
    """On a copy: the checker writes into the tree it looks at."""
    with tempfile.TemporaryDirectory() as work:
        copy = f"{work}/{os.path.basename(tree)}"
        shutil.copytree(tree, copy, symlinks=True)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), \
                warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                good = version < "1" or package_checker.check_systems(copy, "training", version)
                return package_checker.check_training_result_files(
                    copy, "training", version, False, False, "rcp" in params, "bert" in params,
                    "seeds" in params) and good
            except Exception as e:
                return f"{type(e).__name__}"


def ours(stave, tree, version, params=()):
    flags = {"rcp": "--rcp-bypass", "bert": "--rcp-bert-train-samples", "seeds": "--seed-checker-bypass"}
    said = subprocess.run([stave, "submit", tree, "--verify", "--json", "--ruleset", version] +
                          [flags[p] for p in params], capture_output=True, text=True)
    if said.returncode not in (0, 4):
        return {"official_accepts": None, "stands": None, "findings": [], "said": said.stderr}
    verdict = json.loads(said.stdout)
    if verdict["stands"] != (said.returncode == 0):
        verdict["official_accepts"] = None
    return verdict


class Table:
    def __init__(self, stave):
        self.stave, self.agree, self.differ, self.stricter, self.accepted = stave, 0, 0, 0, 0

    def judge(self, name, tree, version, params=()):
        theirs, mine = official(tree, version, params), ours(self.stave, tree, version, params)
        same = mine["official_accepts"] == (theirs is True)
        self.agree += same
        self.differ += not same
        self.accepted += theirs is True
        star = theirs is True and not mine["stands"]
        self.stricter += star
        word = {True: "accepted", False: "refused"}.get(theirs, f"refused ({theirs})")
        print(f"{'=' if same else 'DIFFERS'}{'*' if star else ' '} {word:32} {name}", flush=True)
        if not same:
            print("   ours:", {k: v for k, v in mine.items() if k != "findings"})
            for f in mine["findings"][:12]:
                if f["level"] != "note":
                    print("   ", f["level"], f["where"][-60:], f["text"])
        return same


def made_here(table, rng, pairs):
    with tempfile.TemporaryDirectory() as work:
        bases = {"open": submit(table.stave, f"{work}/open", "open", [39] * 5),
                 "closed": submit(table.stave, f"{work}/closed", "closed", [39, 39, 39, 39, 43]),
                 "closed, scaled": submit(table.stave, f"{work}/scaled", "closed", [35] * 5)}
        fast = f"{work}/fast/{ORG}"
        shutil.copytree(bases["closed"], fast)
        for i in range(5):
            write(result(fast, i), log("closed", 1001 + i, 15))
        bases["closed, too fast"] = fast
        for name, tree in bases.items():
            table.judge(name, tree, "4.0.0")
        cases = [(b, [m]) for b in ("open", "closed") for m in MUTATIONS]
        cases += [("closed, too fast", [m]) for m in MUTATIONS if "bypassed" in m]
        cases += [(rng.choice(list(bases)), rng.sample(list(MUTATIONS), 2)) for _ in range(pairs)]
        for base, changes in cases:
            tree = f"{work}/mutant/{ORG}"
            shutil.copytree(bases[base], tree)
            for m in changes:
                try:
                    MUTATIONS[m](tree, rng)
                except (ValueError, AttributeError, OSError):
                    pass  # the first of a pair left nothing that the second could change
            table.judge(f"{base}: {'; '.join(changes)}", tree, "4.0.0")
            shutil.rmtree(f"{work}/mutant")


def main():
    logging.disable(logging.CRITICAL)
    table = Table(os.path.abspath(sys.argv[1]))
    if len(sys.argv) > 2:
        for version, tree in zip(sys.argv[2::2], sys.argv[3::2]):
            table.judge(f"{version} {os.path.basename(tree.rstrip('/'))}", tree.rstrip("/"), version,
                        os.environ.get("PARAMS", "").split())
    else:
        seed = int(os.environ.get("SEED", random.SystemRandom().randrange(10 ** 9)))
        print(f"SEED={seed}")
        made_here(table, random.Random(seed), int(os.environ.get("PAIRS", "24")))
    print(f"{table.accepted} accepted by the official tool, {table.stricter} of these refused by ours as stricter (*)")
    print(f"{table.agree} agree, {table.differ} differ")
    return 1 if table.differ or not table.agree else 0


if __name__ == "__main__":
    sys.exit(main())
