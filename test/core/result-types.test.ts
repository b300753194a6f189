import { expect, expectTypeOf, test } from "vitest";
import type { ApiResult } from "../../src/client/client.ts";
import type { ErrorInfo } from "../../src/core/error.ts";
import type { Hook } from "../../src/core/hook.ts";
import type { OkResult, PendingResult, ResultStatus, ResultWithError, ToolResult } from "../../src/core/result.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";

const ERROR: ErrorInfo = { code: "unavailable", message: "It is away.", retryable: false, outcome: "failed" };

test("a comparison of the status says whether a result has an error", () => {
  expectTypeOf<ToolResult>().toEqualTypeOf<OkResult | PendingResult | ResultWithError>();
  expectTypeOf<ToolResult["status"]>().toEqualTypeOf<ResultStatus>();
  const narrowed = (result: ToolResult): void => {
    expectTypeOf(result.error?.message).toEqualTypeOf<string | undefined>();
    if (result.status === "error" || result.status === "partial" || result.status === "cancelled" || result.status === "skipped")
      expectTypeOf(result.error).toEqualTypeOf<ErrorInfo>();
    if (result.status === "ok") expectTypeOf(result.error).toEqualTypeOf<undefined>();
    if (result.error === undefined) expectTypeOf(result.status).toEqualTypeOf<"ok" | "pending">();
    else expectTypeOf(result).toEqualTypeOf<ResultWithError>();
    // @ts-expect-error a pending result is not ok, and has no error
    if (result.status !== "ok") expectTypeOf(result.error).toEqualTypeOf<ErrorInfo>();
    if (result.status === "pending") return;
    if (result.status !== "ok") expectTypeOf(result.error).toEqualTypeOf<ErrorInfo>();
  };
  const destructured = ({ status, error }: ToolResult): void => {
    if (status === "error") expectTypeOf(error).toEqualTypeOf<ErrorInfo>();
    switch (status) {
      case "ok":
      case "pending":
        expectTypeOf(error).toEqualTypeOf<undefined>();
        break;
      default:
        expectTypeOf(error).toEqualTypeOf<ErrorInfo>();
    }
  };
  expect([narrowed, destructured]).toHaveLength(2);
});

test("a result of the client is narrowed in the same way", () => {
  expectTypeOf<ApiResult>().toExtend<ToolResult>();
  const fromServer = (result: ApiResult): void => {
    if (result.status === "error") expectTypeOf(result.error).toEqualTypeOf<ErrorInfo>();
  };
  expect(fromServer).toBeTypeOf("function");
});

test("a result with an error is not ok, and one without an error is nothing else", () => {
  const changed = (result: ToolResult): void => {
    expectTypeOf({ ...result, output: 1 }).toExtend<ToolResult>();
    expectTypeOf({ ...result, status: "error" as const, error: ERROR }).toExtend<ToolResult>();
    const { error: _error, ...answer } = result;
    expectTypeOf({ ...answer, status: "ok" as const }).toExtend<ToolResult>();
    expectTypeOf({ ...result, error: ERROR }).not.toExtend<ToolResult>();
    expectTypeOf({ ...result, status: "error" as const }).not.toExtend<ToolResult>();
    expectTypeOf({ ...result, status: "ok" as const }).not.toExtend<ToolResult>();
  };
  expect(changed).toBeTypeOf("function");
});

test("a hook makes a success of a failure, and a failure of a success", async () => {
  const swap: Hook = {
    name: "swap",
    afterCall(result) {
      if (result.status === "ok") return { ...result, status: "error", error: ERROR };
      const { error, ...answer } = result;
      return { ...answer, status: "ok", output: error?.message ?? "" };
    },
  };
  const works = defineTool({ name: "works", description: "Works.", execute: () => 1 });
  const fails = defineTool({ name: "fails", description: "Fails.", execute: () => Promise.reject(new Error("no")) });
  const runtime = createRuntime({ tools: [works, fails], hooks: [swap] });
  const results = await runtime.execute([{ name: "works" }, { name: "fails" }]);
  await runtime.close();
  expect(results.map(({ status, error, output }) => [status, error, output])).toEqual([
    ["error", ERROR, undefined],
    ["ok", undefined, "no"],
  ]);
});
