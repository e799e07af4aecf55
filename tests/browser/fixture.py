#!/usr/bin/env python3
"""Makes a run folder by hand, in the formats that docs/architecture.md names: fixture.py DIR
[HOURS [HZ]]. Numbers are drawn from a fixed seed. For the tests of the page and for its pictures;
nothing here was measured."""
import json
import math
import os
import random
import sys

COLUMNS = """cpu_process_percent cpu_machine_percent cpu_user_percent cpu_system_percent
cpu_iowait_percent cpu_steal_percent cpu_throttled_percent memory_anon_bytes memory_file_bytes
memory_shmem_bytes memory_limit_bytes process_rss_bytes data_resident_percent loader_asked_bytes
io_read_bytes io_write_bytes io_called_read_bytes disk_read_bytes disk_write_bytes
disk_read_bytes_per_s disk_write_bytes_per_s disk_reads_per_s disk_writes_per_s disk_queue
disk_read_await_ms disk_write_await_ms disk_busy_percent net_receive_bytes_per_s
net_send_bytes_per_s pressure_cpu_percent pressure_memory_percent pressure_io_percent""".split()
DEVICE = """sm_percent memory_controller_percent memory_used_bytes power_w sm_mhz
throttled_percent pcie_receive_bytes_per_s pcie_send_bytes_per_s nvlink_receive_bytes_per_s
nvlink_send_bytes_per_s decoder_percent jpeg_percent""".split()
START_MS = 1796041500000
INIT_S = 0.04
EPOCHS = 8
DATA_BYTES = 1.9e9


class Run:
    def __init__(self, folder, hours, hz, devices):
        self.folder, self.seconds, self.hz, self.devices = folder, hours * 3600, hz, devices
        self.random = random.Random(7)
        self.drawn = [self.random.gauss(0, 1) for _ in range(9973)]
        self.at = 0
        self.init = INIT_S * self.seconds
        self.epoch = (self.seconds - self.init) / EPOCHS
        os.makedirs(folder, exist_ok=True)

    def phase(self, t):
        if t < self.init:
            return "init", 0
        epoch = min(EPOCHS - 1, int((t - self.init) / self.epoch))
        into = (t - self.init) / self.epoch - epoch
        if into > 0.86:
            return "evaluate", epoch + 1
        return ("warmup" if epoch == 0 and into < 0.3 else "train"), epoch + 1

    def ingests(self, t):
        return self.init + 2.2 * self.epoch < t < self.init + 5.4 * self.epoch

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(text)


def noise(run, level, spread):
    run.at = (run.at + 1) % 9973
    return max(0.0, level * (1 + spread * run.drawn[run.at]))


def device(run, number, busy):
    values = [60 + 35 * busy, 40 * busy, 11.5e9, 120 + 260 * busy, 1700, 3 * (1 - busy), 4e8 * busy,
              1e8 * busy, 2e9 * busy, 2e9 * busy, 5, 0]
    return [round(noise(run, v, 0.03), 1) for v in values]


def samples(run):
    columns = COLUMNS + [f"gpu{i}_{c}" for i in range(run.devices) for c in DEVICE]
    lines = ["time_ms,elapsed_s,phase,epoch," + ",".join(columns)]
    total = [0.0] * 6
    n, gap = int(run.seconds * run.hz), 1 / run.hz
    for i in range(n):
        t, run.at = (i + 1) * gap, run.random.randrange(9973)
        phase, epoch = run.phase(t)
        works, ingest = phase != "init", run.ingests(t)
        reads = noise(run, (38e6 if phase != "evaluate" else 24e6) * (0.8 if ingest else 1), 0.12) if works else 2e6
        hit = 0.05 if epoch > 1 else 0.0
        writes = noise(run, 61e6, 0.2) if ingest else noise(run, 0.4e6, 0.5)
        for k, v in enumerate((reads, reads * (1 - hit), writes * 0.02, reads * 1.01, reads * (1 - hit), writes)):
            total[k] += v * gap
        cpu = noise(run, 172 if phase == "train" else 150 if works else 96, 0.04)
        system, steal = noise(run, 18 + 9 * ingest, 0.2), noise(run, 1.4, 0.6)
        row = [cpu, min(200, cpu + system * 0.6), cpu * 0.88, system, noise(run, 6 + 11 * ingest, 0.3),
               steal, 0, 2.1e9 + 4e8 * math.tanh(t / run.init), min(4.75e8, total[0]), 1.2e6, 2.9e9,
               2.3e9 + 4e8 * math.tanh(t / run.init), min(25, 100 * total[0] / DATA_BYTES)]
        row += total
        row += [reads * (1 - hit), writes, reads / 121e3, writes / 128e3, noise(run, 1.6 + 3 * ingest, 0.3),
                noise(run, 0.9 + 1.1 * ingest, 0.25), noise(run, 1.8 + 2.4 * ingest, 0.3),
                min(100, noise(run, 41 + 38 * ingest, 0.1)), noise(run, 2100, 0.5), noise(run, 1500, 0.5),
                noise(run, 9, 0.3), 0, noise(run, 5 + 14 * ingest, 0.3)]
        for d in range(run.devices):
            row += device(run, d, 1.0 if phase == "train" else 0.3)
        cells = ["%d" % v if v > 1e4 else "%.1f" % v for v in row]
        if i % 97 == 5:
            cells[12] = ""
        lines.append(f"{START_MS + round(t * 1000)},{t:.3f},{phase},{epoch or ''}," + ",".join(cells))
    run.write("samples.csv", "\n".join(lines) + "\n")


