// The evaluator of pi-subagents on the same children: node gates_peer.mjs MODULE < cases > verdicts, a JSON line each.
import { readFileSync } from "node:fs";

const { resolveEffectiveAcceptance, evaluateAcceptance } = await import(process.argv[2]);
for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const { name, acceptance, output, cwd } = JSON.parse(line);
  const explicit = typeof acceptance === "object" ? structuredClone(acceptance) : acceptance;
  // Its commands are objects with a name and a line.
  if (explicit?.verify) {
    explicit.verify = explicit.verify.map((it, at) =>
      typeof it === "string"
        ? { id: `verify-${at + 1}`, command: it, timeoutMs: 1000 }
        : { ...it, command: it.command ?? it.argv.join(" ") });
  }
  const began = Date.now();
  let status;
  try {
    const resolved = resolveEffectiveAcceptance({ explicit, agentName: "worker", task: "Put the answer in place." });
    const ledger = await evaluateAcceptance({ acceptance: resolved, output, cwd });
    // Only what was asked for in particular can be refused.
    status = ledger.status === "rejected" && !resolved.explicit ? "claimed" : ledger.status;
  } catch (error) {
    status = `error: ${error.message}`;
  }
  console.log(JSON.stringify({ name, status, ms: Date.now() - began }));
}
process.exit(0);
