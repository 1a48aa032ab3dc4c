"""Runs everything a client can ask of `grove mcp` through the official SDK, and checks each answer.

usage: client.py TRANSPORT MODE SKILLS PROGRAM [ARG...]

TRANSPORT is `stdio`, for which PROGRAM is started, or `http`, for which PROGRAM is the address and ARG the token.
MODE is the SDK's: `legacy` begins with a handshake, `auto` takes the newest protocol. SKILLS is the folder of the
skills, one of which is changed to see the notification. Prints one line for each check; the last one is `done`.
"""

import asyncio
import base64
import hashlib
import pathlib
import sys

import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel, ConfigDict

LIMIT = 30


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


def check(what, condition, seen=None):
    if not condition:
        raise SystemExit(f"FAILED {what}: {seen!r}")
    print("ok", what, flush=True)


def text(result):
    return "".join(part.text for part in result.content)


async def custom(client, method, params=None):
    request = types.Request[dict[str, object], str](method=method, params=params or {})
    answer = await client.session.send_request(request, Anything)
    return answer.model_dump()


async def refused(awaitable):
    try:
        await awaitable
    except MCPError as error:
        return error.error
    return None


async def call(client, tool, /, **arguments):
    return await client.call_tool(tool, arguments)


async def tools(client, keeps_session):
    listed = (await client.list_tools()).tools
    check("three tools", sorted(tool.name for tool in listed) == ["skill", "skills", "subagent"], listed)

    catalog = text(await call(client, "skills"))
    check("the catalog has the top", "\n- office: " in catalog, catalog)
    check("people's skills are not in it", "deploy" not in catalog, catalog)
    digest = catalog.rsplit("catalog digest: ", 1)[1].strip()

    top = await call(client, "skill", name="office")
    check("a branch gives its children", not top.is_error and "sheets" in text(top), text(top))
    middle = text(await call(client, "skill", name="sheets"))
    check("a branch below gives its own", "pivot" in middle, middle)
    leaf = text(await call(client, "skill", name="pivot"))
    check("a leaf gives its instructions", "Pivot with care." in leaf, leaf)
    repeated = text(await call(client, "skill", name="pivot"))
    check("a session remembers", ("already active" in repeated) == keeps_session, repeated)
    again = text(await call(client, "skill", name="pivot", again=True))
    check("asked again it is given again", "Pivot with care." in again, again)
    given = text(await call(client, "skill", name="greet", arguments=["World"]))
    check("arguments are put in", "Say hello to World." in given, given)

    check("collapse", not (await call(client, "skill", name="office", action="collapse")).is_error)
    expanded = text(await call(client, "skill", name="office", action="expand"))
    check("expand", "sheets" in expanded, expanded)
    change = text(await call(client, "skills", since=digest))
    check("since gives what changed", "catalog digest: " in change and change != catalog, change)
    found = text(await call(client, "skill", query="greet somebody"))
    check("search", "<name>greet</name>" in found, found)
    found = text(await call(client, "skill", action="search", query="deploy"))
    check("search does not find people's skills", "<name>deploy</name>" not in found, found)

    wrong = await call(client, "skill", name="pivott")
    check("near names", wrong.is_error and "`pivot`" in text(wrong), text(wrong))
    for name in ["deploy", "/deploy", "//deploy"]:
        wrong = await call(client, "skill", name=name)
        check(f"{name} is not given", wrong.is_error and "To $where" not in text(wrong), text(wrong))
    wrong = await call(client, "skill", action="expand", name="pivot")
    check("a leaf has nothing below", wrong.is_error, text(wrong))
    check("nothing asked", (await call(client, "skill")).is_error)
    check("an unknown tool", await refused(call(client, "nothing")) is not None)

    steps = []

    async def progress(done, total, _message):
        steps.append((done, total))

    await client.call_tool("skills", {}, progress_callback=progress)
    check("progress comes", bool(steps) and steps == sorted(steps), steps)


