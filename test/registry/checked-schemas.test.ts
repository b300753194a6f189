/** The memory of tools that were checked and never called. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { JsonSchema, Tool } from "../../src/core/tool.ts";
import { onNextTurn } from "../../src/core/system/lazy-timer.ts";
import { Registry } from "../../src/registry/registry.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Like an OpenAPI document: all tools share the definitions. */
function toolsWithDefinitions(count: number): readonly Tool[] {
  const fields = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`field_${at}`, { type: "string", minLength: at }]));
  const $defs = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`Thing${at}`, { type: "object", properties: fields }]));
  const inputSchema: JsonSchema = {
    type: "object",
    properties: { thing: { $ref: "#/$defs/Thing1" }, size: { type: "integer", default: "x" } },
    $defs,
  };
  return Array.from({ length: count }, (_, at) => ({ name: `get_${at}`, description: "Gets a thing.", inputSchema }));
}

const nextTurn = async (): Promise<void> => await new Promise<void>((resolve) => onNextTurn(resolve));

test("L22 F0.6 checking tools keeps no compiled schemas, and they can be called and checked afterwards as before", async () => {
  const registry = new Registry();
  registry.addToolset({ name: "big" }, toolsWithDefinitions(400));
  await nextTurn();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (const tool of registry) {
    expect([tool.quarantine, tool.warnings.length]).toEqual([undefined, 1]);
    await nextTurn();
  }
  await nextTurn();
  collectGarbage();
  const keptMb = (process.memoryUsage().heapUsed - before) / 1_000_000;
  const tool = registry.require("big::get_7");

  expect(keptMb).toBeLessThan(10);
  expect(tool.inputValidator.check({ thing: { field_3: "no" } })).toBe(false);
  expect(tool.inputValidator).toBe(tool.inputValidator);
  expect(tool.warnings).toEqual([expect.stringContaining("size")]);
});
