/** A loop with a provider's model that pauses until a person approves a call. Needs an API key. */
import { createRuntime, defineTool } from "haft";
import { z } from "zod";

const mail = defineTool({
  name: "mail",
  description: "Sends a mail.",
  inputSchema: z.object({ to: z.string() }),
  effects: { writes: "outbox", external: true, destructive: true },
  execute: async ({ to }) => `sent to ${to}`,
});
const runtime = createRuntime({ tools: [mail] });
const loop = runtime.loop({ model: "anthropic/claude-sonnet-5" });

await loop.run("Send the report.");
for (const { name, input } of loop.pending()) console.log("?", name, JSON.stringify(input));
const decisions = Object.fromEntries(loop.pending().map(({ digest }) => [digest, "allow-once"] as const));
const { text } = await loop.resume({ decisions });
console.log(text);
await runtime.close();