def ingest(run):
    lines = ["time_ms,elapsed_s,ingest_write_bytes_per_s,ingest_latency_mean_ms,ingest_latency_max_ms"]
    for t in range(1, int(run.seconds)):
        if run.ingests(t):
            lines.append(f"{START_MS + 1000 * t},{t}.000,{noise(run, 60e6, 0.2):.0f},{noise(run, 2.1, 0.2):.3f},{noise(run, 30, 0.5):.3f}")
    run.write("ingest.csv", "\n".join(lines) + "\n")


def events(run):
    lines = []

    def event(t, kind, key, **more):
        lines.append(json.dumps({"time_ms": START_MS + round(t * 1000), "elapsed_ns": round(t * 1e9), "type": kind,
                                 "key": key, **more, "file": "src/train/loop.c", "lineno": 1}))

    event(0, "start", "init_start")
    event(0, "point", "global_batch_size", value=128)
    event(run.init, "end", "init_stop")
    event(run.init, "start", "run_start")
    event(run.init, "point", "train_samples", value=16000)
    step, gap = 0, max(0.5, run.seconds / 900)
    for e in range(EPOCHS):
        at = run.init + e * run.epoch
        event(at, "start", "epoch_start", epoch_num=e + 1)
        t, end = at + gap, at + 0.86 * run.epoch
        while t < end:
            done = e + (t - at) / (end - at)
            step = round(125 * done)
            event(t, "point", "step", epoch_num=e + 1, step_num=step, steps_total=1000,
                  samples_per_s=noise(run, 61 if run.ingests(t) else 66, 0.05),
                  loss=0.7 + 1.7 * math.exp(-done / 1.6) * noise(run, 1, 0.04),
                  learning_rate=1.4 * min(done / 0.5, (1 - done / EPOCHS) ** 2), data_wait_ratio=noise(run, 0.02, 0.6))
            t += gap
        event(end, "end", "epoch_stop", epoch_num=e + 1)
        event(end, "start", "eval_start", epoch_num=e + 1)
        value = 0.9 - 0.55 * math.exp(-(e + 1) / 1.9)
        event(at + 0.99 * run.epoch, "point", "eval_accuracy", value=value, epoch_num=e + 1, samples_count=10000,
              eval_loss=1.3 - value)
        event(at + 0.995 * run.epoch, "end", "eval_stop", epoch_num=e + 1)
    event(run.seconds, "end", "run_stop", status="success")
    run.write("events.jsonl", "\n".join(lines) + "\n")
    return value


