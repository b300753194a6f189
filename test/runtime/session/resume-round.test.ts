/** After a crash in the middle of a message: a call is said not to have run only where it cannot have run. */
import { expect, test } from "vitest";
import type { Effects } from "../../../src/core/resources/effects.ts";
import type { JsonSchema, Tool } from "../../../src/core/tool.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const never = (): Promise<never> => new Promise(() => {});
const paid: Effects = { writes: ["money"] };
const put: Effects = { writes: ["money"], idempotent: true };
const takes = (type: string): { readonly inputSchema: JsonSchema } => ({
  inputSchema: { type: "object", properties: { value: { type } }, required: ["value"] },
});

/** The result of a call whose process ended before its message was whole. */
async function afterCrash(
  tools: readonly Tool[],
  options: RuntimeOptions & { readonly input?: unknown; readonly later?: readonly Tool[] } = {},
) {
  const { input = {}, later = tools, ...rest } = options;
  const store = new FailingStore();
  const runtimeOf = (own: FailingStore, its: readonly Tool[]) =>
    testRuntime({ ...rest, store: own, toolsets: [{ name: "bank", tools: its, overloads: true }] }).runtime;
  const before = runtimeOf(store, tools).session("s");
  void before.turn(async (turn) => {
    turn.round().add({ name: "bank::act", input });
    await never();
  });
  await settle();
  await store.logs.get("s")?.whenDurable();
  const session = await runtimeOf(store.crash(), later).resume("s");
  const [entry, ...others] = session.history;
  expect(others).toEqual([]);
  return [entry?.result?.status, entry?.result?.error?.code, entry?.result?.error?.outcome];
}

const NOT_RUN = ["cancelled", "cancelled", "not_started"];
const UNKNOWN = ["error", "outcome_unknown", "unknown"];

test.each<[string, Effects, readonly unknown[]]>([
  ["that may not be repeated, and is started once its intent is stored,", paid, NOT_RUN],
  ["of an undeclared tool", {}, NOT_RUN],
  ["that may be repeated", put, UNKNOWN],
  ["that only reads", { reads: ["money"] }, ["cancelled", "cancelled", "unknown"]],
])("a call %s gets the result that matches what is known", async (_, effects, end) => {
  expect(await afterCrash([tool("act", never, { effects })])).toEqual(end);
});

test("a call of an overloaded name counts as not started only if none of the overloads can have started", async () => {
  const tools = [tool("act", never, { effects: paid, ...takes("string") }), tool("act", never, { effects: put, ...takes("integer") })];
  expect(await afterCrash(tools, { input: { value: 1 } })).toEqual(UNKNOWN);
});

test("the outcome of a call whose tool is gone is unknown", async () => {
  expect(await afterCrash([tool("act", never, { effects: paid })], { later: [] })).toEqual(UNKNOWN);
});

test("a session whose limits allow more than the usual input can be resumed", async () => {
  const inputLimits = { maxChars: 64 * 1024 * 1024 };
  const input = { text: "x".repeat(17 * 1024 * 1024) };
  expect(await afterCrash([tool("act", never, { effects: paid })], { input, inputLimits })).toEqual(NOT_RUN);
});
