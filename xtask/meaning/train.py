"""Trains the table of meanings: a student of MiniLM that is a table of vectors by token, for a machine with PyTorch.

    train.py FOLDER OUT [name=value ...]

FOLDER holds texts.jsonl (from collect.py) and the model's files; OUT gets pooled-NAME.npz and late-NAME.npz. The result is
not the same byte for byte on another machine or even in another run: what is kept is the table itself, by digest.
"""
import json
import lzma
import math
import random
import re
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

FOLDER, OUT = Path(sys.argv[1]), Path(sys.argv[2])
SETTINGS = {"seed": 7, "steps": 2000, "late_steps": 1500, "rate": 1e-3, "late_rate": 1e-3, "late": 128, "name": "a"}
for given in sys.argv[3:]:
    key, value = given.split("=")
    SETTINGS[key] = type(SETTINGS[key])(value)
SEED = SETTINGS["seed"]
random.seed(SEED)
torch.manual_seed(SEED)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SHARES = {"skills": 0.45, "debian-index": 0.33, "wordnet": 0.1, "foldoc": 0.12}
BODY, LONGEST, QUERY = 1500, 320, 40
start = time.time()


def say(*words):
    print(f"{time.time() - start:7.1f}", *words, flush=True)


def lines(path):
    opened = lzma.open(path, "rt") if path.suffix == ".xz" else path.open()
    with opened as file:
        return [json.loads(line) for line in file]


def queries_of(row):
    """Texts that ask for a document in part: sentences of its description, and of its body where they say what it does."""
    found = re.split(r"(?<=[.;!?])\s+|\s+\(\d\)\s+", row["description"])
    if row["kind"] == "skills":
        body = row["body"]
        found += re.findall(r"^\s*(?:[-*]|\d+\.)\s+(.{20,160})$", body, re.M)[:14]
        found += re.findall(r"^#+\s+(.{12,80})$", body, re.M)[:6]
        found += re.split(r"(?<=[.!?])\s+", re.sub(r"\s+", " ", body))[:10]
        found += re.findall(r"\"([^\"]{12,120})\"", row["description"] + body)[:8]
    elif row["kind"] == "debian-index":
        found += re.split(r"(?<=[.!?])\s+", row["body"])[:2]
    elif row["kind"] == "wordnet":
        found += re.findall(r"\"([^\"]{12,120})\"", row["description"])[:1]
    plain = [re.sub(r"[`*_#>|]+", " ", text) for text in found]
    plain = [re.sub(r"^(use (this )?(skill )?(when|for|if)|this skill( should be used when)?)\b", "", text.strip(), flags=re.I) for text in plain]
    plain = [re.sub(r"\s+", " ", text).strip() for text in plain]
    return list(dict.fromkeys(text[:240] for text in plain if 12 <= len(text)))


def read():
    file = FOLDER / "texts.jsonl.xz"
    rows = lines(file if file.exists() else FOLDER / "texts.jsonl")
    random.Random(SEED).shuffle(rows)
    kept, of_kind = [], {}
    most = {"wordnet": 30000, "foldoc": 9400, "debian-index": 40000, "skills": 10**9}
    for row in rows:
        of_kind[row["kind"]] = of_kind.get(row["kind"], 0) + 1
        if of_kind[row["kind"]] <= most[row["kind"]]:
            kept.append(row)
    return kept


tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.no_truncation()
VOCABULARY = tokenizer.get_vocab_size()


def teacher():
    from transformers import BertConfig, BertModel

    config = BertConfig(**json.loads((FOLDER / "config.json").read_text()))
    model = BertModel(config, add_pooling_layer=False)
    stored = dict(np.load(FOLDER / "minilm.npz"))
    state = {}
    for name, values in stored.items():
        if name.endswith(".scale"):
            continue
        values = values.astype(np.float32)
        if name + ".scale" in stored:
            values *= stored[name + ".scale"].astype(np.float32)[:, None]
        state[name] = torch.from_numpy(values)
    missing = model.load_state_dict(state, strict=False)
    say("teacher", missing)
    return model.to(DEVICE).eval().half()


@torch.no_grad()
def embed(model, texts, longest=256):
    encoded = [item.ids[:longest] for item in tokenizer.encode_batch(texts)]
    order = sorted(range(len(texts)), key=lambda at: len(encoded[at]))
    out = torch.empty(len(texts), 384, device=DEVICE, dtype=torch.float16)
    for begin in range(0, len(order), 1024):
        part = order[begin:begin + 1024]
        width = max(len(encoded[at]) for at in part)
        ids = torch.zeros(len(part), width, dtype=torch.long)
        for row, at in enumerate(part):
            ids[row, :len(encoded[at])] = torch.tensor(encoded[at])
        ids = ids.to(DEVICE)
        mask = (ids > 0).half()
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        out[torch.tensor(part, device=DEVICE)] = F.normalize(pooled.float(), dim=1).half()
    return out


