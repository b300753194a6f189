/** A run that pauses until a person approves a call, and is then resumed; another process may resume it. */
import { createLoop, createRuntime, defineTool } from "haft";
import { memoryStore } from "haft/store";
import { scriptedModel } from "haft/model";

const sent: string[] = [];
const mail = defineTool({
  name: "mail",
  description: "Sends a mail.",
  inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  effects: { writes: ["outbox"], external: true, destructive: true },
  execute: ({ to }) => {
    sent.push(to);
    return `sent to ${to}`;
  },
});
const model = scriptedModel([
  { calls: ["ada@example.com", "all@example.com"].map((to) => ({ name: "mail", input: { to } })) },
  { text: "Ada has it. I did not write to everybody." },
]);
const runtime = createRuntime({ tools: [mail], store: memoryStore() });
const monday = runtime.session("monday");
const paused = await createLoop({ model, session: monday }).run("Send the report.");
console.log(`${paused.reason}: ${paused.pending?.length} calls wait, ${sent.length} were made`);
await monday.close();

const session = await runtime.resume("monday");
const loop = createLoop({ model, session });
const decisions = Object.fromEntries(
  loop.pending().map(({ digest, name, input }) => {
    console.log(`? ${name} ${JSON.stringify(input)} ${digest.slice(0, 8)}…`);
    return [digest, input["to"] === "ada@example.com" ? "allow-once" : "deny"] as const;
  }),
);
const result = await loop.resume({ decisions });
for (const { status, output, error } of result.results) console.log(status, output ?? error?.code);
console.log(`${result.reason}: ${result.text}`);
await runtime.close();

/* Prints:
approval: 2 calls wait, 0 were made
? default::mail {"to":"ada@example.com"} 3d8bcf52…
? default::mail {"to":"all@example.com"} 83960336…
ok sent to ada@example.com
error approval_denied
answered: Ada has it. I did not write to everybody.
*/
