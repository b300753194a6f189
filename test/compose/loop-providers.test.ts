/** Loops against fake providers, which refuse what the provider refuses: nothing that a loop adds to a conversation is refused. */
import { describe, expect, test } from "vitest";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import type { LoopOptions } from "../../src/compose/loop-options.ts";
import { createLoop, type Loop } from "../../src/compose/loop.ts";
import type { Model } from "../../src/core/model.ts";
import { modelFrom } from "../../src/model/model-from.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { KEY, hasty, serve } from "../model/listen.ts";
import type { ProviderServer, ServedAnswer } from "../model/provider-server.ts";
import { FORMATS, NAMES, type Name } from "../model/served-providers.ts";

const OUTPUT = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
const ANSWER = { text: "Seven.", reasoning: "It is seven." };
const THOUGHT = { reasoning: "Hm." };
const READ = { reasoning: "I look.", calls: [{ name: "read", input: { path: "a" } }] };

interface Played {
  readonly loop: Loop;
  readonly session: RuntimeSession;
  readonly server: ProviderServer;
}

async function provide(name: Name, script: readonly ServedAnswer[]): Promise<{ readonly model: Model; readonly server: ProviderServer }> {
  const server = await serve({ format: FORMATS[name], script, key: KEY });
  const spec = { provider: name, model: "some-model", baseUrl: server.url, apiKey: KEY, ports: hasty().ports };
  return { model: modelFrom(spec, { environment: {} }), server };
}

async function play(name: Name, script: readonly ServedAnswer[], options: Partial<LoopOptions> = {}): Promise<Played> {
  const { model, server } = await provide(name, script);
  const runtime = createRuntime({
    tools: [
      {
        name: "read",
        description: "Reads.",
        inputSchema: { type: "object", properties: { path: { type: "string" } } },
        effects: { reads: ["files"] },
        ...(options.history === undefined ? {} : { supersedes: () => true }),
        execute: () => "x".repeat(500),
      },
    ],
  });
  const session = runtime.session("s");
  return { loop: createLoop({ model, session, ...options }), session, server };
}

function refusals({ requests }: ProviderServer): readonly (string | undefined)[] {
  return requests.map(({ refused }) => refused);
}

/** The messages of a request in the order in which the provider reads them, each of its blocks with its role, behind what it reads before all of them. */
function spoken({ body }: { readonly body: JsonObject }): readonly string[] {
  const all = body["messages"] ?? body["contents"] ?? body["input"] ?? [];
  const first = JSON.stringify([body["system"], body["systemInstruction"], body["instructions"], body["tools"], body["toolConfig"]]);
  return [first, ...messagesOf(all)];
}

function messagesOf(all: JsonValue): readonly string[] {
  return (isJsonArray(all) ? all.filter(isJsonObject) : []).flatMap(({ role = null, content, parts, ...rest }) => {
    const blocks: JsonValue = content ?? parts ?? null;
    const said = isJsonArray(blocks) && Object.keys(rest).length === 0 ? blocks : [{ blocks, ...rest }];
    return said.map((block) => JSON.stringify([role, block]));
  });
}

