/** Arguments that servers send twice, with a placeholder, as an object, or at an index of their own: no call runs with other arguments. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { ModelCall } from "../../src/core/model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { joinArguments } from "../../src/wire/join-arguments.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { allEvents, replyOf } from "./recorded-cases.ts";

interface Streamed {
  readonly name: string;
  readonly format: WireFormat;
  /** A stream of one call `get` with the id `call_1`, from the pieces of its arguments. */
  readonly stream: (pieces: readonly JsonValue[]) => readonly JsonValue[];
}

const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({ choices: [{ index: 0, delta, finish_reason: finish }] });
const chatPiece = (entry: JsonObject): JsonObject => chunk({ tool_calls: [entry] });
const END = chunk({}, "tool_calls");
const anthropicBlock = { type: "tool_use", id: "call_1", name: "get", input: {} };
const responsesItem = { type: "function_call", id: "fc_1", call_id: "call_1", name: "get", arguments: "" };

const FORMATS: readonly Streamed[] = [
  {
    name: "Chat Completions",
    format: openAiChat(),
    stream: (pieces) => [
      chatPiece({ index: 0, id: "call_1", function: { name: "get", arguments: "" } }),
      ...pieces.map((piece) => chatPiece({ index: 0, function: { arguments: piece } })),
      END,
    ],
  },
  {
    name: "Anthropic's Messages",
    format: anthropicMessages(),
    stream: (pieces) => [
      { type: "content_block_start", index: 0, content_block: anthropicBlock },
      ...pieces.map((partial_json) => ({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json } })),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
    ],
  },
  {
    name: "Bedrock",
    format: bedrockConverse(),
    stream: (pieces) => [
      { contentBlockStart: { contentBlockIndex: 0, start: { toolUse: { toolUseId: "call_1", name: "get" } } } },
      ...pieces.map((input) => ({ contentBlockDelta: { contentBlockIndex: 0, delta: { toolUse: { input } } } })),
      { contentBlockStop: { contentBlockIndex: 0 } },
      { messageStop: { stopReason: "tool_use" } },
    ],
  },
  {
    name: "Cohere",
    format: cohere(),
    stream: (pieces) => [
      {
        type: "tool-call-start",
        index: 0,
        delta: { message: { tool_calls: { id: "call_1", type: "function", function: { name: "get" } } } },
      },
      ...pieces.map((input) => ({
        type: "tool-call-delta",
        index: 0,
        delta: { message: { tool_calls: { function: { arguments: input } } } },
      })),
      { type: "tool-call-end", index: 0 },
      { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
    ],
  },
];

const REPEATED = ["The arguments were sent more than once; they are read once."];
const PLACEHOLDER = ["An empty object before the arguments is left out."];

function callsOf(format: WireFormat, pieces: readonly JsonValue[]): readonly ModelCall[] {
  return replyOf(allEvents(format, pieces)).calls;
}

describe.each(FORMATS)("F4.17 $name", ({ format, stream }) => {
  test.each<{ title: string; pieces: readonly JsonValue[]; warnings?: readonly string[] }>([
    { title: "whole arguments after their pieces", pieces: ['{"x"', ":1}", '{"x":1}'], warnings: REPEATED },
    { title: "whole arguments after their pieces, with other white space", pieces: ['{"x"', ":1}", '{ "x": 1 }'], warnings: REPEATED },
    { title: "whole arguments after their beginning", pieces: ["{", '{"x":1}'], warnings: REPEATED },
    { title: "pieces that repeat all before them", pieces: ['{"x"', '{"x":', '{"x":1}'], warnings: REPEATED },
    { title: "an empty object before the pieces", pieces: ["{}", '{"x"', ":1}"], warnings: PLACEHOLDER },
  ])("$title are read once", ({ pieces, warnings }) => {
    expect(callsOf(format, stream(pieces))).toEqual([{ id: "call_1", name: "get", input: { x: 1 }, ...(warnings && { warnings }) }]);
  });

  test.each<{ title: string; pieces: readonly JsonValue[] }>([
    { title: "one object", pieces: [{ x: 1 }] },
    { title: "an empty piece at the end", pieces: ['{"x":1}', ""] },
  ])("arguments as $title are read", ({ pieces }) => {
    expect(callsOf(format, stream(pieces))).toEqual([{ id: "call_1", name: "get", input: { x: 1 } }]);
  });

  test("white space that is a piece of its own is kept", () => {
    const text = '{ "text": "two  words\\n" ,\n"x": 1 }';
    const [call] = callsOf(format, stream(Array.from(text)));
    expect(call).toEqual({ id: "call_1", name: "get", input: { text: "two  words\n", x: 1 } });
  });

  test("two different objects stay text, which is not run", () => {
    expect(callsOf(format, stream(['{"x":1}', '{"x":2}']))).toEqual([{ id: "call_1", name: "get", input: '{"x":1}{"x":2}' }]);
  });
});

