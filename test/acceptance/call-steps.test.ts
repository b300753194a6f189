/** What a call goes through, in order, and what can be seen of it (seed 003, steps 1 to 9). */
import { expect, test } from "vitest";
import { readOnly } from "../../src/core/resources/effects.ts";
import type { RuntimeEvent } from "../../src/core/event.ts";
import { Registry } from "../../src/registry/registry.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { Store } from "../../src/core/store/store.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

/** A registry, a store, a log and a tool that each note what they are asked. */
function observedRuntime(seen: string[]) {
  const ports = fakePorts();
  class ObservedRegistry extends Registry {
    override resolve(name: string) {
      seen.push("lookup");
      return super.resolve(name);
    }
  }
  const registry = new ObservedRegistry();
  const inner = memoryStore();
  const store: Store = new Proxy(inner, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (key !== "cache" || typeof value !== "object" || value === null) return typeof value === "function" ? value.bind(target) : value;
      return new Proxy(value, {
        get(cache, method) {
          const found: unknown = Reflect.get(cache, method);
          if (typeof found !== "function") return found;
          return (...given: unknown[]) => {
            if (method === "read" || method === "get") seen.push("cache-check");
            if (method === "write" || method === "set" || method === "put") seen.push("cache-write");
            return Reflect.apply(found, cache, given) as unknown;
          };
        },
      });
    },
  });
  registry.register({
    name: "inspect_location",
    description: "Looks around.",
    inputSchema: { type: "object", properties: { detail: { type: "string" } }, required: ["detail"] },
    effects: { reads: ["map"], writes: [] },
    cache: "persistent",
    validate: () => (seen.push("validate"), []),
    execute: () => {
      seen.push("execute");
      return { success: true };
    },
  });
  const onEvent = (event: RuntimeEvent): void => {
    if (event.type === "call-start") seen.push("history-call");
    if (event.type === "call-end") seen.push("history-result");
  };
  const log = {
    debug: (message: string) => void (message.includes("inspect_location") && seen.push("decision")),
    warn: (message: string) => void (message.includes("was corrected") && seen.push("correction")),
  };
  return createRuntime({ registry, store, onEvent, ports: { ...ports, log } });
}

test("F3.1 a trace shows the steps in order: extract, decision, history, lookup, validation, cache, execution, what follows success, history", async () => {
  const seen: string[] = [];
  const runtime = observedRuntime(seen);
  const call = {
    get tool() {
      if (!seen.includes("extract")) seen.push("extract");
      return "inspect_location";
    },
    parameters: { detail: "full" },
    reasoning: "I must know where I am.",
  } as unknown as { readonly name: string };
  const result = await runtime.session("walk").execute(call);
  await runtime.close();

  expect(result.status).toBe("ok");
  expect(seen.filter((mark, index) => mark !== seen[index - 1])).toEqual([
    "extract",
    "decision",
    "history-call",
    "lookup",
    "validate",
    "cache-check",
    "execute",
    ...["cache-write", "history-result"].toSorted((one, other) => seen.indexOf(one) - seen.indexOf(other)),
  ]);
});

test("F3.2 parameters beside an empty object are corrected with a line in the log, before anything of the tool runs", async () => {
  const seen: string[] = [];
  const runtime = observedRuntime(seen);
  const call = { tool: "inspect_location", parameters: {}, detail: "full" } as unknown as { readonly name: string };
  const result = await runtime.execute(call);

  expect([result.status, result.warnings.length]).toEqual(["ok", 1]);
  expect(seen.indexOf("correction")).toBeGreaterThanOrEqual(0);
  expect(seen.indexOf("correction")).toBeLessThan(seen.indexOf("execute"));
});

test("F3.3 each decision is one line of the log with tool and reasoning, before the handler, also for a tool that is not there", async () => {
  const ports = fakePorts();
  const atHandler: number[] = [];
  const runtime = createRuntime({
    tools: [{ name: "page", description: "Pages.", inputSchema: {}, execute: () => void atHandler.push(ports.log.lines.length) }],
    ports,
  });
  const calls = [
    { id: "p1", name: "page", input: {}, reasoning: "Bo asked me to." },
    { id: "p2", name: "pgae", input: {} },
  ];
  await runtime.execute(calls);

  const decisions = ports.log.lines.filter(({ level, message }) => level === "debug" && message.startsWith("Decision: "));
  expect(decisions).toMatchObject([
    { message: "Decision: page - Bo asked me to.", fields: { tool: "page", id: "p1", reasoning: "Bo asked me to." } },
    { message: "Decision: pgae", fields: { tool: "pgae", id: "p2" } },
  ]);
  expect(atHandler[0]).toBeGreaterThan(0);
});

test("F3.18 the runtime counts what went well apart from what did not, and shows what each running call was given", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const runtime = createRuntime({
    tools: [
      { name: "dig", description: "Digs.", inputSchema: {}, effects: { writes: ["pit"] }, execute: async () => await promise },
      {
        name: "fail",
        description: "Fails.",
        inputSchema: {},
        effects: readOnly("sky"),
        execute: () => {
          throw new Error("no");
        },
      },
      { name: "look", description: "Looks.", inputSchema: {}, effects: readOnly("room"), execute: () => 1 },
    ],
  });
  const digging = runtime.execute({ name: "dig", input: { depth: 3, with: { tool: "spade" } } });
  await runtime.execute([{ name: "fail" }, { name: "nowhere" }, { name: "look" }, { name: "look" }]);

  expect(runtime.running).toEqual([{ callId: expect.any(String), name: "default::dig", input: { depth: 3, with: { tool: "spade" } } }]);
  expect(runtime.counters).toMatchObject({ calls: 4, succeeded: 2 });
  resolve();
  await digging;
  expect(runtime.running).toEqual([]);
  expect(runtime.counters).toMatchObject({ calls: 5, succeeded: 3 });
});