async def resources(client, skills):
    listed, cursor = [], None
    while True:
        page = await client.list_resources(cursor=cursor, cache_mode="bypass")
        listed += page.resources
        cursor = page.next_cursor
        if cursor is None:
            break
    uris = {str(resource.uri): resource for resource in listed}
    own = uris.get("skill://office/SKILL.md")
    check("skills are resources", own is not None and own.mime_type == "text/markdown", sorted(uris))
    check("so are their files", "skill://greet/references/names.md" in uris, sorted(uris))
    check("people's skills are not", not any("deploy" in uri for uri in uris), sorted(uris))
    check("more than a page", len(uris) > 100, len(uris))
    templates = (await client.list_resource_templates()).resource_templates
    check("a template", templates[0].uri_template == "skill://{+skill}/{+file}", templates)

    read = (await client.read_resource("skill://greet/SKILL.md", cache_mode="bypass")).contents[0]
    expected = (skills / "greet/SKILL.md").read_bytes()
    check("a skill is given as it is", read.text.encode() == expected, read)
    blob = (await client.read_resource("skill://greet/assets/dot.png")).contents[0]
    check("binary is a blob", base64.b64decode(blob.blob) == b"\x89PNG\x00\xff" and blob.mime_type == "image/png", blob)
    for uri in [
        "skill://greet/../deploy/SKILL.md",
        "skill://greet/%2e%2e/%2e%2e/secret",
        "skill://greet/..%2F..%2Fsecret",
        "skill://greet/out",
        "skill://greet/.hidden",
        "skill://deploy/SKILL.md",
        "skill://nothing/SKILL.md",
        "file:///etc/passwd",
        "skill://greet/large.bin",
    ]:
        error = await refused(client.read_resource(uri))
        check(f"{uri} is refused", error is not None, error)
    error = await refused(client.list_resources(cursor="nonsense"))
    check("a wrong cursor", error is not None and error.code == -32602, error)
    return uris


async def extension(client, skills):
    settings = client.server_capabilities.extensions
    check("the extension is declared", "io.modelcontextprotocol/skills" in (settings or {}), settings)
    entries, cursor, left_out = {}, None, []
    while True:
        page = await custom(client, "skills/list", {"cursor": cursor} if cursor else {})
        check("a complete result", page["resultType"] == "complete" and "ttlMs" in page, page.keys())
        entries |= {entry["uri"]: entry for entry in page["skills"]}
        left_out += (page.get("_meta") or {}).get("grove/leftOut", [])
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    check("more than a page of skills", len(entries) > 50, len(entries))
    entry = entries["skill://greet/SKILL.md"]
    expected = {"name": "greet", "description": "Greets.", "arguments": ["who"], "metadata": {"version": 1.5}}
    check("frontmatter as it is", entry["frontmatter"] == expected, entry["frontmatter"])
    check("names are recoverable", all(uri.split("/")[-2] == e["frontmatter"]["name"] for uri, e in entries.items()))
    check("what is left out is named", [one["uri"] for one in left_out] == ["skill://big/SKILL.md"], left_out)
    for uri in ["skill://greet/SKILL.md", "skill://office/SKILL.md"]:
        for resource in entries[uri]["resources"]:
            content = (await client.read_resource(resource["uri"], cache_mode="bypass")).contents[0]
            data = content.text.encode() if hasattr(content, "text") else base64.b64decode(content.blob)
            digest = "sha256:" + hashlib.sha256(data).hexdigest()
            check(f"digest of {resource['uri']}", (digest, len(data)) == (resource["digest"], resource["size"]))
    nested = {resource["uri"] for resource in entries["skill://office/SKILL.md"]["resources"]}
    check("nested skills are listed too", "skill://office/skills/sheets/SKILL.md" in nested, nested)
    one = await custom(client, "skills/get", {"uri": "skill://greet/SKILL.md"})
    check("skills/get gives the same", one["skill"] == entry, one)
    error = await refused(custom(client, "skills/get", {"uri": "skill://deploy/SKILL.md"}))
    check("an unknown skill", error is not None and error.code == -32602, error)
    error = await refused(custom(client, "skills/nothing"))
    check("an unknown method", error is not None and error.code == -32601, error)


