"""Runs many skills through the `skills-ref` library in one process.

Reads one JSON object a line, from the file named as its argument or else from standard input:
{"dir": path}, or {"name": folder name, "content": text} for a skill that is written to a
temporary folder first. Answers with one JSON object a line:

    validate    {"errors": [...]} or {"crash": text}
    properties  {"json": text}, {"error": text} or {"crash": text}
    prompt      {"text": text}, {"error": text} or {"crash": text}
    yaml_line   the line of a YAML error, counted from 1, or null
    versions    of Python (major and minor) and of the library

"crash" is an exception that the library does not turn into one of its own errors; the command
line program ends in a traceback there. Surrogates in texts are spelled out, as on standard error.
"""

import io
import json
import pathlib
import sys
import tempfile

import skills_ref
from skills_ref import parser, prompt, validator
from skills_ref.errors import ParseError, SkillError

# The command line program reaches the parser this much deeper in the stack than this script
# does, and the depth of nesting at which the library gives up depends on it.
STACK_DIFFERENCE = 2

VERSIONS = ["{}.{}".format(*sys.version_info), skills_ref.__version__]


def text(value):
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def crash(error):
    return {"crash": text(f"{type(error).__name__}: {error}")[:300]}


class ParseOnce:
    """Parses a content once for the three commands, and keeps how it ended."""

    def __init__(self, parse):
        self.parse = parse
        self.forget()

    def forget(self):
        self.content = self.result = self.error = None

    def __call__(self, content):
        if content != self.content:
            self.forget()
            self.content = content
            try:
                self.result = self.parse(content)
            except Exception as error:
                self.error = error
        if self.error is not None:
            raise self.error
        return self.result

    def yaml_line(self):
        cause = self.error.__context__ if isinstance(self.error, ParseError) else None
        for name in ("problem_mark", "context_mark"):
            mark = getattr(cause, name, None)
            if mark is not None:
                return mark.line + 1
        return None


def run(path, once):
    once.forget()
    answer = {}
    try:
        answer["validate"] = {"errors": [text(error) for error in validator.validate(path)]}
    except Exception as error:
        answer["validate"] = crash(error)
    answer["yaml_line"] = once.yaml_line()
    try:
        properties = parser.read_properties(path).to_dict()
        answer["properties"] = {"json": json.dumps(properties, indent=2)}
    except SkillError as error:
        answer["properties"] = {"error": text(error)}
    except Exception as error:
        answer["properties"] = crash(error)
    try:
        printed = prompt.to_prompt([path])
        printed.encode("utf-8")
        answer["prompt"] = {"text": printed}
    except SkillError as error:
        answer["prompt"] = {"error": text(error)}
    except Exception as error:
        answer["prompt"] = crash(error)
    return answer


def main():
    out = sys.stdout
    # The YAML library prints some of its warnings.
    sys.stdout = io.StringIO()
    sys.setrecursionlimit(sys.getrecursionlimit() - STACK_DIFFERENCE)
    once = ParseOnce(parser.parse_frontmatter)
    parser.parse_frontmatter = validator.parse_frontmatter = once
    cases = open(sys.argv[1], encoding="utf-8") if len(sys.argv) > 1 else sys.stdin
    with cases, tempfile.TemporaryDirectory() as root:
        for number, line in enumerate(cases):
            case = json.loads(line)
            if "dir" in case:
                path = pathlib.Path(case["dir"])
            else:
                path = pathlib.Path(root, str(number), case["name"])
                path.mkdir(parents=True)
                (path / "SKILL.md").write_bytes(case["content"].encode("utf-8"))
            answer = run(path, once)
            answer["versions"] = VERSIONS
            out.write(json.dumps(answer) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
