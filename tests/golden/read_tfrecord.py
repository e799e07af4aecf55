#!/usr/bin/env python3
"""Reads TFRecord files of tf.Example, knowing only the description (TensorFlow's record_writer.h, example.proto,
protobuf's wire format), not this project's code. Both checksums are looked at. Prints a line for each record: its byte
offset, label, format, height, width and the SHA-256 of its picture; - for what is not there. Python's standard library
alone.

Usage: read_tfrecord.py FILE..."""
import hashlib
import struct
import sys


def make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked_crc(data[at:at + 8]), f"checksum of the length at byte {at}"
        body = data[at + 12:at + 12 + length]
        assert len(body) == length, f"the file ends inside the record at byte {at}"
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked_crc(body), f"checksum of the data at {at}"
        yield at, body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length
        else:
            size = {1: 8, 5: 4}[tag & 7]
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def numbers(data):
    for _, value in fields(data):
        if isinstance(value, int):
            yield value
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            yield number


def example(data):
    """{key: list of bytes or of whole numbers}; floats are left out."""
    out = {}
    for _, features in fields(data):
        for _, entry in fields(features):
            parts = dict(fields(entry))
            for kind, values in fields(parts[2]):
                if kind == 1:
                    out[parts[1].decode()] = [value for _, value in fields(values)]
                elif kind == 3:
                    out[parts[1].decode()] = [v - (1 << 64) if v >> 63 else v for v in numbers(values)]
    return out


def main(paths):
    for path in paths:
        with open(path, "rb") as f:
            data = f.read()
        for offset, record in records(data):
            e = example(record)
            kind = e.get("image/format", [b"-"])[0].decode()
            height, width = (e.get(f"image/{side}", ["-"])[0] for side in ("height", "width"))
            print(offset, e["image/class/label"][0], kind, height, width,
                  hashlib.sha256(e["image/encoded"][0]).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1:])