describe.each(NAMES)("F4.18 a loop with %s", (name) => {
  test("requests an answer again if it does not match the output schema", async () => {
    const { loop, server } = await play(name, [ANSWER, { text: '{"n":7}' }]);
    const { reason, output } = await loop.run("How many?", { output: OUTPUT });
    expect([refusals(server), reason, output]).toEqual([[undefined, undefined], "answered", { n: 7 }]);
  });

  test.each([
    ["an answer", ANSWER],
    ["a thought", THOUGHT],
  ])("continues without input after %s, and with input", async (_, first) => {
    const { loop, server } = await play(name, [first, ANSWER]);
    const reasons = [await loop.run("Hi"), await loop.run(), await loop.run("And now?"), await loop.run()].map(({ reason }) => reason);
    expect([refusals(server), reasons]).toEqual([Array(4).fill(undefined), Array(4).fill("answered")]);
  });

  test("can begin with a system message of the program", async () => {
    const { loop, server, session } = await play(name, [ANSWER]);
    await session.addMessage({ role: "system", content: "A timer has fired." });
    const reasons = [await loop.run(), await loop.run()].map(({ reason }) => reason);
    expect([refusals(server), reasons]).toEqual([Array(2).fill(undefined), Array(2).fill("answered")]);
  });

  test("adds notes on repeated calls and a full context, and each request extends the one before", async () => {
    const full = { inputTokens: 900 };
    const script = [READ, READ, { ...READ, ...full }, { ...READ, inputTokens: 980 }, ANSWER];
    const { loop, server, session } = await play(name, script, { limits: { contextTokens: 1_000 } });
    const { reason } = await loop.run("Go.");
    await loop.run();
    expect([refusals(server), reason]).toEqual([Array(6).fill(undefined), "answered"]);
    expect(session.messages().filter(({ role }) => role === "system").length).toBeGreaterThan(1);
    const sent = server.requests.map(spoken);
    for (const [index, messages] of sent.entries()) expect(sent[index + 1]?.slice(0, messages.length) ?? messages).toEqual(messages);
  });

  test("sends valid requests for calls without text, after an answer and after calls of the program", async () => {
    const { loop, server, session } = await play(name, [ANSWER, { calls: READ.calls }, { text: "Read." }, { calls: READ.calls }, ANSWER]);
    await loop.run("Go.");
    await loop.run();
    await session.execute({ name: "read", input: { path: "b" } });
    await loop.run();
    expect(refusals(server)).toEqual(Array(5).fill(undefined));
    const sent = server.requests.map(spoken);
    for (const [index, messages] of sent.entries()) expect(sent[index + 1]?.slice(0, messages.length) ?? messages).toEqual(messages);
  });

  test("sends valid requests when old calls are trimmed from its history", async () => {
    const trim = { budgetBytes: 300, threshold: 0.5 };
    const { loop, server } = await play(name, [READ, READ, READ, ANSWER], { history: { trim } });
    const { reason } = await loop.run("Go.");
    expect([refusals(server), reason]).toEqual([Array(4).fill(undefined), "answered"]);
  });
});

const SEARCH = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
const FOUND = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };
const SEARCHING = { toolUse: { toolUseId: "tooluse_1", name: "web_search", type: "server_tool_use", input: {} } };
const anthropic = (content: readonly JsonObject[], stop_reason: string): JsonObject => ({ type: "message", content, stop_reason });
const bedrock = (content: readonly JsonObject[], stopReason: string): JsonObject => ({ output: { message: { content } }, stopReason });
const gemini = (parts: readonly JsonObject[], finishReason: string): JsonObject => ({ candidates: [{ content: { parts }, finishReason }] });

/** By provider, a message that pauses in the middle of what the provider runs itself, and how it goes on. */
const PAUSES = {
  anthropic: [
    anthropic([{ type: "text", text: "I search." }, SEARCH], "pause_turn"),
    anthropic([FOUND, { type: "text", text: "Found." }], "end_turn"),
  ],
  bedrock: [
    bedrock([{ text: "I search." }, SEARCHING], "pause_turn"),
    bedrock([{ toolResult: { toolUseId: "tooluse_1", content: [] } }, { text: "Found." }], "end_turn"),
  ],
  gemini: [
    gemini([{ text: "I run it." }, { executableCode: { language: "PYTHON", code: "1" } }], "CONTINUATION"),
    gemini([{ codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } }, { text: "Found." }], "STOP"),
  ],
} as const satisfies Partial<Record<Name, readonly JsonObject[]>>;

describe.each(["anthropic", "bedrock", "gemini"] as const)("F4.20 a paused message of %s", (name) => {
  const raw = (body: JsonObject): ServedAnswer => ({ raw: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const [paused, found] = PAUSES[name];

  test("is sent back unchanged and continued", async () => {
    const { loop, server } = await play(name, [raw(paused), raw(paused), raw(found), ANSWER]);
    const { reason, text } = await loop.run("Search.");
    expect([refusals(server), reason, text]).toEqual([Array(3).fill(undefined), "answered", "Found."]);
    await loop.run("And now?");
    expect(refusals(server)).toEqual(Array(4).fill(undefined));
    expect(spoken(server.requests[3] ?? { body: {} }).slice(0, 4)).toEqual(spoken(server.requests[2] ?? { body: {} }).slice(0, 4));
  });

  test.each(["Never mind.", undefined])("is not continued if the user speaks or another provider answers: %j", async (input) => {
    const { loop, server, session } = await play(name, [raw(paused), ANSWER], { limits: { maxRounds: 1 } });
    expect((await loop.run("Search.")).reason).toBe("max-rounds");
    if (input === undefined) {
      const { model } = await provide("openai-chat", [READ, ANSWER]);
      expect((await createLoop({ model, session }).run()).reason).toBe("answered");
    }
    expect((await loop.run(input)).reason).toBe("answered");
    expect(refusals(server)).toEqual([undefined, undefined]);
  });
});