describe("F4.17 Chat Completions", () => {
  const x = (value: number): string => JSON.stringify({ x: value });
  const [A, B] = [
    { id: "a", name: "f", input: { x: 1 } },
    { id: "b", name: "g", input: { x: 2 } },
  ];
  const start = (index: JsonValue, id: string, name: string, args: JsonValue = ""): JsonObject =>
    chatPiece({ index, id, function: { name, arguments: args } });
  const rest = (fields: JsonObject, args: JsonValue): JsonObject => chatPiece({ ...fields, function: { name: "", arguments: args } });

  test.each<{ title: string; pieces: readonly JsonValue[]; calls?: readonly ModelCall[] }>([
    {
      title: "an index that counts pieces",
      pieces: [start(0, "a", "f"), rest({ index: 1, id: null }, '{"x"'), rest({ index: 2 }, ":1}")],
      calls: [A],
    },
    {
      title: "the index of the next call only from its second piece",
      pieces: [start(0, "a", "f", x(1)), start(0, "b", "g"), rest({ index: 1 }, x(2))],
    },
    {
      title: "a known id at an unknown index",
      pieces: [start(0, "a", "f"), start(1, "b", "g"), rest({ index: 2, id: "a" }, x(1)), rest({ index: 3, id: "b" }, x(2))],
    },
    {
      title: "indexes as strings",
      pieces: [start("0", "a", "f"), start("1", "b", "g"), rest({ index: "1" }, x(2)), rest({ index: "0" }, x(1))],
    },
    { title: "an empty object before the pieces", pieces: [start(0, "a", "f", {}), rest({ index: 0 }, x(1))], calls: [A] },
    {
      title: "an empty object after the pieces",
      pieces: [start(0, "a", "f"), rest({ index: 0 }, x(1)), rest({ index: 0 }, {})],
      calls: [A],
    },
    {
      title: "one entry instead of an array",
      pieces: [chunk({ tool_calls: { index: 0, id: "a", function: { name: "f", parameters: { x: 1 } } } })],
      calls: [A],
    },
    {
      title: "each piece also as function_call",
      pieces: ['{"x"', ":1}"].map((args, at) => {
        const said = { ...(at === 0 ? { name: "f" } : {}), arguments: args };
        return chunk({ tool_calls: [{ index: 0, ...(at === 0 ? { id: "a" } : {}), function: said }], function_call: said });
      }),
      calls: [A],
    },
    {
      title: "the id of the next call before its name, after a call without arguments",
      pieces: [start(0, "a", "f"), chatPiece({ index: 1, id: "b" }), chatPiece({ index: 1, function: { name: "g", arguments: x(2) } })],
      calls: [{ ...A, input: {} }, B],
    },
    {
      title: "an index that counts pieces, each with an id of its own",
      pieces: [start(0, "a", "f"), rest({ index: 1, id: "p1" }, '{"x"'), rest({ index: 2, id: "p2" }, ":1}")],
      calls: [A],
    },
  ])("reads calls with $title", ({ pieces, calls = [A, B] }) => {
    expect(callsOf(openAiChat(), [...pieces, END])).toEqual(calls);
  });

  test("arguments that were sent twice are sent back once", () => {
    const signed = { extra_content: { google: { thought_signature: "s" } } };
    const pieces = [chatPiece({ index: 0, id: "a", function: { name: "f", arguments: x(1) }, ...signed }), rest({ index: 0 }, x(1)), END];
    const { native } = replyOf(allEvents(openAiChat("gemini"), pieces));
    expect(native?.blocks[0]).toMatchObject({ tool_calls: [{ function: { name: "f", arguments: x(1) } }] });
  });

  test("the text of a custom call is sent back unchanged, also if it repeats itself", () => {
    const pieces = [
      chatPiece({ index: 0, id: "a", type: "custom", custom: { name: "f", input: x(1) } }),
      chatPiece({ index: 0, custom: { input: x(1) } }),
    ];
    const { native, calls } = replyOf(allEvents(openAiChat(), [...pieces, END]));
    expect(calls[0]?.input).toEqual({ input: x(1) + x(1) });
    expect(native?.blocks[0]).toMatchObject({ tool_calls: [{ custom: { name: "f", input: x(1) + x(1) } }] });
  });

  test("a choice whose index is a string is the first", () => {
    const { text } = replyOf(allEvents(openAiChat(), [{ choices: [{ index: "0", delta: { content: "Hi." }, finish_reason: "stop" }] }]));
    expect(text).toBe("Hi.");
  });
});

