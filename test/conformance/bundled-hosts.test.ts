/** The package in hosts that bundle it: Next.js with Turbopack, and Cloudflare Workers. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { PUBLISHED, builtPackage } from "../published-package.ts";

const run = promisify(execFile);
const shell = process.platform === "win32";
const PACKAGES = ["miniflare@4", "next@16", "react@19", "react-dom@19"];
/** What needs no other package to be loaded. */
const ENTRIES = ["", "/files", "/generate", "/loop", "/program", "/rest", "/shell", "/sqlite", "/toolsets"];

const ROUTE = `${ENTRIES.map((entry, index) => `import * as part${index} from "haft${entry}";`).join("\n")}
export const dynamic = "force-dynamic";
const parts = [${ENTRIES.map((_, index) => `part${index}`).join(", ")}];
export async function GET() {
  return Response.json(parts.map((part) => Object.keys(part).length > 0));
}
`;

/** At the top of a module of a worker nothing may be random, and no timer may be set. */
const WORKER = `import { createLoop, createRuntime, defineTool, readOnly } from "haft";
import { modelFrom, scriptedModel } from "haft/model";
import { memoryStore } from "haft/store";
const add = defineTool({
  name: "add",
  description: "Adds.",
  inputSchema: { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] },
  effects: readOnly("numbers"),
  execute: async ({ a, b }) => (await new Promise((resolve) => setTimeout(resolve, 1)), a + b),
});
const runtime = createRuntime({ tools: [add] });
let requests = 0;
export default {
  async fetch() {
    const results = await runtime.execute([{ name: "add", input: { a: "1", b: 2 } }, { name: "add", input: { a: 3, b: 4 } }]);
    const stored = createRuntime({ tools: [add], store: memoryStore() });
    const session = await stored.resume("s" + requests++, { create: true });
    const model = scriptedModel([{ calls: [{ name: "add", input: { a: 5, b: 6 } }] }, { text: "done" }]);
    const { text } = await createLoop({ session, model }).run("Add.");
    const outputs = [...results, ...session.history.map(({ result }) => result)].map((result) => result.output ?? result.error);
    await stored.close();
    return Response.json({ outputs, text, isFound: typeof modelFrom });
  },
};
`;

const RUN_WORKER = `import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";
const script = readFileSync("worker.mjs", "utf8");
const worker = new Miniflare({ modules: true, script, compatibilityDate: "2026-06-01", compatibilityFlags: ["nodejs_compat"] });
for (const time of ["first", "second"]) console.log(time, await (await worker.dispatchFetch("http://localhost/")).text());
await worker.dispose();
`;

let folder = "";
/** Why the hosts could not be installed. */
let failure: string | undefined;

beforeAll(async () => {
  if (!inCI) return;
  folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-hosts-")));
  write("package.json", '{ "private": true, "type": "module" }');
  try {
    await run("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], { cwd: folder, shell });
  } catch (error: unknown) {
    failure = `the hosts could not be installed: ${error instanceof Error ? error.message.slice(0, 500) : String(error)}`;
    return;
  }
  await builtPackage();
  cpSync(PUBLISHED, join(folder, "node_modules/haft"), { recursive: true });
}, 400_000);

afterAll(() => {
  if (folder !== "") rmSync(folder, { recursive: true, force: true });
});

test.skipIf(!inCI)(`Turbopack of Next.js builds a route that imports haft ${IN_CI}`, { timeout: 240_000 }, async (context) => {
  if (failure !== undefined) context.skip(failure);
  write("app/layout.js", "export default function Layout({ children }) { return children; }\n");
  write("app/route/route.js", ROUTE);
  write("next.config.mjs", "export default { turbopack: { root: import.meta.dirname } };\n");
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" } as const;
  const next = join(folder, "node_modules/next/dist/bin/next");
  const { stdout } = await run(process.execPath, [next, "build"], { cwd: folder, env });
  expect(stdout).toContain("/route");
  const built = join(folder, ".next/server/app/route/route.js");
  expect(readFileSync(built, "utf8")).not.toBe("");
});

test.skipIf(!inCI)(`a Cloudflare Worker makes calls and runs a loop ${IN_CI}`, { timeout: 120_000 }, async (context) => {
  if (failure !== undefined) context.skip(failure);
  write("entry.mjs", WORKER);
  write("run.mjs", RUN_WORKER);
  const built = await rolldown({ cwd: folder, input: "./entry.mjs", platform: "node" });
  await built.write({ file: join(folder, "worker.mjs"), format: "esm", codeSplitting: false });
  await built.close();
  const { stdout } = await run(process.execPath, ["run.mjs"], { cwd: folder });
  const answer = '{"outputs":[3,7,11],"text":"done","isFound":"function"}';
  expect(stdout.trim().split("\n")).toEqual([`first ${answer}`, `second ${answer}`]);
});

function write(name: string, text: string): void {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
