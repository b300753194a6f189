/** Arguments that were cut off, with the end of a whole message behind them: what every format promises. */
import { afterAll, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import type { ModelCall, ModelEvent } from "../../src/core/model.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { rolesOf } from "../../src/wire/text/grammar-roles.ts";
import { TEXT_FORMATS, getGrammar, textFormat } from "../../src/wire/text/formats.ts";
import { readPieces } from "./text/reading.ts";

const INPUT = { title: "a b", filter: { id: 5, tags: ["x", "y"] }, dry: true, note: "say {so}", count: 120 };
const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    title: { type: "string" },
    filter: { type: "object" },
    dry: { type: "boolean" },
    note: { type: "string" },
    count: { type: "integer" },
  },
  required: ["title"],
};
/** Where a format's arguments have no end of their own but each has one, a missing one cannot be told from one that was never meant. */
const ALL_REQUIRED: JsonObject = { ...SCHEMA, required: Object.keys(INPUT) };

const runs = { loose: runtimeFor(SCHEMA), strict: runtimeFor(ALL_REQUIRED) };
afterAll(() => Promise.all([runs.loose.runtime.close(), runs.strict.runtime.close()]));

function runtimeFor(inputSchema: JsonObject) {
  const ran: unknown[] = [];
  const execute = (input: unknown): string => {
    ran.push(input);
    return "done";
  };
  const runtime = createRuntime({
    tools: [{ name: "change", description: "Changes something.", inputSchema, effects: { writes: ["it"] }, execute }],
  });
  return { runtime, ran };
}

/** The inputs that the tool ran with. */
async function runAll(calls: readonly ModelCall[], { runtime, ran }: ReturnType<typeof runtimeFor>): Promise<readonly unknown[]> {
  ran.length = 0;
  await runtime.execute(calls.map(({ name, input }) => ({ name, input })));
  return [...ran];
}

const callsOf = (events: readonly ModelEvent[]): readonly ModelCall[] =>
  events.flatMap((event) => (event.type === "reply-end" ? event.reply.calls : []));

describe.each([...TEXT_FORMATS.keys()])("%s", (name) => {
  const format = textFormat(name);
  const tools = [{ name: "change", description: "", inputSchema: SCHEMA }];
  const written = format.writeCalls([{ name: "change", input: INPUT }]);

  test("F1.15 A06 a tool that writes never runs with truncated arguments, even if the end of the call follows them", async () => {
    const wrong: unknown[] = [];
    for (const end of endsOf(written))
      for (let at = 0; at < written.length - end.length; at++) {
        const text = written.slice(0, at) + end;
        for (const input of await runAll(readPieces(format, [text], { tools }).reply.calls, hasOwnEnd(format) ? runs.loose : runs.strict))
          if (JSON.stringify(input) !== JSON.stringify(INPUT)) wrong.push([text, input]);
      }
    expect(wrong).toEqual([]);
  });

  test("F1.15 F1.40 A06 a message that ends inside a call makes no call with other arguments, and its remainder is text", async () => {
    const inputs = [{ title: "first" }, INPUT];
    const two = format.writeCalls(inputs.map((input) => ({ name: "change", input })));
    const wholeAt = [0];
    const wrong: unknown[] = [];
    for (let at = 1; at < two.length; at++) {
      const text = two.slice(0, at);
      const { reply } = readPieces(format, [text], { tools });
      const whole = reply.calls.filter(({ input }) => isJsonObject(input));
      const open = reply.calls.slice(whole.length);
      const rest = text.slice((wholeAt[whole.length] ??= at));
      const isText = open.length === 0 && isSaid(name, { rest, said: reply.text });
      const isOpen = open.length === 1 && reply.text.trim() === "" && rest.endsWith(String(open[0]?.input));
      const ran = await runAll(reply.calls, runs.loose);
      if ((!isText && !isOpen) || JSON.stringify(ran) !== JSON.stringify(inputs.slice(0, whole.length))) wrong.push([text, reply]);
    }
    expect(wrong).toEqual([]);
  });

  test("F1.15 the complete call runs", async () => {
    expect(await runAll(readPieces(format, [written], { tools }).reply.calls, runs.strict)).toEqual([INPUT]);
  });
});

/** The head of a message of Harmony that has neither its end nor a recipient. */
const OPEN_HEAD = /<\|start\|>assistant(?!.*to=).*$/u;