def counted(texts, longest):
    """Different tokens of each text with the roots of their counts, as padded arrays; 0 is padding."""
    ids = np.zeros((len(texts), longest), dtype=np.int32)
    counts = np.zeros((len(texts), longest), dtype=np.float16)
    for row, item in enumerate(tokenizer.encode_batch(texts, add_special_tokens=False)):
        seen = {}
        for token in item.ids:
            seen[token] = seen.get(token, 0) + 1
        for at, (token, count) in enumerate(list(seen.items())[:longest]):
            ids[row, at], counts[row, at] = token, math.sqrt(count)
    return torch.from_numpy(ids).to(DEVICE), torch.from_numpy(counts).to(DEVICE)


class Pooled(torch.nn.Module):
    def __init__(self, table, weights):
        super().__init__()
        self.table = torch.nn.Parameter(table)
        self.asked = torch.nn.Parameter(weights.clone())
        self.told = torch.nn.Parameter(weights.clone())
        self.parts = torch.nn.Parameter(torch.tensor([0.0, 0.0]))
        self.scale = torch.nn.Parameter(torch.tensor(3.0))

    def vector(self, tokens, weights):
        ids, counts = tokens
        rows = F.embedding(ids.long(), self.table)
        amount = (F.embedding(ids.long(), weights[:, None]).squeeze(-1).exp() * counts.float() * (ids > 0))
        return F.normalize((rows * amount[..., None]).sum(1), dim=1)

    def scores(self, asked, short, whole):
        share = torch.sigmoid(self.parts[0])
        told = share * self.vector(short, self.told) + (1 - share) * self.vector(whole, self.told)
        return self.vector(asked, self.asked) @ told.T


class Late(torch.nn.Module):
    def __init__(self, table, weights):
        super().__init__()
        self.table = torch.nn.Parameter(table)
        self.asked = torch.nn.Parameter(weights.clone())
        self.told = torch.nn.Parameter(torch.zeros(len(table)))
        self.scale = torch.nn.Parameter(torch.tensor(3.0))

    def scores(self, asked, whole):
        ids, _ = asked
        told, _ = whole
        a = F.normalize(F.embedding(ids.long(), self.table), dim=-1).bfloat16()
        t = F.normalize(F.embedding(told.long(), self.table), dim=-1)
        gain = torch.sigmoid(F.embedding(told.long(), self.told[:, None]).squeeze(-1)) * 2 * (told > 0)
        t = (t * gain[..., None]).bfloat16()
        near = (a.reshape(-1, a.shape[-1]) @ t.reshape(-1, t.shape[-1]).T)
        near = near.reshape(len(ids), ids.shape[1], len(told), told.shape[1]).amax(-1).float()
        weight = F.embedding(ids.long(), self.asked[:, None]).squeeze(-1).exp() * (ids > 0)
        return torch.einsum("qtd,qt->qd", near, weight) / weight.sum(1, keepdim=True).clamp_min(1e-6)


def topics(vectors, count=512, rounds=12):
    centers = vectors[torch.randperm(len(vectors), device=DEVICE)[:count]].float()
    for _ in range(rounds):
        nearest = (vectors.float() @ centers.T).argmax(1)
        centers = F.normalize(torch.zeros_like(centers).index_add_(0, nearest, vectors.float()), dim=1)
    return (vectors.float() @ centers.T).argmax(1)


