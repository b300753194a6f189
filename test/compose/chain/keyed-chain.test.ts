/** A chain that is run again under its key, after the store was full. */
import { expect, test } from "vitest";
import { createChain } from "../../../src/compose/chain/chain.ts";
import { ToolError } from "../../../src/core/error.ts";
import { testRuntime, tool } from "../../runtime/bench-runtime.ts";
import { FailingStore } from "../../runtime/session/failing-store.ts";

test.each([true, false])(
  "a chain with an idempotency key continues with the step that a full store kept from starting (stopOnFailure: %s)",
  async (stopOnFailure) => {
    const store = new FailingStore();
    const done: unknown[] = [];
    const tools = [
      tool("pay", () => (done.push("pay"), { receipt: 7 }), { effects: { writes: ["money"] } }),
      tool("mail", ({ receipt }) => (done.push(receipt), "sent"), { effects: { writes: ["mail"] } }),
    ];
    const session = testRuntime({ store, tools }).runtime.session("s");
    await session.addMessage({ role: "user", content: "buy" });
    let left = 1;
    store.passHold = async () => void (store.durableError = left-- > 0 ? new ToolError("store_failed", "The disk is full.") : undefined);
    const receipt = { path: "receipt", default: 0 };
    const chain = createChain([{ tool: "pay" }, { tool: "mail", inputMapping: { receipt } }]);
    const run = () => chain.run(session, {}, { idempotencyKey: "order", stopOnFailure, validateTools: false });
    expect([(await run()).success, done]).toEqual([false, []]);
    for (let time = 0; time < 2; time++) expect([(await run()).success, done]).toEqual([true, ["pay", 7]]);
  },
);
