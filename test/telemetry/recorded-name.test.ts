import { expect, test } from "vitest";
import { createLoop } from "../../src/compose/loop.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { telemetry, type TelemetryOptions } from "../../src/telemetry/telemetry.ts";
import { withTelemetry } from "./with-telemetry.ts";

const WRITTEN = 'log in({"user":"Ada","note":"seven","password":"hunter22"})';
const redact = (text: string): string => text.replaceAll("Ada", "[user]");

/** Runs a loop whose model writes a call into a name, and then calls a tool whose name has brackets. */
function recorded(written: string, options: TelemetryOptions): ReturnType<typeof withTelemetry> {
  return withTelemetry(async () => {
    const login = defineTool({ name: "log in (Ada)", description: "Logs in.", inputSchema: { type: "object" }, execute: () => 1 });
    const runtime = createRuntime({ tools: [login] });
    telemetry(runtime, { redact, ...options });
    const calls = [written, "log in (Ada)"].map((name) => ({ name, input: {} }));
    await createLoop({ model: scriptedModel([{ calls }, { text: "Done." }]), session: runtime.session() }).run("Log in.");
    await runtime.close();
  });
}

test.each([
  [{}, "log…"],
  [{ recordOutputs: true }, "log…"],
  [{ recordInputs: true }, 'log in({"user":"[user]","note":"seven","password":"[secret]"})'],
  [{ recordInputs: true, recordOutputs: true }, 'log in({"user":"[user]","note":"seven","password":"[secret]"})'],
])("a call that a model wrote into a name is recorded without secrets, and its arguments only with inputs: %j", async (options, name) => {
  const { spans, text } = await recorded(WRITTEN, options);
  const called = spans.filter((span) => span.name.startsWith("execute_tool "));
  expect(called.map((span) => [span.name, span.attributes["gen_ai.tool.name"]])).toEqual([
    [`execute_tool ${name}`, name],
    ["execute_tool log in (Ada)", "log in (Ada)"],
  ]);
  expect(text).not.toContain("hunter22");
  expect(text.includes("seven")).toBe(Object.keys(options).length > 0); // error messages quote the name, and are recorded with outputs
});

test.each(["wether", "shop::get_order", "functions.weather-2", "天気", "_"])(
  "the name %s, which no tool has, is recorded whole",
  async (name) => {
    const { spans } = await recorded(name, {});
    expect(spans.map((span) => span.name)).toContain(`execute_tool ${name}`);
  },
);
