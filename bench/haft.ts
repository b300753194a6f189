/** Haft's side of the comparison. */
import { createRuntime, defineTool } from "../src/index.ts";
import type { Contestant } from "./measure.ts";
import { INPUT, SCHEMA, handle, type Order } from "./workload.ts";

const order = defineTool({
  name: "order",
  description: "d",
  inputSchema: SCHEMA,
  effects: { reads: [], writes: [] },
  execute: async (input: Order) => handle(input),
});

export function haftCall(): Contestant {
  const runtime = createRuntime({ tools: [order] });
  const call = { id: "c", name: "order", input: INPUT };
  return { name: "Haft", note: "execute: no session, 30 s deadline on", run: () => runtime.execute(call) };
}

export function haftEverything(): Contestant {
  const locked = { ...order, effects: { writes: (input: { readonly id?: unknown }) => [`order:${String(input.id)}`] } };
  const runtime = createRuntime({ tools: [locked], onEvent: () => {}, maxConcurrent: 1_000 });
  const call = { id: "c", name: "order", input: INPUT };
  let session = runtime.session();
  let calls = 0;
  return {
    name: "Haft, everything on",
    note: "session log, events, lock, slot, deadline",
    run() {
      // A session's log is kept in memory: a new one now and then keeps the heap honest.
      if (++calls % 10_000 === 0) {
        void session.close();
        session = runtime.session();
      }
      return session.execute(call);
    },
  };
}

export function haftBatch(count: number, delayMs: number, maxConcurrent?: number): Contestant {
  const wait = defineTool({
    name: "wait",
    description: "d",
    inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    effects: { writes: (input) => [`cell:${input.n}`] },
    execute: ({ n }: { n: number }) => new Promise((resolve) => setTimeout(resolve, delayMs, n)),
  });
  const runtime = createRuntime({ tools: [wait], onEvent: () => {}, ...(maxConcurrent === undefined ? {} : { maxConcurrent }) });
  const calls = Array.from({ length: count }, (_, n) => ({ id: `c${n}`, name: "wait", input: { n } }));
  return { name: "Haft", note: "locks and recording on", run: () => withSession(runtime, calls) };
}

async function withSession(
  runtime: ReturnType<typeof createRuntime>,
  calls: Parameters<ReturnType<typeof createRuntime>["execute"]>[0] & readonly unknown[],
): Promise<void> {
  const session = runtime.session();
  await session.execute(calls as never);
  await session.close();
}
