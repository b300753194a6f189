/** Sessions that a file keeps: what waits for the file changes neither what calls see of one another nor when a session can begin. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { ToolContext } from "../../../src/core/context.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";

const folder = mkdtempSync(join(tmpdir(), "haft-batch-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const put: Tool = {
  name: "put",
  description: "Notes a value.",
  inputSchema: { type: "object", properties: { value: { type: "integer" } }, required: ["value"] },
  effects: { writes: ["session:value"] },
  execute: ({ value }: { readonly value: number }, { state }: ToolContext) => {
    state.update("value", () => value);
    return null;
  },
};
const get: Tool = {
  name: "get",
  description: "Reads the value.",
  inputSchema: { type: "object" },
  effects: { reads: ["session:value"], writes: [] },
  execute: (_input: never, { state }: ToolContext) => state.get("value") ?? null,
};

test("F0.33 a read after a write in its batch sees the write, even if the write waits for a durable intent", async () => {
  const store = sqliteStore({ path: join(folder, "order.db") });
  await store.open();
  await using runtime = createRuntime({ store, tools: [put, get] });
  const session = runtime.session("order");
  const calls = [{ name: "put", input: { value: 1 } }, { name: "get" }, { name: "put", input: { value: 2 } }, { name: "get" }];
  const results = await session.execute(calls);
  expect(results.map((result) => result.output)).toEqual([null, 1, null, 2]);
});

test("F0.26 a session can be created before its store is open, and its calls wait for that", async () => {
  await using runtime = createRuntime({ store: sqliteStore({ path: join(folder, "unopened.db") }), tools: [put, get] });
  const session = runtime.session("early");
  const results = await session.execute([{ name: "put", input: { value: 1 } }]);
  expect(results.map((result) => result.status)).toEqual(["ok"]);
});
