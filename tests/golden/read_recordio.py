#!/usr/bin/env python3
"""Reads a RecordIO file, knowing only its description (dmlc-core's recordio.h, MXNet's image header), not this
project's code. Prints a line for each record: its byte offset, id, label and the SHA-256 of its picture. When FILE.idx
stands beside FILE.rec its entries must be the offsets. Python's standard library alone.

Usage: read_recordio.py FILE.rec"""
import hashlib
import os
import struct
import sys

MAGIC = struct.pack("<I", 0xCED7230A)


def records(data):
    at, start, parts = 0, 0, []
    while at < len(data):
        magic, word = data[at:at + 4], struct.unpack_from("<I", data, at + 4)[0]
        kind, length = word >> 29, word & (1 << 29) - 1
        assert magic == MAGIC, f"no magic word at byte {at}"
        assert (kind in (2, 3)) == bool(parts), f"part {kind} out of order at byte {at}"
        if kind in (0, 1):
            start = at
        assert at + 8 + length <= len(data), f"the file ends inside the part at byte {at}"
        parts.append(data[at + 8:at + 8 + length])
        at += 8 + (length + 3) // 4 * 4
        if kind in (0, 3):
            yield start, MAGIC.join(parts)
            parts = []
    assert not parts, "the last record is unfinished"


def main(path):
    with open(path, "rb") as f:
        data = f.read()
    offsets = []
    for offset, record in records(data):
        flag, label, number, _ = struct.unpack_from("<IfQQ", record)
        labels = struct.unpack_from(f"<{flag}f", record, 24) if flag else (label,)
        picture = record[24 + 4 * flag:]
        print(offset, number, f"{labels[0]:g}", hashlib.sha256(picture).hexdigest())
        offsets.append(offset)
    idx = path[:-len(".rec")] + ".idx"
    if os.path.exists(idx):
        with open(idx) as f:
            listed = [tuple(map(int, line.split("\t"))) for line in f]
        assert listed == list(enumerate(offsets)), f"{idx} lists other offsets"


if __name__ == "__main__":
    main(sys.argv[1])
