/** Stubs answer calls with prepared results; the test gets a report of calls that no stub matched. */
import assert from "node:assert/strict";
import { createRuntime, resultText, type Tool } from "haft";
import { stubEngine } from "haft/simulation";

const stubs = stubEngine([
  { tool: "mail::send", input: { to: "ada@example.com" }, output: { sent: true }, times: 1 },
  { tool: "mail::send", input: { to: "ada@example.com" }, error: { code: "rate_limited", message: "Not so fast." } },
  { tool: "mail::find", output: [] },
]);

const text = { type: "string" } as const;
const tools: readonly Tool[] = [
  { name: "send", description: "Sends a mail.", inputSchema: { type: "object", properties: { to: text, text }, required: ["to"] } },
  { name: "find", description: "Finds mails.", inputSchema: { type: "object", properties: { words: text } } },
];

const runtime = createRuntime({ toolsets: [{ name: "mail", tools, engine: stubs }], maxAttempts: 1 });
const session = runtime.session();
for (const to of ["ada@example.com", "ada@example.com", "bob@example.com"]) {
  console.log(resultText(await session.execute({ name: "send", input: { to, text: "Hello." } })));
}

const { ok, calls, unmatched, unused } = stubs.report();
assert.deepEqual({ ok, calls }, { ok: false, calls: 3 });
for (const { tool, input, why } of unmatched) console.log(`unmatched: ${tool} ${JSON.stringify(input)}`, why);
console.log("never used: stubs", unused);
await runtime.close();

/* Prints:
{"sent":true}
Error (rate_limited): Not so fast.
Error (not_found): No stub of mail::send answers this call.
- stubs[0]: $.to is "bob@example.com"; it takes "ada@example.com"
- stubs[1]: $.to is "bob@example.com"; it takes "ada@example.com"
unmatched: mail::send {"to":"bob@example.com","text":"Hello."} [
  'stubs[0]: $.to is "bob@example.com"; it takes "ada@example.com"',
  'stubs[1]: $.to is "bob@example.com"; it takes "ada@example.com"'
]
never used: stubs [ 2 ]
*/
