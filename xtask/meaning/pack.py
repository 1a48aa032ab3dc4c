"""Writes the file of the table of meanings from trained tables; the layout is in crates/grove-meaning/src/table.rs.

    pack.py VOCABULARY POOLED.npz LATE.npz SETTINGS.json OUT

Tokens that no text in plain letters has are left out. Settings: the weights pooled and late, the bounds least, weight, perhaps and well; all from the study of the tune half.
"""
import json
import struct
import sys
from pathlib import Path

import numpy as np
import xxhash

SLOTS = 1 << 16


def rows(values):
    """Returns rows of small integers, each as large as it can be, and the scale of each row."""
    values = values.astype(np.float64)
    most = np.maximum(np.abs(values).max(1), 1e-12)
    return np.rint(values * (127 / most)[:, None]).astype(np.int8), most


def weights(values):
    return np.clip(np.rint(values / values.max() * 65535), 0, 65535).astype("<u2")


def main():
    vocabulary, pooled, late, settings, out = sys.argv[1:6]
    words = Path(vocabulary).read_text().split("\n")
    pooled, late, settings = np.load(pooled), np.load(late), json.loads(Path(settings).read_text())
    kept = [(word.startswith("##"), word, at) for at, word in enumerate(words)
            if word and word.isascii() and not word.startswith("[") or word == "["]
    kept.sort(key=lambda row: (row[0], row[2]))
    ids = np.array([at for _, _, at in kept])
    first = sum(not continues for continues, _, _ in kept)
    letters = [word[2:] if continues else word for continues, word, _ in kept]
    slots = [0xFFFF] * SLOTS
    for token, text in enumerate(letters):
        slot = xxhash.xxh3_64_intdigest(text.encode(), int(token >= first)) % SLOTS
        while slots[slot] != 0xFFFF:
            slot = (slot + 1) % SLOTS
        slots[slot] = token
    pooled_rows, scales = rows(pooled["table"][ids])
    late_table = late["table"][ids].astype(np.float64)
    late_rows = np.rint(late_table / np.linalg.norm(late_table, axis=1)[:, None] * 127).astype(np.int8)
    told = 2 / (1 + np.exp(-late["told"][ids].astype(np.float64))) * 128
    columns = np.stack([
        weights(np.exp(pooled["asked"][ids].astype(np.float64)) * scales),
        weights(np.exp(pooled["told"][ids].astype(np.float64)) * scales),
        weights(np.exp(late["asked"][ids].astype(np.float64))),
        np.rint(told).astype("<u2"),
    ], axis=1)
    ends = np.cumsum([len(text.encode()) for text in letters]).astype("<u4")
    numbers = [len(kept), first, pooled_rows.shape[1], late_rows.shape[1]]
    numbers += [round(float(pooled["share"]) * 32768), round(settings["pooled"] * 4096), round(settings["late"] * 4096)]
    numbers += [round(settings[key] * 16384) for key in ("least", "weight", "perhaps", "well")]
    body = struct.pack("<11i", *numbers) + struct.pack(f"<{SLOTS}H", *slots) + ends.tobytes()
    body += "".join(letters).encode() + np.ascontiguousarray(columns.astype("<u2")).tobytes()
    body += pooled_rows.tobytes() + late_rows.tobytes()
    whole = b"grovemt1" + struct.pack("<Q", xxhash.xxh3_64_intdigest(body)) + body
    Path(out).write_bytes(whole)
    print(len(kept), "tokens,", first, "begin a word,", len(whole), "bytes")


main()