/** Whether a reader is shown a text, but for marks around calls, a mark or a head that nothing follows, and what separates or ends calls. */
function isSaid(name: string, { rest, said }: { readonly rest: string; readonly said: string }): boolean {
  const { roles } = rolesOf(getGrammar(name));
  const around = [...roles].flatMap(([mark, { kind }]) => (kind === "call" ? [] : [mark]));
  const last = [...roles.keys()].find((mark) => rest.endsWith(mark)) ?? "";
  const plain = (text: string): string => around.reduce((left, mark) => left.replaceAll(mark, ""), text).replaceAll(/^[\s,;\]`]+|\s/gu, "");
  return [rest, rest.slice(0, rest.length - last.length), rest.replace(OPEN_HEAD, "")].some((text) => plain(text) === plain(said));
}

/** Whether the arguments as a whole have an end that is not the call's. */
function hasOwnEnd({ writeCalls }: { readonly writeCalls: (calls: readonly { name: string; input: JsonObject }[]) => string }): boolean {
  return /\{\s*\}|\(\)/u.test(writeCalls([{ name: "change", input: {} }]));
}

/** The marks at the end of a written call, without those that end one of its arguments. */
function endsOf(written: string): readonly string[] {
  const [tail = ""] = /(?:(?:<[^<>]*>|\[[^[\]]*\]|```)\s*)*$/u.exec(written) ?? [];
  const marks = [...tail.matchAll(/<[^<>]*>|\[[^[\]]*\]|```/gu)].filter(([mark]) => written.split(mark).length === 2);
  return ["", ...marks.map(({ index }) => tail.slice(index))];
}

const TEXT = JSON.stringify(INPUT);
const call = (text: string): JsonObject => ({ index: 0, id: "c1", type: "function", function: { name: "change", arguments: text } });
const chat = (text: string): readonly JsonValue[] => [
  { id: "r", choices: [{ index: 0, delta: { role: "assistant", tool_calls: [call(text)] } }] },
  { id: "r", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
  "[DONE]",
];
const item = (text: string): JsonObject => ({
  type: "function_call",
  id: "f1",
  call_id: "c1",
  name: "change",
  arguments: text,
  status: "completed",
});
const cohereEvent = (type: string, message: JsonObject): JsonObject => ({ type, index: 0, delta: { message } });

/** Streams in which a call has the text as its arguments, and which end well. */
const STREAMS: readonly (readonly [WireFormat, (text: string) => readonly JsonValue[]])[] = [
  [openAiChat(), chat],
  [mistral(), chat],
  [
    anthropicMessages(),
    (text) => [
      { type: "message_start", message: { id: "m", model: "x", role: "assistant", content: [], usage: {} } },
      { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "c1", name: "change", input: {} } },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: text } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: {} },
      { type: "message_stop" },
    ],
  ],
  [
    openAiResponses(),
    (text) => [
      { type: "response.output_item.added", output_index: 0, item: { ...item(""), status: "in_progress" } },
      { type: "response.function_call_arguments.delta", item_id: "f1", output_index: 0, delta: text },
      { type: "response.function_call_arguments.done", item_id: "f1", output_index: 0, arguments: text },
      { type: "response.output_item.done", output_index: 0, item: item(text) },
      { type: "response.completed", response: { id: "r", status: "completed", output: [item(text)], usage: {} } },
    ],
  ],
  [
    bedrockConverse(),
    (text) => [
      { messageStart: { role: "assistant" } },
      { contentBlockStart: { contentBlockIndex: 0, start: { toolUse: { toolUseId: "c1", name: "change" } } } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { toolUse: { input: text } } } },
      { contentBlockStop: { contentBlockIndex: 0 } },
      { messageStop: { stopReason: "tool_use" } },
    ],
  ],
  [
    cohere(),
    (text) => [
      { id: "r", type: "message-start", delta: { message: { role: "assistant", content: [], tool_plan: "", tool_calls: [] } } },
      cohereEvent("tool-call-start", { tool_calls: { id: "c1", type: "function", function: { name: "change", arguments: "" } } }),
      cohereEvent("tool-call-delta", { tool_calls: { function: { arguments: text } } }),
      { type: "tool-call-end", index: 0 },
      { type: "message-end", delta: { finish_reason: "TOOL_CALL", usage: {} } },
    ],
  ],
];

describe.each(STREAMS.map(([format, stream]) => [format.name, format, stream] as const))("%s", (_name, format, stream) => {
  const read = (text: string): readonly ModelCall[] => {
    const decoder = format.decodeStream();
    return callsOf([...stream(text).flatMap((piece) => decoder.push(piece)), ...decoder.end()]);
  };

  test("F1.15 A06 a tool that writes never runs with truncated streamed arguments, even if the message ends normally", async () => {
    const wrong: unknown[] = [];
    for (let at = 1; at < TEXT.length; at++)
      for (const input of await runAll(read(TEXT.slice(0, at)), runs.loose)) wrong.push([TEXT.slice(0, at), input]);
    expect(wrong).toEqual([]);
  });

  test("F1.15 complete arguments run", async () => {
    const calls = read(TEXT);
    expect(calls.every(({ input }) => isJsonObject(input))).toBe(true);
    expect(await runAll(calls, runs.loose)).toEqual([INPUT]);
  });
});
