/** Engines around other engines hand over the question for work that goes on elsewhere, and promise it only where the inner one does. */
import { expect, test } from "vitest";
import type { Engine } from "../../src/core/engine.ts";
import { knownTools } from "../../src/engine/known-tools.ts";
import { perSession } from "../../src/engine/per-session.ts";
import { engineContext, request, toolContext } from "./engine-contexts.ts";

const TOOL = { name: "echo", description: "", inputSchema: { type: "object" } } as const;

function inner(attaches: boolean): Engine {
  return {
    kind: "far",
    open: async () => [TOOL],
    call: () => "called",
    ...(attaches ? { attach: (id, { tool }, { sessionId }) => `${tool.name} ${id} ${sessionId}` } : {}),
  };
}

const memory = { read: async () => undefined, write: async () => {} };
const AROUND: readonly (readonly [string, (engine: Engine) => Engine])[] = [
  ["knownTools", (engine) => knownTools(engine, { memory, identity: { x: 1 } })],
  ["perSession", (engine) => perSession(() => engine)],
];

test.each(AROUND)("%s attaches if the inner engine does", async (_, around) => {
  const engine = around(inner(true));
  await engine.open?.(engineContext());
  await engine.openSession?.({ sessionId: "s", signal: new AbortController().signal, setup: {} });
  expect(await engine.attach?.("t1", request("echo"), toolContext({ sessionId: "s" }))).toBe("echo t1 s");
  await engine.close?.();
});

test.each(AROUND)("%s has no attach if the inner engine has none", (_, around) => {
  expect(around(inner(false)).attach).toBeUndefined();
});
