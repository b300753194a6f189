/** Log records of failed requests to models. */
import { expect, test } from "vitest";
import { createLoop } from "../../src/compose/loop.ts";
import { ToolError } from "../../src/core/error.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { telemetry, type TelemetryOptions } from "../../src/telemetry/telemetry.ts";
import type { OtlpReceiver } from "./otlp-receiver.ts";
import { withTelemetry } from "./with-telemetry.ts";

const failing = defineTool({
  name: "failing",
  description: "Fails.",
  inputSchema: { type: "object" },
  effects: { reads: [] },
  execute: () => {
    throw new ToolError("execution_failed", "No stock of the teapot.", { retryable: false });
  },
});

/** A run whose call fails, and whose second request to the model ends with the error. */
async function failedRun(error: ToolError, options: TelemetryOptions = {}): Promise<OtlpReceiver> {
  return await withTelemetry(async () => {
    const runtime = createRuntime({ tools: [failing] });
    telemetry(runtime, options);
    const model = scriptedModel([{ calls: [{ name: "failing", input: {} }] }, { error }], { name: "openai/gpt-x" });
    await createLoop({ model, session: runtime.session("s") }).run("Adelheid asks.");
    await runtime.close();
  });
}

const busy = new ToolError("rate_limited", "Adelheid asked too often, with sk-abcdefghijklmnop1234.", {
  retryable: false,
  cause: new Error("Adelheid's request"),
});

test("a failed request to a model is a log record within its span, without message and stack; a failed call is none", async () => {
  const { logs, spans, text } = await failedRun(busy);
  const span = spans.find(({ status }) => status.message === "rate_limited");
  expect(logs).toEqual([
    {
      eventName: "gen_ai.client.operation.exception",
      severity: "WARN",
      traceId: span?.traceId,
      spanId: span?.spanId,
      attributes: { "exception.type": "rate_limited" },
    },
  ]);
  expect(span?.name).toBe("chat gpt-x");
  expect(spans.flatMap(({ events }) => events)).toEqual([]);
  for (const word of ["Adelheid", "teapot", "request-exceptions.test"]) expect(text).not.toContain(word);
});

test("the message is recorded where outputs are, without secrets and redacted", async () => {
  const { logs, text } = await failedRun(busy, { recordOutputs: true, redact: (given) => given.replaceAll("Adelheid", "[user]") });
  expect(logs.map(({ attributes }) => attributes)).toEqual([
    { "exception.type": "rate_limited", "exception.message": "[user] asked too often, with [secret]." },
  ]);
  for (const word of ["Adelheid", "abcdefghijklmnop", "request-exceptions.test"]) expect(text).not.toContain(word);
});

test("a request that was cancelled is no exception", async () => {
  expect((await failedRun(new ToolError("cancelled", "It was cancelled."))).logs).toEqual([]);
});
