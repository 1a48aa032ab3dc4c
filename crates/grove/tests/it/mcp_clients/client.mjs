// Goes through the steps of `steps.json` with the official SDK for TypeScript.
//
// usage: node client.mjs SDK TRANSPORT STEPS PROGRAM [TOKEN]
//
// SDK is the folder of the package. TRANSPORT is `stdio`, for which PROGRAM is started, or `http`, for which PROGRAM is the
// address. Prints one line for each step; the last one is `done`.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { strict as assert } from "node:assert";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [sdk, transport, stepsFile, program, token] = process.argv.slice(2);
const load = (path) => import(join(sdk, "dist/esm", path));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { ResourceUpdatedNotificationSchema } = await load("types.js");

const LIMIT = 60_000;
const known = {};
const underWay = {};
const heard = [];
const steps = JSON.parse(readFileSync(stepsFile, "utf8"));

const filled = (value) => {
  if (typeof value === "string") return value.replace(/\$(\w+)/g, (whole, name) => known[name] ?? whole);
  if (Array.isArray(value)) return value.map(filled);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item)]));
  }
  return value;
};

const client = new Client({ name: "grove-test", version: "1" });
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (told) => {
  heard.push(told.params.uri);
});
await client.connect(
  transport === "stdio"
    ? new StdioClientTransport({ command: program, args: ["mcp"], env: process.env })
    : new StreamableHTTPClientTransport(new URL(program), {
        requestInit: { headers: { Authorization: `Bearer ${token}` } },
      }),
);

const call = (step, options) =>
  client.callTool({ name: "subagent", arguments: filled(step.call) }, undefined, { timeout: LIMIT, ...options });

const check = (step, text, isError) => {
  const about = `${JSON.stringify(step)}\n${text}`;
  assert(step.any || isError === (step.error ?? false), about);
  for (const expected of filled(step.expect ?? [])) assert(text.includes(expected), `${expected}: ${about}`);
  for (const absent of filled(step.lacks ?? [])) assert(!text.includes(absent), `${absent}: ${about}`);
  for (const [name, pattern] of Object.entries(step.save ?? {})) {
    const found = text.match(new RegExp(pattern));
    assert(found, about);
    known[name] = found[1];
  }
};

const within = async (what, holds) => {
  const end = Date.now() + LIMIT;
  while (!(await holds())) {
    assert(Date.now() < end, what);
    await sleep(20);
  }
};

const ask = async (step) => {
  const progress = [];
  const onprogress = (told) => progress.push(told);
  const result = await call(step, { onprogress });
  const text = result.content.map((part) => part.text).join("");
  check(step, text, result.isError ?? false);
  if (step.progress) {
    const numbers = progress.map((told) => told.progress);
    assert(numbers.length > 0 && numbers.every((number, at) => at === 0 || number > numbers[at - 1]), numbers.join());
    assert(progress.every((told) => told.message), JSON.stringify(progress));
  }
};

const take = async (step) => {
  if (step.subscribe) await client.subscribeResource({ uri: filled(step.subscribe) });
  else if (step.unsubscribe) await client.unsubscribeResource({ uri: filled(step.unsubscribe) });
  else if (step.updated) await within(step.updated, () => heard.includes(filled(step.updated)));
  else if (step.write) {
    const file = join(process.env.HOME, step.write);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, step.text);
  } else if (step.read) check(step, (await client.readResource({ uri: filled(step.read) })).contents[0].text, false);
  else if (step.start) {
    const abort = new AbortController();
    const progress = [];
    const onprogress = (told) => progress.push(told);
    const running = call(step, { signal: abort.signal, onprogress }).catch(() => undefined);
    underWay[step.start] = { abort, running, progress };
  } else if (step.heard) {
    const { progress } = underWay[step.heard];
    // Something has to happen that can be told of; what comes of it is another step's affair.
    await within(step.heard, async () => progress.length > 0 || (await call(step, {}), false));
  } else if (step.cancel) {
    const { abort, running } = underWay[step.cancel];
    abort.abort("the test wants no more");
    await running;
  } else if (step.only !== "goes-on") await ask(step);
};

for (const step of steps) {
  await take(step);
  console.log("ok", step.say ?? JSON.stringify(step));
}
await client.close();
console.log("done");
process.exit(0);
