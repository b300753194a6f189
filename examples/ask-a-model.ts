/** Calls a provider's model by its name: the reply streams as events, its cost is counted, and temporary errors are retried. */
import assert from "node:assert/strict";
import { type ModelRequest, UsageMeter, modelFrom } from "haft/model";

/** A fake network: the provider is busy once, and then streams its answer. Leave `fetch` out to send real requests. */
const pieces = [
  { type: "message_start", message: { usage: { input_tokens: 420, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "I look." } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "toolu_1", name: "shop__stock", input: {} } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"item": "bre' } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: 'ad"}' } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 31 } },
  { type: "message_stop" },
];
const stream = pieces.map((piece) => `event: ${piece.type}\ndata: ${JSON.stringify(piece)}\n\n`).join("");
const busy = Response.json({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, { status: 529 });
const answers = [busy, new Response(stream, { headers: { "content-type": "text/event-stream" } })];
const fetch = () => Promise.resolve(answers.shift() ?? Response.error());

const meter = new UsageMeter({ prices: { "anthropic/claude-sonnet-5": { inputPerMillion: 3, outputPerMillion: 15 } } });
const model = modelFrom(
  { provider: "anthropic", model: "claude-sonnet-5", retry: { maxAttempts: 3, delayMs: 1 } },
  {
    environment: { ANTHROPIC_API_KEY: "sk-of-yours" },
    fetch,
    meter,
    onRetry: ({ attempt, error }) => console.log(`attempt ${attempt}: ${error.code}`),
  },
);

const stock = { name: "shop::stock", description: "Counts what is on the shelf.", inputSchema: { type: "object" } };
const request: ModelRequest = { messages: [{ role: "user", at: 0, content: "How much bread is left?" }], tools: [stock] };
for await (const event of model.stream(request)) {
  if (event.type === "text-delta") console.log("text:", event.text);
  if (event.type === "call-seal") console.log("call:", event.call);
  if (event.type === "reply-end") console.log("end:", event.reply.finish, event.reply.usage);
}
console.log(String(meter));
assert.equal(meter.total.retries, 1);

/* Prints:
attempt 1: unavailable
text: I look.
call: { id: 'toolu_1', name: 'shop::stock', input: { item: 'bread' } }
end: calls { inputTokens: 420, outputTokens: 31 }
anthropic/claude-sonnet-5: 1 request, 1 retry, 420 tokens in, 31 out, 0.0017 USD
*/