def documents(run, quality):
    train = 0.86 * (run.seconds - run.init)
    options = {"run": {"out": run.folder, "resume": False, "init": None}, "training": {"batch-size": 128, "epochs": 8,
               "target": 0.88, "lr": 1.4, "optimizer": "lars"}, "data": {"data-dir": "data/like", "num-threads": 2,
               "prefetch": 3, "reader": "pread"}, "conditions": {"sample-rate": run.hz, "cache": "25%-of-data",
               "ingest": "engine=sync jobs=4 bs=128k rate=60M size=8G"}}
    run.write("run.json", json.dumps({
        "stave_version": "0.1.0", "started_utc": "2026-11-30T12:25:00Z", "host": "handmade", "kernel": "6.1.0",
        "cpu_model": "AMD EPYC", "cpus_usable": 2, "cpus_how": "all 2 processors of the machine",
        "memory_limit_bytes": 25276514304, "memory_how": "the machine's memory", "device": "cpu",
        "device_about": "cpu, oneDNN 2.6.3, 2 threads", "workload": "resnet50", "unit": "images", "preset": "sample",
        "seed": 260846142685193, "ruleset": "4.0.0", "division": "open", "parameters": 23528522,
        "rules": "target is 0.88; the closed division wants at least 0.759\n", "options": options,
        "defaults": {"training": {"batch-size": 256, "epochs": 90}, "data": {"num-threads": 0},
                     "conditions": {"cache": None, "ingest": None}}}))
    epochs = [{"epoch_num": e + 1, "asked_bytes": DATA_BYTES, "process_read_bytes": DATA_BYTES * r,
               "disk_read_bytes": DATA_BYTES * r, "delivered_ratio": r, "origin": "disk"}
              for e, r in enumerate([1.0, .96, .95, .94, .95, .96, .95, .95])]
    run.write("result.json", json.dumps({
        "status": "target reached", "metric": "top1", "target": 0.88, "quality": quality, "best_quality": quality,
        "best_epoch": 8, "epochs": 8, "steps": 1000, "samples_trained": 128000, "run_ns": round((run.seconds - run.init) * 1e9),
        "init_ns": round(run.init * 1e9), "train_ns": round(train * 1e9), "eval_ns": round(0.12 * run.seconds * 1e9),
        "data_wait_ns": round(0.021 * train * 1e9), "samples_per_s": 128000 / train, "exit_code": 0, "bad_samples": 2,
        "data_epochs": epochs, "origin": "disk",
        "origin_words": "of 15.2 GB asked for, the device delivered 14.5 GB (95.7 %)",
        "ceiling": {"how": "cgroup v2", "memory_limit_bytes": 2900000000, "cache_bytes": 475000000,
                    "words": "The run's own group may hold 475 MB beyond what it needs, a quarter of the data set."},
        "ingest": {"spec": "engine=sync jobs=4 bs=128k rate=60M size=8G", "fio_version": "fio-3.33", "write_bytes": 21.6e9,
                   "write_bytes_per_s": 60.1e6, "seconds": 360, "error": 0,
                   "latency_ns": {"mean": 2.1e6, "p50": 1.8e6, "p95": 5.2e6, "p99": 11.9e6, "max": 181e6}}}))
    per = lambda rate, threads: round(threads * 128000 / rate * 1e9)
    run.write("stages.csv", "stage,samples,busy_ns,cpu_ns,input_wait_ns,output_wait_ns\n"
              f"read,128000,{per(820, 2)},,,\ndecode,128000,{per(1540, 2)},,,\naugment,128000,{per(13093, 2)},,,\n"
              f"copy,128000,{per(193233, 1)},,,\ncompute,128000,{round(0.97 * train * 1e9)},,,\n")


def make(folder, hours=0.25, hz=1.0, devices=0):
    run = Run(folder, hours, hz, devices)
    samples(run)
    ingest(run)
    documents(run, events(run))


def make_study(folder):
    """study.json of an ingest study, without the folders of its runs."""
    os.makedirs(folder, exist_ok=True)
    rand = random.Random(3)
    settings = [("ingest off", 0, 0), ("bs=4k rate=20M", 20e6, 0.011), ("bs=128k rate=20M", 20e6, 0.006),
                ("bs=128k rate=60M", 60e6, 0.052), ("bs=1M rate=60M", 60e6, 0.047), ("bs=1M, as fast as it goes", 143e6, 0.131)]
    runs, table = [], []
    for i, (name, ingest, slow) in enumerate(settings):
        rates = [66 * (1 - slow) * rand.gauss(1, 0.006) for _ in range(3)]
        mean = sum(rates) / 3
        spread = lambda v: {"mean": v, "least": v * 0.97, "most": v * 1.03, "sd": v * 0.02}
        row = {"workload": "resnet50", "condition": i, "n": 3,
               "train_samples_per_s": {"mean": mean, "least": min(rates), "most": max(rates), "sd": 0.3},
               "cpu_process_percent": spread(171), "disk_write_bytes_per_s": spread(ingest + 4e5), "origin": "disk"}
        if i:
            row["slowdown"] = {"n": 3, "ratio": slow, "low": slow - 0.009, "high": slow + 0.009, "told_apart": slow > 0.009}
            row["ingest_bytes_per_s"], row["ingest_p99_ms"] = spread(ingest), spread(4 + slow * 90)
        table.append(row)
        runs += [{"dir": f"run-{3 * i + k + 1:02d}", "workload": "resnet50", "condition": i, "repeat": k + 1, "exit_code": 0,
                  "stands": True, "train_samples_per_s": rates[k], "origin": "disk"} for k in range(3)]
    runs[4].update(stands=False, why="fio ended with No space left on device", exit_code=4)
    document = {"kind": "ingest", "unit": "images", "repeats": 3, "workloads": ["resnet50"], "runs": runs, "table": table,
                "words": "Ingest of up to 20 MB/s costs the training less than 1.1 %; as fast as it goes (143 MB/s) it costs 13.1 %.",
                "conditions": [{"name": n, "alone": "both"} for n, _, _ in settings], "smallest_difference_ratio": 0.009,
                "choice": {"condition": 2, "sure": True, "words": "bs=128k rate=20M costs 0.6 %, less than 1 %: the most that does."}}
    with open(os.path.join(folder, "study.json"), "w", encoding="utf-8") as f:
        json.dump(document, f)


if __name__ == "__main__":
    make(sys.argv[1], *map(float, sys.argv[2:4]), devices=int(sys.argv[4]) if len(sys.argv) > 4 else 0)
