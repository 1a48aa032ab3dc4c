// Times pi's own skill loader inside one Node process.
//
//   node pi-loader.mjs PACKAGE_DIR LIBRARY_DIR [RUNS]
//
// Without RUNS it loads once for every line on standard input and answers each with one line of
// JSON; the process stays alive, so later runs have compiled code, which is fair to pi.
// With RUNS it loads that often and exits.
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [packageDir, libraryDir, runs] = process.argv.slice(2);
const entry = pathToFileURL(join(packageDir, "dist/index.js"));
// Of pi's two exported loaders this is the cheaper one: it neither resolves links nor looks for
// names that collide.
const { loadSkillsFromDir } = await import(entry.href);

function load() {
  const start = performance.now();
  const { skills } = loadSkillsFromDir({ dir: libraryDir, source: "path" });
  const ms = performance.now() - start;
  return { ms, skills: skills.length };
}

if (runs === undefined) {
  console.log(JSON.stringify({ ready: process.version }));
  for await (const _ of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(load()));
  }
} else {
  for (let run = 0; run < Number(runs); run += 1) load();
}
process.exit(0);
