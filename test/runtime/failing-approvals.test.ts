/** Approval rules and approvals of a program that fail. */
import { expect, test, vi } from "vitest";
import type { Approvals } from "../../src/core/approvals/approvals.ts";
import { ApprovalGate } from "../../src/policy/approval/approval-gate.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime-options.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

const boom = (): never => {
  throw new Error("The client is closed.");
};

const failingRules: readonly (readonly [string, () => unknown, string])[] = [
  ["throws", boom, "failed (The client is closed.), so default::put needs approval."],
  ["returns a promise", () => Promise.reject(new Error("late")), "returned a promise instead of a string or undefined"],
  ["returns true", () => true, "returned a boolean instead of a string or undefined"],
];

test.each(failingRules)(
  "a call whose session has an approval rule that %s needs approval, and has one result",
  async (_what, rule, reason) => {
    let ran = 0;
    const asked: string[] = [];
    const put = defineTool({ name: "put", description: "Puts.", effects: { writes: ["a"] }, execute: () => ++ran });
    const open = (approval?: RuntimeOptions["approval"]) => createRuntime({ tools: [put], ...(approval && { approval }) });
    const asking = { approve: (request: { readonly reason: string }) => (asked.push(request.reason), "allow-once" as const) };
    for (const runtime of [open(), open(asking)]) {
      const session = runtime.session();
      Reflect.apply(runtime.approvals.setSessionRule.bind(runtime.approvals), undefined, [session.id, rule]);
      const [first, second] = await session.execute([
        { name: "put", input: {} },
        { name: "put", input: {} },
      ]);
      asked.push(`${first?.error?.code ?? first?.status} ${second?.error?.code ?? second?.status} ${ran}`);
      await runtime.close(); // waits for every call that has no result
    }
    const why = expect.stringContaining(reason);
    expect(asked).toEqual(["approval_required approval_required 0", why, why, "ok ok 2"]);
  },
);

test("approvals that throw when they say whether a call needs approval make it need approval, and the call has one result", async () => {
  const ports = fakePorts();
  const approvals = Object.assign(new ApprovalGate({ always: ["*"] }, ports), { reasonFor: boom });
  let ran = 0;
  const put = defineTool({ name: "put", description: "Puts.", effects: { writes: ["a"] }, execute: () => ++ran });
  const runtime = createRuntime({ ports, approvals, tools: [put] });
  const { error } = await runtime.session().execute({ name: "put", input: {} });
  expect([error?.code, error?.message, ran]).toEqual([
    "approval_required",
    expect.stringContaining("Whether default::put needs approval could not be decided (The client is closed.)."),
    0,
  ]);
  await runtime.close();
});

test.each([true, "allow-once", null, {}])(
  "approvals that answer a question with %j deny the call, which has one result",
  async (answer) => {
    const ports = fakePorts();
    const approvals = Object.assign(new ApprovalGate({ always: ["*"] }, ports), { ask: () => Promise.resolve(answer) });
    let ran = 0;
    const put = defineTool({ name: "put", description: "Puts.", effects: { writes: ["a"] }, execute: () => ++ran });
    const runtime = createRuntime({ ports, approvals: approvals as unknown as Approvals, tools: [put] });
    const { error } = await runtime.session().execute({ name: "put", input: {} });
    expect([error?.code, error?.message, ran]).toEqual([
      "approval_denied",
      expect.stringContaining("ask() of the approvals resolved to"),
      0,
    ]);
    await runtime.close();
  },
);

test("approvals that throw when sessions are closed do not keep the store open, and the log or close() says so", async () => {
  const ports = fakePorts();
  const approvals = Object.assign(new ApprovalGate({}, ports), { forget: boom, whenSettled: boom });
  const store = memoryStore();
  const close = vi.spyOn(store, "close");
  const runtime = createRuntime({ ports, approvals, store });
  const session = runtime.session("s");
  await session.close();
  const errors = await runtime.close();
  expect(errors.map(({ message }) => message)).toEqual(["The client is closed."]);
  expect(close).toHaveBeenCalledOnce();
  expect(ports.log.lines.map(({ message }) => message)).toContain(
    "What was approved in the session s could not be forgotten: The client is closed.",
  );
});
