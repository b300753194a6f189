/** Hooks see every call before it runs and every result before it is recorded. They may change either, or stop the call. */
import assert from "node:assert/strict";
import { createRuntime, defineHook, defineTool, resultText, type Hook } from "haft";

const send = defineTool({
  name: "send",
  description: "Sends a message.",
  inputSchema: {
    type: "object",
    properties: { to: { type: "string" }, text: { type: "string" } },
    required: ["to", "text"],
  },
  execute: ({ to, text }) => `to ${to}: ${text}; password=hunter2`,
});

const office = defineHook({
  tool: send,
  name: "office",
  beforeCall(call) {
    if (call.input.to === "everyone") return { veto: "Write to one person, not to everyone." };
    return call.input.to === "boss" ? { ...call, input: { ...call.input, to: "ada@example.com" } } : undefined;
  },
});

const redact: Hook = {
  name: "redact",
  priority: 10,
  afterCall(result) {
    if (typeof result.output !== "string") return undefined;
    return { ...result, output: result.output.replace(/password=\S+/u, "password=…") };
  },
};

const runtime = createRuntime({ tools: [send], hooks: [redact, office] });
const results = await runtime.execute([
  { name: "send", input: { to: "boss", text: "done" } },
  { name: "send", input: { to: "everyone", text: "cake" } },
]);
for (const result of results) console.log(resultText(result));
assert.deepEqual(
  results.map((result) => result.error?.code ?? "ok"),
  ["ok", "vetoed"],
);
await runtime.close();

/* Prints:
to ada@example.com: done; password=…
Error (vetoed): Write to one person, not to everyone.
*/
