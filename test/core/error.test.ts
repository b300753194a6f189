/** What a model reads of an error: the hint that a tool gave for it, and names as it wrote them itself. */
import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { ErrorCode } from "../../src/core/error-codes.ts";
import { resultText } from "../../src/core/result.ts";
import { providerName, toQualifiedName } from "../../src/wire/provider-name.ts";
import { testRuntime, tool } from "../runtime/bench-runtime.ts";

test.each<ErrorCode>(["conflict", "duplicate", "execution_failed", "not_found"])(
  "a tool that throws %s gives the model its hint",
  async (code) => {
    const book = tool("book", () => {
      throw new ToolError(code, "The slot is taken.", { hint: "Choose another slot." });
    });
    const result = await testRuntime({ tools: [book] }).runtime.execute({ name: "book", input: {} });
    expect(resultText(result)).toBe(`Error (${code}): The slot is taken.\nHint: Choose another slot.`);
  },
);

test.each(["gett", "files.read", "send mail", "b_c__get", "__proto__", "a__gett", "über"])(
  "an unknown tool name is reported to the model as it was written: %s",
  async (written) => {
    const toolset = { name: "a", tools: [tool("get", () => 1)] };
    const name = toQualifiedName(written, new Map());
    const result = await testRuntime({ toolsets: [toolset] }).runtime.execute({ name, input: {} });
    expect(result.error?.code).toBe("not_found");
    expect(resultText(result, (one) => providerName(one))).toContain(JSON.stringify(written));
  },
);

test("hints are cut to 4,096 characters like the message, so that a tool's error cannot fill the context of a model", async () => {
  const long = "h".repeat(1_000_000);
  const fetchPage = tool("fetch_page", () => {
    throw new ToolError("execution_failed", long, { hint: long, operatorHint: long });
  });
  const { error } = await testRuntime({ tools: [fetchPage] }).runtime.execute({ name: "fetch_page", input: {} });
  expect([error?.message.length, error?.hint?.length, error?.operatorHint?.length]).toEqual([4_096, 4_096, 4_096]);
});
