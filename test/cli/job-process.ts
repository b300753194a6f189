/** A process that runs one background job, which writes a line every 50 ms: `node job-process.ts <store>`. It says the job's id. */
import { createRuntime } from "../../src/index.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";

const tick = {
  name: "tick",
  description: "Ticks.",
  inputSchema: { type: "object" },
  effects: { reads: [], writes: [] },
  execute: (_input: unknown, { output }: { output(text: string): void }) => {
    let ticks = 0;
    setInterval(() => output(`tick ${++ticks}\n`), 50);
    return new Promise(() => {});
  },
} as const;
const runtime = createRuntime({ tools: [tick], store: sqliteStore({ path: process.argv[2] ?? "" }) });
const { id } = await runtime.session("work").submit({ name: "tick", input: {} });
process.stdout.write(`${id}\n`);
