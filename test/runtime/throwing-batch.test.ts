/** `onError: "throw"`: what a handler throws fails its batch, and what was refused before it does not. */
import { ToolError } from "haft";
import { expect, test } from "vitest";
import { testRuntime, tool } from "./bench-runtime.ts";

const pay = tool("pay", () => "paid", { effects: { writes: ["account"] } });

test.each(["not_found", "invalid_input", "permission_denied", "execution_failed"] as const)(
  "F4 a handler that throws %s fails its batch",
  async (code) => {
    const fail = tool("fail", () => Promise.reject(new ToolError(code, "no")), { effects: { writes: ["account"] } });
    const { runtime } = testRuntime({ tools: [pay, fail] });
    await expect(runtime.session().execute([{ name: "pay" }, { name: "fail" }], { onError: "throw" })).rejects.toThrow("no");
  },
);

test("F4 an unknown name and an invalid input stay results, and do not fail the batch", async () => {
  const strict = tool("strict", () => "paid", { inputSchema: { type: "object", required: ["to"] } });
  const { runtime } = testRuntime({ tools: [pay, strict] });
  const results = await runtime.session().execute([{ name: "none" }, { name: "strict" }], { onError: "throw" });
  expect(results.map(({ error }) => error?.code)).toEqual(["not_found", "invalid_input"]);
});
