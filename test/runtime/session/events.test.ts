import { expect, test } from "vitest";
import type { RuntimeEvent } from "../../../src/core/event.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { fakePorts } from "../../../src/testing/fake-ports.ts";

/** Knows some events and passes over the rest, as a listener may. */
function labelOf(event: RuntimeEvent): string | undefined {
  switch (event.type) {
    case "message-add":
      return `${event.message.role}: ${String(event.message.content)}`;
    case "call-start":
      return `called ${event.call.name}`;
    case "state-change":
      return `changed ${event.key} by ${JSON.stringify(event.patch)}`;
    case "call-end":
      return `ended ${event.result.status}`;
    default:
      return undefined;
  }
}

test("F4.32 a listener gets every event of a session in log order, typed, and may ignore unknown ones", async () => {
  const told: RuntimeEvent[] = [];
  const runtime = createRuntime({
    ports: fakePorts(),
    store: memoryStore(),
    onEvent: (event) => told.push(event),
    tools: [
      {
        name: "count",
        description: "Counts.",
        inputSchema: true,
        effects: { writes: ["session:n"] },
        execute: (_: never, { state }) => state.update("n", (before) => Number(before ?? 0) + 1),
      },
    ],
  });
  const session = runtime.session("s");
  await session.addMessage({ role: "user", content: "Count." });
  await session.execute({ name: "count" });
  expect(told.map(labelOf).filter((label) => label !== undefined)).toEqual([
    "user: Count.",
    "called count",
    'changed n by [{"op":"add","path":"","value":1}]',
    "ended ok",
  ]);
  const kept = new Set<unknown>(session.log);
  expect(told.filter((event) => kept.has(event))).toEqual(session.log);
  expect(session.log.map((event) => event.type)).toEqual([
    "session-start",
    "message-add",
    "call-start",
    "call-intent",
    "state-change",
    "call-end",
  ]);
});
