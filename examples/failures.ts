/** A handler reports why it failed: the error code, what is known of the effect, and when to retry. */
import { ToolError, createRuntime, defineTool, resultText } from "haft";

const reserve = defineTool({
  name: "reserve",
  description: "Reserves a seat, when the service lets us.",
  effects: { writes: ["seats"] },
  execute(_, { attempt }) {
    if (attempt === 1) throw new ToolError("rate_limited", "Slow down.", { outcome: "not_started", retryAfterMs: 20 });
    return "seat 12";
  },
});

const runtime = createRuntime({ tools: [reserve], retry: { delayMs: 10 } });
const result = await runtime.execute({ name: "reserve" });
console.log(`${resultText(result)} after ${result.attempts} attempts`);
await runtime.close();

/* Prints:
seat 12 after 2 attempts
*/
