/** A program that is bundled: `node bundle.js <store>` begins a session or goes on with it, and prints its results. */
import { createRuntime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";

async function main(path: string): Promise<void> {
  const count = {
    name: "count",
    description: "Counts.",
    inputSchema: { type: "object", properties: { by: { type: "string", pattern: "^(\\d+)+$" } } }, // for which a package is loaded
    effects: { writes: ["session:n"] },
    execute: (_input: unknown, { state }: { readonly state: import("../../src/core/context.ts").ToolState }) => {
      state.update("n", (before) => Number(before ?? 0) + 1);
      return state.get("n");
    },
  };
  const runtime = createRuntime({ tools: [count], store: sqliteStore({ path }) });
  const session = await runtime.resume("s", { create: true });
  const results = await session.execute([{ name: "count" }, { name: "count", input: { by: "1" } }]);
  console.log(JSON.stringify(results.map(({ output }) => output)));
  await runtime.close();
}

void main(process.argv[2] ?? "");
