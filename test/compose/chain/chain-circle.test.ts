import { expect, onTestFinished, test } from "vitest";
import { createRuntime, defineTool, type Tool } from "haft";
import { createChain } from "haft/chain";

function chain(name: string, ...tools: readonly string[]): Tool {
  return createChain(tools.map((tool) => ({ tool }))).toTool({ name, description: name });
}

function shop(...chains: readonly Tool[]): { readonly tools: readonly Tool[]; readonly orders: () => number } {
  let orders = 0;
  const order = defineTool({
    name: "order",
    description: "Orders a book.",
    inputSchema: { type: "object" },
    effects: { writes: ["orders"] },
    execute: () => ({ orders: ++orders }),
  });
  return { tools: [order, ...chains], orders: () => orders };
}

test("F2.25 a chain that calls itself, directly or through others, is reported, and its call runs no step", async () => {
  const { tools, orders } = shop(chain("again", "order", "again"), chain("ping", "order", "pong"), chain("pong", "ping"));
  const runtime = createRuntime({ tools: [...tools] });
  onTestFinished(async () => void (await runtime.close()));
  const outer = createChain([{ tool: "order" }, { tool: "again" }, { tool: "ping" }]);
  const problems = [
    "Step 1 of the chain (again): it cannot succeed, because a chain calls itself: default::again → default::again.",
    "Step 2 of the chain (ping): it cannot succeed, because a chain calls itself: default::ping → default::pong → default::ping.",
  ];
  expect(outer.validate(runtime)).toMatchObject({ valid: false, problems: problems.map((message) => ({ message })) });
  expect(outer.validate(tools)).toMatchObject({ valid: false, problems: [{ step: 1 }, { step: 2 }] });
  expect(await outer.run(runtime)).toMatchObject({ success: false, stepResults: [], errors: problems });
  const session = runtime.session();
  for (const name of ["again", "ping", "pong"])
    expect(await session.execute({ name, input: {} })).toMatchObject({
      status: "error",
      error: { code: "invalid_input", outcome: "not_started", message: expect.stringContaining("a chain calls itself") },
    });
  expect(orders()).toBe(0);
});

test("a chain that calls the same chain twice, or shares steps with another, is valid", () => {
  const { tools } = shop(chain("leaf", "order"), chain("left", "leaf", "leaf"), chain("right", "left", "leaf"));
  expect(createChain([{ tool: "left" }, { tool: "right" }, { tool: "left" }]).validate(tools)).toEqual({ valid: true });
});

test("ten thousand chains that call each other in a row are checked, and a long circle is shortened", () => {
  const row = Array.from({ length: 10_000 }, (_, index) => chain(`c${index}`, `c${index + 1}`));
  const valid = shop(...row, chain("c10000", "order"));
  expect(createChain([{ tool: "c0" }]).validate(valid.tools)).toEqual({ valid: true });
  const circle = shop(...row, chain("c10000", "c0"));
  expect(createChain([{ tool: "c0" }]).validate(circle.tools)).toMatchObject({
    problems: [{ message: expect.stringMatching(/: c0 → c1 → c2 → c3 → c4 → c5 → c6 → c7 → … → c0\.$/u) }],
  });
});