async def all_prompts(client):
    listed, cursor = [], None
    while True:
        page = await client.list_prompts(cursor=cursor, cache_mode="bypass")
        listed += page.prompts
        cursor = page.next_cursor
        if cursor is None:
            break
    names = [prompt.name for prompt in listed]
    check("prompts are listed once and in order", names == sorted(set(names)), names)
    return {prompt.name: prompt for prompt in listed}


async def agents(client, skills):
    named = await all_prompts(client)
    critic = named.get("agent:critic")
    check("agents are prompts", critic is not None and critic.description == "Finds faults.", sorted(named)[:9])
    arguments = [(argument.name, argument.required) for argument in critic.arguments]
    check("with a task if one likes", arguments == [("task", False)], arguments)
    unusable = [name for name in named if name in ("agent:broken", "agent:local")]
    check("what cannot be used is not offered", unusable == [], unusable)
    check("a skill of that name has another", named["skill:agent:critic"].description == "Odd.", sorted(named)[-9:])
    expected = (skills.parent.parent / "critic.txt").read_text()
    got = await client.get_prompt("agent:critic")
    told = [(message.role, message.content.text) for message in got.messages]
    check("exactly what `grove prompt` prints", told == [("user", expected)], told)
    warnings = [warning["code"] for warning in (got.meta or {}).get("grove/warnings", [])]
    check("with its warnings", warnings == ["preload-unknown"], got.meta)
    got = await client.get_prompt("agent:critic", {"task": "Read a.rs."})
    told = [message.content.text for message in got.messages]
    check("and then the task", told == [expected, "Read a.rs."], told)
    got = await client.get_prompt("skill:agent:critic")
    check("the skill is its own", "Odd indeed." in got.messages[0].content.text, got)
    for name in ["agent:broken", "agent:local", "agent:", "critic"]:
        check(f"no prompt {name}", await refused(client.get_prompt(name)) is not None)
    error = await refused(client.get_prompt("agent:critik"))
    check("near agents", error is not None and "agent:critic" in error.message, error)
    error = await refused(client.get_prompt("agent:critic", {"x": "y"}))
    check("an agent has one argument", error is not None and error.code == -32602, error)


async def chains(client):
    named = await all_prompts(client)
    workflows = [name for name in named if name.startswith("chain:")]
    check("chains are prompts", workflows == ["chain:parallel-review"], workflows)
    review = named["chain:parallel-review"]
    arguments = [(argument.name, argument.required) for argument in review.arguments]
    check("with a task", arguments == [("task", False)], arguments)
    got = await client.get_prompt(review.name, {"task": 'Review "a.rs".'})
    text = got.messages[0].content.text
    call = '{"chainName":"parallel-review","task":"Review \\"a.rs\\".","background":true}'
    check("a model is told how it is run", call in text and "`subagent`" in text, text)
    check("and who works", "delegate, then reviewer and reviewer and reviewer, then reviewer, then" in text, text)
    got = await client.get_prompt(review.name)
    check("without a task it is what was asked for last", "asked for last" in got.messages[0].content.text, got)
    error = await refused(client.get_prompt("chain:paralel-review"))
    check("near chains", error is not None and "chain:parallel-review" in error.message, error)
    error = await refused(client.get_prompt(review.name, {"x": "y"}))
    check("a chain has one argument", error is not None and error.code == -32602, error)


async def prompts(client):
    named = await all_prompts(client)
    check("people's skills are prompts", "deploy" in named and "quiet" not in named, sorted(named)[:9])
    arguments = [argument.name for argument in named["deploy"].arguments]
    check("with their arguments", arguments == ["where"], arguments)
    hint = named["note"].arguments[0]
    check("and hints", (hint.name, hint.description) == ("arguments", "[what to note]"), hint)
    got = await client.get_prompt("deploy", {"where": "the moon"})
    check("a prompt is the activation", "To the moon now." in got.messages[0].content.text, got)
    got = await client.get_prompt("note", {"arguments": "milk 'and eggs'"})
    check("words are taken apart", "First milk, second and eggs." in got.messages[0].content.text, got)
    check("an unknown prompt", await refused(client.get_prompt("quiet")) is not None)
    check("an unknown argument", await refused(client.get_prompt("deploy", {"x": "y"})) is not None)


