/** A custom model, used in a loop and tested against the contract of all models. */
import { ToolError, createRuntime, defineTool, pure, resultText } from "haft";
import type { Model, ModelCall, ModelReply } from "haft/model";
import { modelContract } from "haft/testing";

/** A rule in place of a model: it calls "roll" until it has a result. Call your own server or library here instead. */
const model: Model = {
  name: "own/dice",
  async *stream({ messages, tools = [] }, { signal } = {}) {
    if (signal?.aborted === true) throw new ToolError("cancelled", "The request was cancelled.");
    const last = messages.at(-1);
    const roll = tools.find(({ name }) => name === "default::roll");
    const calls: ModelCall[] = last?.role === "result" || roll === undefined ? [] : [{ id: "1", name: roll.name, input: { sides: 6 } }];
    const text = last?.role === "result" ? `You rolled ${resultText(last.result)}.` : "";
    if (text !== "") yield { type: "text-delta", text };
    for (const [index, call] of calls.entries()) yield { type: "call-seal", index, call };
    const finish = calls.length > 0 ? "calls" : "stop";
    const usage = { inputTokens: messages.length, outputTokens: 1 };
    const reply: ModelReply = { text, reasoning: "", media: [], calls, providerCalls: [], finish, usage };
    yield { type: "reply-end", reply };
  },
};

const roll = defineTool({
  name: "roll",
  description: "Rolls a die.",
  inputSchema: { type: "object", properties: { sides: { type: "integer" } }, required: ["sides"] },
  effects: pure,
  execute: ({ sides }) => sides - 2, // not random, so that the example always prints the same
});
const runtime = createRuntime({ tools: [roll] });
const { text, rounds } = await runtime.loop({ model }).run("Roll a die.");
console.log(`${text} (${rounds} rounds)`);
await runtime.close();

const tools = [{ name: "default::roll", description: "Rolls a die.", inputSchema: { type: "object" } }];
const subject = { model: () => model, requests: [{ messages: [{ role: "user", at: 0, content: "Roll." }], tools }] } as const;
for (const one of modelContract) if (one.appliesTo(subject)) await one.run(subject);
console.log("the model keeps what models promise");

/* Prints:
You rolled 4. (2 rounds)
the model keeps what models promise
*/