def main():
    rows = read()
    asked, of = [], []
    for at, row in enumerate(rows):
        for text in queries_of(row):
            asked.append(text)
            of.append(at)
    short = [f"{row['name'].replace('-', ' ').replace('_', ' ')} {row['description']}" for row in rows]
    whole = [f"{text} {row['body'][:BODY]}" for text, row in zip(short, rows)]
    say(len(rows), "documents", len(asked), "queries")
    model = teacher()
    t_asked = embed(model, asked, 64)
    t_short, t_whole = embed(model, short, 192), embed(model, whole, 256)
    say("taught")
    each = torch.zeros(VOCABULARY, 384, device=DEVICE)
    with torch.no_grad():
        for begin in range(0, VOCABULARY, 4096):
            ids = torch.arange(begin, min(VOCABULARY, begin + 4096), device=DEVICE)
            framed = torch.stack([torch.full_like(ids, 101), ids, torch.full_like(ids, 102)], 1)
            each[ids] = model(input_ids=framed).last_hidden_state.float().mean(1)
    each = each - each.mean(0)
    _, _, axes = torch.linalg.svd(each, full_matrices=False)
    of = torch.tensor(of, device=DEVICE)
    asked_tokens = counted(asked, QUERY)
    short_tokens, whole_tokens = counted(short, 96), counted(whole, LONGEST)
    have = torch.zeros(VOCABULARY, device=DEVICE)
    have.index_add_(0, whole_tokens[0].reshape(-1).long(), (whole_tokens[0].reshape(-1) > 0).float())
    rarity = torch.log(1e-3 / (1e-3 + have / len(rows)))
    weights = (rarity - rarity.max()) * 0.8
    weights[have == 0] = float(np.median(weights[have > 0].cpu()))
    np.savez(OUT / "have.npz", have=have.cpu().numpy())
    say("tokens")
    kind = [rows[at]["kind"] for at in of.tolist()]
    of_kind = {name: torch.tensor([at for at, k in enumerate(kind) if k == name], device=DEVICE) for name in SHARES}
    topic = topics(t_short)[of]
    by_topic = [torch.nonzero(topic == at).squeeze(1) for at in range(512)]

    def batch(size, mixed):
        if mixed:
            chosen = [v[torch.randint(len(v), (int(size * SHARES[k]),), device=DEVICE)] for k, v in of_kind.items()]
        else:
            some = random.sample(range(512), 24)
            chosen = [by_topic[at] for at in some if len(by_topic[at])]
            # A topic of dictionary senses alone teaches little.
            chosen = [v[torch.randint(len(v), (size // len(chosen),), device=DEVICE)] for v in chosen]
        return torch.cat(chosen)

    def pick(tokens, at):
        return tokens[0][at], tokens[1][at]

    def target(at):
        q, d = t_asked[at].float(), of[at]
        return q @ (0.6 * t_short[d].float() + 0.4 * t_whole[d].float()).T

    def train(student, steps, size, rate, score, contrast):
        best = torch.optim.Adam(student.parameters(), lr=rate)
        for step in range(steps):
            for group in best.param_groups:
                group["lr"] = rate * min(1, (step + 1) / 50) * (0.5 + 0.5 * math.cos(math.pi * step / steps))
            at = batch(size, step % 2 == 0)
            d = of[at]
            got = score(student, at, d) * student.scale.exp()
            wanted = target(at) * 20
            loss = F.kl_div(F.log_softmax(got, 1), F.log_softmax(wanted, 1), log_target=True, reduction="batchmean")
            if contrast:
                same = (d[:, None] == d[None, :]).float()
                hit = -torch.logsumexp(F.log_softmax(got, 1) + torch.log(same + 1e-9), 1)
                loss = 2 * loss + contrast * hit.mean()
            best.zero_grad(set_to_none=True)
            loss.backward()
            best.step()
            if step % 250 == 0 or step + 1 == steps:
                say("step", step, f"loss {loss.item():.4f}")

    pooled = Pooled((each @ axes[:256].T), weights.clone()).to(DEVICE)
    pooled.table.data /= pooled.table.data.norm(dim=1, keepdim=True).mean()
    train(pooled, SETTINGS["steps"], 4096, SETTINGS["rate"],
          lambda s, at, d: s.scores(pick(asked_tokens, at), pick(short_tokens, d), pick(whole_tokens, d)), 0)
    say("pooled, share of the description", torch.sigmoid(pooled.parts[0]).item())
    late = Late((each @ axes[:SETTINGS["late"]].T), weights.clone()).to(DEVICE)
    short_asked = (asked_tokens[0][:, :24], asked_tokens[1][:, :24])
    short_whole = (whole_tokens[0][:, :224], whole_tokens[1][:, :224])
    train(late, SETTINGS["late_steps"], 384, SETTINGS["late_rate"],
          lambda s, at, d: s.scores(pick(short_asked, at), pick(short_whole, d)), 0.2)
    with torch.no_grad():
        name, half = SETTINGS["name"], lambda values: values.half().cpu().numpy()
        np.savez_compressed(
            OUT / f"pooled-{name}.npz", table=half(pooled.table), asked=pooled.asked.cpu().numpy(),
            told=pooled.told.cpu().numpy(), share=torch.sigmoid(pooled.parts[0]).item(),
        )
        np.savez_compressed(
            OUT / f"late-{name}.npz", table=half(F.normalize(late.table, dim=1)), asked=late.asked.cpu().numpy(),
            told=late.told.cpu().numpy(),
        )
    say("done")


main()
