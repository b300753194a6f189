/**
 * Counts what a call passes on its way: files of `src/`, functions, and calls of functions, by V8's precise coverage.
 *
 * `node --conditions=haft-source scripts/call-trip.ts [--files]`; with `--files` it names the files of each trip and how often each is
 * entered. Each trip is made three times and the third is counted, so that what is only made once does not count.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { Session as Inspector } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLoop, createRuntime, defineTool } from "haft";
import { modelFrom } from "haft/model";
import { sqliteStore } from "haft/sqlite";

const SRC = new URL("../src/", import.meta.url).href;

const read = defineTool({
  name: "read",
  description: "Reads.",
  inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  effects: { reads: [] },
  execute: ({ id }) => ({ id, title: "A title" }),
});
const write = defineTool({
  name: "write",
  description: "Writes.",
  inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  effects: { writes: (input) => [`item:${input.id}`] },
  execute: async ({ id }) => await Promise.resolve({ id, written: true }),
});
const TOOLSETS = [{ name: "shop", tools: [read, write] }];
const READ = { name: "shop::read", input: { id: "a" } } as const;
const WRITE = { name: "shop::write", input: { id: "a" } } as const;

interface Trip {
  readonly name: string;
  readonly make: () => Promise<unknown>;
}

const folder = mkdtempSync(join(tmpdir(), "haft-trip-"));
const runtime = createRuntime({ toolsets: TOOLSETS });
const stored = createRuntime({ toolsets: TOOLSETS, store: sqliteStore({ path: join(folder, "sessions.db") }) });
const session = runtime.session("trip");
const kept = stored.session("trip");

const trips: readonly Trip[] = [
  { name: "runtime.execute(read)", make: () => runtime.execute(READ) },
  { name: "runtime.execute(write), async", make: () => runtime.execute(WRITE) },
  { name: "session.execute(read)", make: () => session.execute(READ) },
  { name: "session.execute([read, read])", make: () => session.execute([READ, READ]) },
  { name: "stored session.execute(read), SQLite", make: () => kept.execute(READ) },
  {
    name: "loop over Anthropic's stream, 2 requests",
    make: () => createLoop({ model: anthropic(), session: runtime.session() }).run("go"),
  },
];

/** A model whose provider answers with one call, then with a text. */
function anthropic(): ReturnType<typeof modelFrom> {
  let asked = 0;
  const events = (): readonly object[] => (asked++ === 0 ? message("tool_use", CALL) : message("end_turn", TEXT));
  const fetch = (): Promise<Response> => {
    const lines = events().map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`);
    return Promise.resolve(new Response(lines.join(""), { headers: { "content-type": "text/event-stream" } }));
  };
  return modelFrom("anthropic/claude-sonnet-5", { environment: { ANTHROPIC_API_KEY: "none" }, fetch });
}

const CALL = [
  { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "toolu_1", name: "shop__read", input: {} } },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"id":"a"}' } },
];
const TEXT = [
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Done." } },
];

function message(stop_reason: string, block: readonly object[]): readonly object[] {
  const usage = { input_tokens: 10, output_tokens: 5 };
  return [
    { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage } },
    ...block,
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason }, usage },
    { type: "message_stop" },
  ];
}

interface Passed {
  readonly files: ReadonlyMap<string, number>;
  readonly functions: number;
  readonly calls: number;
}

/** What was entered since it was last asked for. */
async function passed(inspector: Inspector): Promise<Passed> {
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  const files = new Map<string, number>();
  let functions = 0;
  let calls = 0;
  for (const script of result) {
    if (!script.url.startsWith(SRC)) continue;
    for (const { functionName, ranges } of script.functions) {
      const count = ranges[0]?.count ?? 0;
      if (count === 0 || (functionName === "" && ranges[0]?.startOffset === 0)) continue;
      functions++;
      calls += count;
      const file = script.url.slice(SRC.length);
      files.set(file, (files.get(file) ?? 0) + count);
    }
  }
  return { files, functions, calls };
}

const inspector = new Inspector();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const unknown = process.argv.slice(2).find((argument) => argument !== "--files");
if (unknown !== undefined) {
  console.error(`No argument ${JSON.stringify(unknown)}. There is --files, which names the files of each trip.`);
  process.exit(2);
}
const namesFiles = process.argv.includes("--files");
console.log(`${"trip".padEnd(42)}  files  functions  calls`);
try {
  for (const { name, make } of trips) {
    await make();
    await make();
    await passed(inspector);
    await make();
    const { files, functions, calls } = await passed(inspector);
    console.log(`${name.padEnd(42)}  ${String(files.size).padStart(5)}  ${String(functions).padStart(9)}  ${String(calls).padStart(5)}`);
    if (!namesFiles) continue;
    for (const [file, count] of [...files].sort(([, a], [, b]) => b - a)) console.log(`  ${String(count).padStart(4)}  ${file}`);
  }
} finally {
  await inspector.post("Profiler.stopPreciseCoverage");
  inspector.disconnect();
  await stored.close();
  await runtime.close();
  rmSync(folder, { recursive: true, force: true });
}