describe("F4.17 Responses", () => {
  const events = (end: JsonObject): readonly JsonObject[] => [
    { type: "response.output_item.added", output_index: 0, item: responsesItem },
    { type: "response.function_call_arguments.delta", output_index: 0, item_id: "fc_1", delta: '{"x":1}' },
    { type: "response.function_call_arguments.done", output_index: 0, item_id: "fc_1", ...end },
    { type: "response.output_item.done", output_index: 0, item: { ...responsesItem, ...end } },
    { type: "response.completed", response: { status: "completed", output: [] } },
  ];
  test.each([{ arguments: "" }, { arguments: null }, {}, { arguments: {} }])(
    "an end with %j does not remove the streamed arguments",
    (end) => {
      expect(callsOf(openAiResponses(), events(end))).toEqual([{ id: "call_1", name: "get", input: { x: 1 } }]);
    },
  );
});

test("H07 however arguments are cut, and whether they are repeated, they are read as they were written", () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 9 });
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), cuts, fc.constantFrom("once", "again", "cumulative"), (input, lengths, how) => {
      const text = JSON.stringify(input);
      const pieces: string[] = [];
      let at = 0;
      for (const length of [...lengths, Infinity]) {
        const piece = text.slice(at, at + length);
        if (piece !== "") pieces.push(how === "cumulative" ? text.slice(0, at + length) : piece);
        at += length;
      }
      expect(JSON.parse(joinArguments(how === "again" ? [...pieces, text] : pieces).text)).toEqual(JSON.parse(text));
    }),
  );
});

describe("F4.17 Responses: the output at the end has each item once", () => {
  const f = (id: string, call: string, x = 1): JsonObject => ({
    type: "function_call",
    id,
    call_id: call,
    name: "f",
    arguments: `{"x":${x}}`,
  });
  const said = (id: string, text: string): JsonObject => ({
    type: "message",
    id,
    role: "assistant",
    content: [{ type: "output_text", text }],
  });
  const thought: JsonObject = { type: "reasoning", id: "rs_1", summary: [] };
  const added = (index: number, item: JsonObject): JsonObject => ({
    type: "response.output_item.added",
    output_index: index,
    item: { ...item, arguments: "" },
  });
  const done = (index: number, item: JsonObject): JsonObject => ({ type: "response.output_item.done", output_index: index, item });
  const completed = (...output: readonly JsonObject[]): JsonObject => ({
    type: "response.completed",
    response: { status: "completed", output },
  });
  const delta = (index: number, text: string): JsonObject => ({
    type: "response.output_text.delta",
    output_index: index,
    item_id: "m",
    delta: text,
  });

  test.each<{ title: string; events: readonly JsonObject[]; ids?: readonly string[]; text?: string }>([
    { title: "other ids at another index", events: [added(1, f("a", "c1")), done(1, f("a", "c1")), completed(f("z", "c9"))] },
    { title: "other ids behind an item that was not streamed", events: [done(0, f("a", "c1")), completed(thought, f("z", "c9"))] },
    {
      title: "other ids and further fields behind an item that was not streamed",
      events: [done(0, f("a", "c1")), completed(thought, { ...f("z", "c9"), namespace: null, created_by: "x" })],
    },
    { title: "the same ids at another index, of a call that was only begun", events: [added(1, f("a", "c1")), completed(f("a", "c1"))] },
    { title: "other ids at another index, of a call that was only begun", events: [added(1, f("a", "c1")), completed(f("z", "c9"))] },
    {
      title: "two equal calls, of which one was streamed",
      events: [done(0, f("a", "c1")), completed(f("b", "c2"), f("a", "c1"))],
      ids: ["c1", "c2"],
    },
    {
      title: "two calls in another order with other ids",
      events: [done(0, f("a", "c1")), done(1, f("b", "c2", 2)), completed(f("y", "c8", 2), f("z", "c9"))],
      ids: ["c1", "c2"],
    },
    { title: "a text with another id at another index", events: [delta(1, "Hi."), completed(said("z", "Hi."))], ids: [], text: "Hi." },
    {
      title: "a text and a call, both with other ids",
      events: [delta(1, "Hi."), done(1, said("m", "Hi.")), done(2, f("a", "c1")), completed(said("y", "Hi."), f("z", "c9"))],
      text: "Hi.",
    },
    {
      title: "the id of the call in place of the item's",
      events: [
        { ...added(0, f("a", "c1")), output_index: null },
        { type: "response.function_call_arguments.delta", item_id: "c1", delta: '{"x":1}' },
        { ...done(0, f("a", "c1")), output_index: null },
        completed(),
      ],
    },
  ])("$title", ({ events, ids = ["c1"], text = "" }) => {
    const reply = replyOf(allEvents(openAiResponses(), events));
    expect([reply.calls.map(({ id }) => id), reply.text]).toEqual([ids, text]);
    expect(reply.calls.every(({ name }) => name === "f")).toBe(true);
  });
});