async def changes(client, skills, heard):
    folder = skills / f"fresh-{client.protocol_version}"
    folder.mkdir()
    made = f"---\nname: {folder.name}\ndescription: New.\n---\nx\n"
    if client.protocol_version < "2026-07-28":
        (folder / "SKILL.md").write_text(made)
        wanted = {"notifications/resources/list_changed", "notifications/prompts/list_changed"}
        async with asyncio.timeout(LIMIT):
            while not wanted <= heard.seen:
                await heard.more.wait()
                heard.more.clear()
    else:
        async with client.listen(resources_list_changed=True, prompts_list_changed=True) as events:
            (folder / "SKILL.md").write_text(made)
            kinds = set()
            async with asyncio.timeout(LIMIT):
                async for event in events:
                    kinds.add(type(event).__name__)
                    if len(kinds) == 2:
                        break
            check("both lists", len(kinds) == 2, kinds)
    check("changes are told", True)
    read = await client.read_resource(f"skill://{folder.name}/SKILL.md", cache_mode="bypass")
    check("and can be read", read.contents[0].text == made, read)
    (folder / "SKILL.md").write_text("---\nname: [\n")
    read = await client.read_resource(f"skill://{folder.name}/SKILL.md", cache_mode="bypass")
    check("its last good version stays", read.contents[0].text == made, read)


async def agent_changes(client, skills, heard):
    fresh = f"fresh-{client.protocol_version}"
    file = skills.parent.parent / f".claude/agents/{fresh}.md"
    made = f"---\nname: {fresh}\ndescription: New.\n---\nFresh.\n"
    if client.protocol_version < "2026-07-28":
        heard.seen.clear()
        file.write_text(made)
        async with asyncio.timeout(LIMIT):
            while "notifications/prompts/list_changed" not in heard.seen:
                await heard.more.wait()
                heard.more.clear()
    else:
        async with client.listen(prompts_list_changed=True) as events:
            # Only somebody who has seen the agents can be told that they changed.
            await all_prompts(client)
            file.write_text(made)
            async with asyncio.timeout(LIMIT):
                async for _ in events:
                    break
    check("new agents are told", f"agent:{fresh}" in await all_prompts(client))
    got = await client.get_prompt(f"agent:{fresh}")
    check("and can be asked for", got.messages[0].content.text == "Fresh.\n", got)


class Heard:
    def __init__(self):
        self.seen, self.more = set(), asyncio.Event()

    async def __call__(self, message):
        method = getattr(message, "method", None) or getattr(getattr(message, "root", None), "method", "")
        self.seen.add(method)
        self.more.set()


async def talk(transport, mode, skills, keeps_session):
    heard = Heard()
    async with Client(transport, mode=mode, message_handler=heard, read_timeout_seconds=LIMIT) as client:
        print("version", client.protocol_version, flush=True)
        check("instructions", "`skills`" in (client.instructions or ""), client.instructions)
        check("the name", client.server_info.name == "grove", client.server_info)
        await tools(client, keeps_session)
        await resources(client, skills)
        await extension(client, skills)
        await prompts(client)
        await agents(client, skills)
        await chains(client)
        await agent_changes(client, skills, heard)
        await changes(client, skills, heard)
        many = await asyncio.gather(*(call(client, "skill", name="pivot", again=True) for _ in range(100)))
        check("a hundred at once", all("Pivot with care." in text(one) for one in many))


async def main():
    transport, mode, skills, program, *arguments = sys.argv[1:]
    skills = pathlib.Path(skills)
    if transport == "stdio":
        import os

        server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ))
        await talk(stdio_client(server), mode, skills, True)
    else:
        headers = {"Authorization": f"Bearer {arguments[0]}"}
        async with httpx2.AsyncClient(headers=headers, timeout=LIMIT, trust_env=False) as client:
            # The newest protocol has no sessions over HTTP: every request stands alone.
            await talk(streamable_http_client(program, http_client=client), mode, skills, mode == "legacy")
    print("done", flush=True)


asyncio.run(main())
