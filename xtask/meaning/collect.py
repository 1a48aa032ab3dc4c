"""Collects the texts that the table of meanings is trained on, from packages whose licence is clear.

    collect.py SOURCES.json WORK OUT.jsonl

SOURCES.json names each package with its registry, version, digest and licence; a file whose digest is another one is
refused. A document is written as one JSON line: its source, name, description and the beginning of its body.
"""
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

BODY = 1500


def fetch(source, work):
    """Returns the file of a package, fetched by its registry's ordinary client."""
    folder = work / "packages" / source["registry"]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / source["file"]
    if not path.exists():
        name, version = source["package"], source["version"]
        command = {
            "npm": ["npm", "pack", "--silent", f"{name}@{version}"],
            "pypi": ["pip", "download", "--quiet", "--no-deps", "--dest", ".", f"{name}=={version}"],
            "debian": ["apt-get", "download", f"{name}={version}"],
        }[source["registry"]]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != source["sha256"]:
        raise SystemExit(f"{path} has the digest {digest}, not the one in the list of sources")
    return path


def members(path):
    """Yields the name and text of each Markdown file of an archive, in the order of names."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".md"):
                    yield name, archive.read(name).decode("utf-8", "replace")
        return
    files = {}
    with tarfile.open(path) as archive:
        for item in archive:
            if item.isfile() and item.name.endswith(".md"):
                files[item.name] = archive.extractfile(item).read().decode("utf-8", "replace")
    yield from sorted(files.items())


def frontmatter(text):
    """Returns the name, the description, the licence and the body of a file with frontmatter; none without."""
    match = re.match(r"\ufeff?---\s*\n(.*?)\n---\s*\n(.*)", text, re.S)
    if not match:
        return None
    head, body = match.groups()
    fields, key = {}, None
    for line in head.split("\n"):
        found = re.match(r"([A-Za-z_-]+):\s*(.*)", line)
        if found:
            key = found.group(1).lower()
            value = found.group(2).strip()
            fields[key] = "" if value in ("|", ">", "|-", ">-", ">+", "|+") else value
        elif key and line.startswith((" ", "\t")):
            fields[key] = (fields[key] + " " + line.strip()).strip()
    clean = lambda text: re.sub(r"\s+", " ", text.strip().strip("'\"")).strip()
    fields = {key: clean(value) for key, value in fields.items()}
    return fields.get("name", ""), fields.get("description", ""), fields.get("license", ""), body


def skills(source, path):
    """Yields the documents of a package of skills, agents and commands."""
    for name, text in members(path):
        if re.search(r"/(docs/[a-z][a-z](-[A-Z]+)?|node_modules|test|tests|fixtures)/", name):
            continue
        parsed = frontmatter(text)
        if parsed is None:
            continue
        title, description, licence, body = parsed
        # An author's own words on rights go before those of the package.
        if re.search(r"proprietary|all rights|complete terms", licence, re.I) or len(description) < 26:
            continue
        folder = Path(name).parent.name if name.endswith("SKILL.md") else Path(name).stem
        yield title or folder, description, body


def debian_index(work):
    """Yields the packages of Debian's main section with their descriptions, in the order of names."""
    lists = work / "packages" / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    index = sorted(lists.glob("*_debian_dists_*_main_i18n_Translation-en*"), key=lambda path: -path.stat().st_size)
    if not index:
        options = [f"Dir::State::lists={lists}", "Acquire::Languages=en", "APT::Sandbox::User=root"]
        options = [word for option in options for word in ("-o", option)]
        subprocess.run(["apt-get", "update", *options], check=True, stdout=subprocess.DEVNULL)
        index = sorted(lists.glob("*_debian_dists_*_main_i18n_Translation-en*"), key=lambda path: -path.stat().st_size)
    text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", index[0]], check=True, capture_output=True).stdout
    seen = {}
    for block in text.decode("utf-8", "replace").split("\n\n"):
        name = re.search(r"^Package: (.*)$", block, re.M)
        found = re.search(r"^Description-en: (.*)\n((?: .*\n?)*)", block + "\n", re.M)
        if not (name and found):
            continue
        if re.search(r"(-dbg|-dev|-doc|-data|-common|-l10n|-prof|-locale-.*|-dbgsym|^lib.*\d)$", name.group(1)):
            continue
        long = re.sub(r"\s+", " ", re.sub(r"^ \.$", "", found.group(2), flags=re.M)).strip()
        seen.setdefault(name.group(1), (found.group(1), long))
    for name in sorted(seen):
        short, long = seen[name]
        if len(long) > 60:
            yield name, short, long


def wordnet(path):
    """Yields the senses of the lexical database: its words, their meaning, an example."""
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(path)], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for part in ("noun", "verb", "adj", "adv"):
            file = archive.extractfile(f"./usr/share/wordnet/data.{part}")
            for line in file.read().decode("utf-8", "replace").splitlines():
                if line.startswith(" ") or "|" not in line:
                    continue
                fields, gloss = line.split("|", 1)
                fields = fields.split()
                words = [fields[4 + 2 * at].replace("_", " ") for at in range(int(fields[3], 16))]
                # Names of people, places and species are not what a skill is about.
                if any(word[:1].isupper() for word in words):
                    continue
                yield ", ".join(words), gloss.strip(), ""


def foldoc(path):
    """Yields the entries of the dictionary of computing."""
    import gzip

    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(path)], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        names = [item.name for item in archive.getmembers() if item.name.endswith(".dict.dz")]
        text = gzip.decompress(archive.extractfile(names[0]).read()).decode("utf-8", "replace")
    for entry in re.split(r"\n(?=\S)", text):
        lines = entry.split("\n")
        body = re.sub(r"[{}]", "", re.sub(r"\s+", " ", " ".join(lines[1:]))).strip()
        if len(body) > 80 and len(lines[0]) < 60:
            yield lines[0].strip(), re.split(r"(?<=[.])\s", body, 1)[0], body


def main():
    listed, work, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]), Path(sys.argv[3])
    # Skills that the figures are measured on, by name, are in no training text.
    held_out = set(listed["held_out_names"])
    seen, written = set(), {}
    with out.open("w") as file:
        for source in listed["sources"]:
            kind = source["kind"]
            path = None if kind == "debian-index" else fetch(source, work)
            documents = {
                "skills": lambda: skills(source, path),
                "debian-index": lambda: debian_index(work),
                "wordnet": lambda: wordnet(path),
                "foldoc": lambda: foldoc(path),
            }[kind]()
            count = 0
            for name, description, body in documents:
                key = re.sub(r"\W+", "", description.lower())[:200]
                if key in seen or (kind == "skills" and name.lower() in held_out):
                    continue
                seen.add(key)
                count += 1
                row = {"source": source["package"], "kind": kind, "name": name, "description": description[:1024]}
                row["body"] = body[:BODY * 4]
                file.write(json.dumps(row) + "\n")
            written[source["package"]] = count
    for package, count in written.items():
        print(f"{count:7} {package}")


main()
