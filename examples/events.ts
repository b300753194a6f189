/** Lists all events that a listener gets for two calls: one waits for the other, and fails once. */
import { createRuntime, defineTool, ToolError, type RuntimeEvent } from "haft";

const save = defineTool({
  name: "save",
  description: "Saves.",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  effects: { writes: ["draft"], idempotent: true },
  async execute({ text }, context) {
    context.progress({ message: `saving ${text}` });
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (text === "two" && context.attempt === 1) throw new ToolError("network_error", "The disk is far away.");
    return text;
  },
});

const events: RuntimeEvent[] = [];
const runtime = createRuntime({ tools: [save], retry: { delayMs: 1 }, onEvent: (event) => events.push(event) });
await runtime.execute([
  { id: "1", name: "save", input: { text: "one" } },
  { id: "2", name: "save", input: { text: "two" } },
]);
await runtime.close();

const ids = new Map<string, string>();
for (const event of events) {
  if (event.type === "call-start") ids.set(event.callId, event.call.id ?? "");
  console.log("callId" in event ? ids.get(event.callId) : "-", event.type);
}

/* Prints:
1 call-start
2 call-start
1 call-attempt
1 call-progress
1 call-end
2 call-wait
2 call-attempt
2 call-progress
2 call-retry
2 call-attempt
2 call-progress
2 call-end
*/
