/** Issue 20.5: the calls that can be made again, and where a branch begins. */
import { createRuntime, defineTool, pure } from "haft";
import { expect, test } from "vitest";
import { collectSteps, type PositionedEvent } from "../../src/dashboard/replay/steps.ts";

test("issue 20.5 calls of one batch are one group, and a branch can begin at every group", async () => {
  const echo = defineTool({
    name: "echo",
    description: "Echoes.",
    inputSchema: { type: "object" },
    effects: pure,
    execute: (input) => input,
  });
  const outer = defineTool({
    name: "outer",
    description: "Calls echo.",
    inputSchema: { type: "object" },
    composite: true,
    execute: (_input, context) => context.execute({ name: "echo", input: { inner: true } }).then(() => null),
  });
  const session = createRuntime({ tools: [echo, outer] }).session();
  await session.execute([
    { name: "echo", input: { a: 1 } },
    { name: "echo", input: { a: 2 } },
  ]);
  await session.execute([{ name: "outer", input: {} }], { idempotencyKey: "one" });
  await session.execute([{ name: "echo", input: { a: 3 } }]);
  const placed: PositionedEvent[] = [];
  for await (const event of session.events()) placed.push({ position: placed.length + 1, event });
  const steps = collectSteps(placed);
  expect(steps.map(({ name, input, group }) => [name, input, group])).toEqual([
    ["default::echo", { a: 1 }, 1],
    ["default::echo", { a: 2 }, 1],
    ["default::outer", {}, 2],
    ["default::echo", { a: 3 }, 3],
  ]);
  for (const { at } of steps) await (await session.forkAt(at)).discard();
  expect(steps.every(({ result }) => result?.status === "ok")).toBe(true);
});
