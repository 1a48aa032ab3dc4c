"""Goes through the steps of `steps.json` with the official SDK for Python.

usage: client.py TRANSPORT MODE STEPS PROGRAM [TOKEN]

TRANSPORT is `stdio`, for which PROGRAM is started, or `http`, for which PROGRAM is the address. MODE is the SDK's: `legacy`
begins with a handshake, `auto` takes the newest protocol. Prints one line for each step; the last one is `done`.
"""

import asyncio
import json
import os
import pathlib
import re
import sys

import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

LIMIT = 60


class Steps:
    def __init__(self, client, legacy, stops):
        self.client, self.legacy, self.stops = client, legacy, stops
        self.known, self.under_way, self.heard, self.listening = {}, {}, [], {}

    def filled(self, value):
        if isinstance(value, str):
            return re.sub(r"\$(\w+)", lambda found: self.known.get(found[1], found[0]), value)
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        if isinstance(value, dict):
            return {key: self.filled(item) for key, item in value.items()}
        return value

    async def call(self, arguments, progress=None):
        async def told(done, _total, message):
            if progress is not None:
                progress.append((done, message))

        return await self.client.call_tool("subagent", self.filled(arguments), LIMIT, told)

    async def listen(self, uri, ready):
        async with self.client.listen(resource_subscriptions=[uri]) as events:
            ready.set()
            async for _ in events:
                self.heard.append(uri)

    async def take(self, step):
        if "subscribe" in step:
            uri = self.filled(step["subscribe"])
            if self.legacy:
                await self.client.subscribe_resource(uri)
            else:
                ready = asyncio.Event()
                self.listening[uri] = asyncio.create_task(self.listen(uri, ready))
                await asyncio.wait_for(ready.wait(), LIMIT)
        elif "unsubscribe" in step:
            uri = self.filled(step["unsubscribe"])
            if self.legacy:
                await self.client.unsubscribe_resource(uri)
            else:
                self.listening.pop(uri).cancel()
        elif "updated" in step:
            uri = self.filled(step["updated"])
            async with asyncio.timeout(LIMIT):
                while uri not in self.heard:
                    await asyncio.sleep(0.02)
        elif "write" in step:
            file = pathlib.Path(os.environ["HOME"], step["write"])
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step["text"])
        elif "read" in step:
            read = await self.client.read_resource(self.filled(step["read"]))
            self.check(step, read.contents[0].text, False)
        elif "start" in step:
            progress = []
            task = asyncio.create_task(self.call(step["call"], progress))
            self.under_way[step["start"]] = (task, progress)
        elif "heard" in step:
            _, progress = self.under_way[step["heard"]]
            async with asyncio.timeout(LIMIT):
                while not progress:
                    # Something has to happen that can be told of; what comes of it is another step's affair.
                    await self.call(step["call"])
        elif "cancel" in step:
            task, _ = self.under_way.pop(step["cancel"])
            task.cancel()
            try:
                await task
            except (asyncio.CancelledError, MCPError):
                pass
        elif step.get("only") in (None, "stops" if self.stops else "goes-on"):
            await self.ask(step)
        print("ok", step.get("say") or step, flush=True)

    async def ask(self, step):
        progress = []
        async with asyncio.timeout(LIMIT):
            result = await self.call(step["call"], progress)
        text = "".join(part.text for part in result.content)
        self.check(step, text, bool(result.is_error))
        if step.get("progress"):
            numbers = [done for done, _ in progress]
            assert numbers and numbers == sorted(numbers), (step, progress)
            assert all(message for _, message in progress), (step, progress)

    def check(self, step, text, is_error):
        assert step.get("any") or is_error == step.get("error", False), (step, text)
        for expected in self.filled(step.get("expect", [])):
            assert expected in text, (step, expected, text)
        for absent in self.filled(step.get("lacks", [])):
            assert absent not in text, (step, absent, text)
        for name, pattern in step.get("save", {}).items():
            found = re.search(pattern, text)
            assert found, (step, pattern, text)
            self.known[name] = found[1]

    async def hear(self, message):
        inner = getattr(message, "root", message)
        if getattr(inner, "method", "") == "notifications/resources/updated":
            self.heard.append(str(inner.params.uri))


async def talk(transport, mode, steps, stops):
    heard = None

    async def hear(message):
        if heard is not None:
            await heard.hear(message)

    async with Client(transport, mode=mode, message_handler=hear, read_timeout_seconds=LIMIT) as client:
        heard = Steps(client, mode == "legacy", stops)
        for step in steps:
            await heard.take(step)


async def main():
    transport, mode, steps, program, *token = sys.argv[1:]
    steps = json.loads(pathlib.Path(steps).read_text())
    if transport == "stdio":
        server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ))
        await talk(stdio_client(server), mode, steps, True)
    else:
        headers = {"Authorization": f"Bearer {token[0]}"}
        async with httpx2.AsyncClient(headers=headers, timeout=LIMIT, trust_env=False) as client:
            await talk(streamable_http_client(program, http_client=client), mode, steps, mode == "legacy")
    print("done", flush=True)


asyncio.run(main())
