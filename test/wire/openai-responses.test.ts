/** OpenAI's Responses: requests, replies, streams as they are and as they should not be. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelEvent, ModelReply, ModelRequest, ModelTool } from "../../src/core/model.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import { answered, called, said } from "./conversations.ts";

const format = openAiResponses();
const SEARCH: ModelTool = {
  name: "web::search",
  description: "Searches.",
  inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
};

function body(request: Partial<ModelRequest>, model = "gpt-5"): JsonObject {
  return format.encodeRequest({ messages: [said("user", "Hi.")], ...request }, { model, stream: false }).body;
}

describe("requests", () => {
  test("F4.16 tools are sent with strict: false, store is off, and encrypted reasoning is requested", () => {
    expect(
      body({ system: "Be brief.", tools: [SEARCH], toolChoice: { tool: "web::search" }, parallelCalls: false, maxOutputTokens: 9 }),
    ).toEqual({
      model: "gpt-5",
      instructions: "Be brief.",
      input: [{ type: "message", role: "user", content: "Hi." }],
      tools: [{ type: "function", name: "web__search", description: "Searches.", parameters: SEARCH.inputSchema, strict: false }],
      tool_choice: { type: "function", name: "web__search" },
      parallel_tool_calls: false,
      max_output_tokens: 9,
      store: false,
      include: ["reasoning.encrypted_content"],
    });
  });

  test("reasoning is not requested from models without it, and native fields override the body", () => {
    expect(body({}, "openai/gpt-4o-mini")).not.toHaveProperty("include");
    expect(body({ native: { store: true, service_tier: "flex" } })).toMatchObject({ store: true, service_tier: "flex" });
  });

  test.each<[string, Partial<ModelRequest>]>([
    ["a tool that is not there", { tools: [SEARCH], toolChoice: { tool: "web::find" } }],
    ["a call where there is no tool", { toolChoice: "required" }],
  ])("a tool choice of %s throws invalid_argument", (_, request) => {
    expect(() => body(request)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  });

  test("F1.18 a provider-defined tool is sent as it is, and its calls are decoded to the tool's own name", () => {
    const shell: ModelTool = { ...SEARCH, name: "box::run", providers: { "openai-responses": { type: "shell" } } };
    const sql: ModelTool = { ...SEARCH, name: "db::sql", providers: { "openai-responses": { type: "custom", name: "write_sql" } } };
    const { tools, toolNames } = format.encodeTools([shell, sql]);
    expect(tools).toEqual([{ type: "shell" }, { type: "custom", name: "write_sql" }]);
    const reply = format.decodeReply(
      {
        status: "completed",
        output: [
          { type: "shell_call", id: "sh_1", call_id: "call_1", action: { commands: ["ls"] } },
          { type: "custom_tool_call", id: "ct_1", call_id: "call_2", name: "write_sql", input: "SELECT 1" },
        ],
      },
      { toolNames },
    );
    expect(reply.calls).toEqual([
      { id: "call_1", name: "box::run", input: { action: { commands: ["ls"] } }, native: reply.native?.blocks[0] },
      { id: "call_2", name: "db::sql", kind: "custom", input: { input: "SELECT 1" } },
    ]);
  });

  test("choosing an overloaded tool allows all of its definitions", () => {
    const tools = ["a", "b"].map((fingerprint) => ({ ...SEARCH, fingerprint }));
    const { tools: sent, tool_choice: choice } = body({ tools, toolChoice: { tool: "web::search" } });
    const names = (sent as readonly JsonObject[]).map((tool) => ({ type: "function", name: tool["name"] ?? null }));
    expect(choice).toEqual({ type: "allowed_tools", mode: "required", tools: names });
  });
});

describe("conversations", () => {
  const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;

  test("F4.18 calls and results are encoded as items, images of results are included, and errors are text", () => {
    const { messages } = format.encodeMessages([
      said("system", "Be brief."),
      said("user", [{ type: "text", text: "Look:" }, image]),
      said("assistant", "I look."),
      called("call_a", "web::search", { input: { query: "x" } }),
      called("call_b", "web::search"),
      answered("call_a", "web::search", { content: [{ type: "text", text: "Seen." }, image] }),
      answered("call_b", "web::search", {
        status: "error",
        error: { code: "timeout", message: "Too slow.", retryable: true, outcome: "unknown" },
      }),
    ]);
    const shown = { type: "input_image", detail: "auto", image_url: "data:image/png;base64,iVBORw0KGgo=" };
    expect(messages).toEqual([
      { type: "message", role: "system", content: "Be brief." },
      { type: "message", role: "user", content: [{ type: "input_text", text: "Look:" }, shown] },
      { type: "message", role: "assistant", content: "I look." },
      { type: "function_call", call_id: "call_a", name: "web__search", arguments: '{"query":"x"}' },
      { type: "function_call", call_id: "call_b", name: "web__search", arguments: "{}" },
      { type: "function_call_output", call_id: "call_a", output: [{ type: "input_text", text: "Seen." }, shown] },
      { type: "function_call_output", call_id: "call_b", output: "Error (timeout): Too slow." },
    ]);
  });

  test("ids of more than 64 characters are shortened, identically for call and result", () => {
    const id = "x".repeat(70);
    const { messages } = format.encodeMessages([called(id, "f"), answered(id, "f", { output: 1 })]);
    const [call, result] = messages;
    expect(String(call?.["call_id"])).toHaveLength(64);
    expect(result?.["call_id"]).toBe(call?.["call_id"]);
  });

  /** A message of the provider's with one call of each kind, as it goes back. */
  const own: readonly JsonObject[] = [
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "secret" },
    { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "x" } },
    { type: "function_call", id: "fc_1", call_id: "c1", name: "f", arguments: "{}", caller: { type: "program", caller_id: "p1" } },
    { type: "custom_tool_call", id: "ct_1", call_id: "c2", name: "g", input: "text" },
    { type: "shell_call", id: "sh_1", call_id: "c3", action: { commands: ["ls"], max_output_length: 50 } },
    { type: "apply_patch_call", id: "ap_1", call_id: "c4", operation: { type: "delete_file", path: "x" } },
    { type: "local_shell_call", id: "ls_1", call_id: "c5", action: { type: "exec", command: ["ls"] } },
    { type: "tool_search_call", id: "ts_1", call_id: "c6", execution: "client", arguments: {} },
  ];

  function session(blocks: readonly JsonObject[], ids: readonly string[], output: JsonValue = "done"): readonly ModelMessage[] {
    return [
      { role: "assistant", at: 0, content: "", native: { format: "openai-responses", blocks } },
      ...ids.map((id) => ({ ...called(`run_${id}`, "f"), call: { id, name: "f", input: {} } })),
      ...ids.map((id) => answered(`run_${id}`, "f", { id, output })),
    ];
  }

  test("native items are sent back unchanged, each call with the output item of its kind", () => {
    const { messages } = format.encodeMessages(session(own, ["c1", "c2", "c3", "c4", "c5", "c6"]));
    expect(messages).toEqual([
      ...own,
      { type: "function_call_output", call_id: "c1", output: "done", caller: { type: "program", caller_id: "p1" } },
      { type: "custom_tool_call_output", call_id: "c2", output: "done" },
      {
        type: "shell_call_output",
        call_id: "c3",
        max_output_length: 50,
        output: [{ stdout: "done", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
      },
      { type: "apply_patch_call_output", call_id: "c4", status: "completed", output: "done" },
      { type: "local_shell_call_output", id: "c5", call_id: "c5", output: "done" },
      { type: "tool_search_output", call_id: "c6", execution: "client", status: "completed", tools: [] },
    ]);
  });

  test("a shell output and found tools that are already in the provider's form are sent unchanged", () => {
    const output = [{ stdout: "a", stderr: "b", outcome: { type: "exit", exit_code: 3 } }];
    expect(format.encodeMessages(session(own.slice(4, 5), ["c3"], output)).messages[1]?.["output"]).toEqual(output);
    const tools = [{ type: "function", name: "f" }];
    expect(format.encodeMessages(session(own.slice(7), ["c6"], { tools })).messages[1]?.["tools"]).toEqual(tools);
  });

  test("a screenshot answers a computer call; without one the message is encoded as text", () => {
    const call = { type: "computer_call", id: "cu_1", call_id: "c1", action: { type: "screenshot" } };
    const [first, ...rest] = session([call], ["c1"]).slice(0, 2);
    const shown = answered("run_c1", "f", { id: "c1", content: [image] });
    expect(format.encodeMessages([...(first === undefined ? [] : [first]), ...rest, shown]).messages).toEqual([
      call,
      {
        type: "computer_call_output",
        call_id: "c1",
        output: { type: "computer_screenshot", image_url: "data:image/png;base64,iVBORw0KGgo=" },
      },
    ]);
    expect(format.encodeMessages(session([call], ["c1"])).messages.map(({ type }) => type)).toEqual([
      "function_call",
      "function_call_output",
    ]);
  });

  test("reasoning without encrypted content is omitted if the provider stores nothing", () => {
    const messages = session([{ type: "reasoning", id: "rs_1", summary: [] }, ...own.slice(2, 3)], ["c1"]);
    const types = (native: JsonObject): readonly JsonValue[] =>
      (body({ messages, tools: [SEARCH], native })["input"] as readonly JsonObject[]).map(({ type }) => type ?? null);
    expect(types({})).toEqual(["function_call", "function_call_output"]);
    expect(types({ store: true })).toEqual(["reasoning", "function_call", "function_call_output"]);
  });

  test("reasoning is sent back only before the item that it led to, and only to models with reasoning", () => {
    const thought = (id: string): JsonObject => ({ type: "reasoning", id, summary: [], encrypted_content: id });
    const call = (id: string): JsonObject => ({ type: "function_call", call_id: id, name: "a", arguments: "{}" });
    const blocks = [thought("r1"), thought("r2"), call("c1"), thought("r3"), call("c2"), thought("r4")];
    const reply = { role: "assistant", at: 0, content: "", native: { format: format.name, blocks } } as const;
    const sent = (model: string, ...rest: readonly ModelMessage[]): readonly unknown[] => {
      const { input } = body({ messages: [said("user", "Hi"), reply, ...rest], tools: [SEARCH] }, model);
      return isJsonArray(input) ? input.slice(1).map((item) => (isJsonObject(item) ? (item["id"] ?? item["call_id"]) : item)) : [];
    };
    const [first, second] = [called("k1", "a", { id: "c1" }), called("k2", "a", { id: "c2" })];
    expect(sent("gpt-5", first, second)).toEqual(["r1", "r2", "c1", "r3", "c2", "c1", "c2"]);
    expect(sent("gpt-5", second)).toEqual(["r3", "c2", "c2"]);
    expect(sent("gpt-5")).toEqual([]);
    expect(sent("gpt-4.1", second)).toEqual(["c2", "c2"]);
  });

  test("F4.21 without tools, calls are encoded as text", () => {
    const { input } = body({ messages: [said("user", "Go."), called("c", "f"), answered("c", "f", { output: 1 })] });
    expect(JSON.stringify(input)).not.toContain("function_call");
  });

  test("F4.18 results alone are encoded by the kind of their calls", () => {
    const { result } = answered("run_1", "f", { output: "done" });
    expect(
      format.encodeResults([
        { id: "c1", name: "f", result },
        { name: "g", kind: "custom", result },
      ]),
    ).toEqual([
      { type: "function_call_output", call_id: "c1", output: "done" },
      { type: "custom_tool_call_output", call_id: "run_1", output: "done" },
    ]);
  });
});

function events(pieces: readonly JsonValue[]): readonly ModelEvent[] {
  const decoder = format.decodeStream();
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

function replyTo(pieces: readonly JsonValue[]): ModelReply {
  const last = events(pieces).at(-1);
  if (last?.type !== "reply-end") throw new Error("no reply");
  return last.reply;
}

const CALL = { type: "function_call", id: "fc_1", call_id: "c1", name: "web__search", arguments: '{"query":"x"}', status: "completed" };
const added = { type: "response.output_item.added", output_index: 0, item: { ...CALL, arguments: "", status: "in_progress" } };
const done = { type: "response.output_item.done", output_index: 0, item: CALL };
const completed = {
  type: "response.completed",
  response: {
    id: "resp_1",
    model: "gpt-5",
    status: "completed",
    output: [CALL],
    usage: {
      input_tokens: 5,
      output_tokens: 7,
      input_tokens_details: { cached_tokens: 2 },
      output_tokens_details: { reasoning_tokens: 3 },
    },
  },
};
const SEALED = { id: "c1", name: "web::search", input: { query: "x" } };

function delta(text: string): JsonObject {
  return { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 0, delta: text };
}

describe("streams", () => {
  test("F1.15 a call is sealed when its arguments are complete, not when the message ends", () => {
    const finished = { type: "response.function_call_arguments.done", output_index: 0, item_id: "fc_1", arguments: '{"query":"x"}' };
    const decoder = format.decodeStream();
    decoder.push(added);
    expect(decoder.push(delta('{"query"'))).toEqual([{ type: "call-delta", index: 0, text: '{"query"' }]);
    expect(decoder.push(finished)).toEqual([{ type: "call-seal", index: 0, call: SEALED }]);
    expect([...decoder.push(done), ...decoder.push(completed)]).toEqual([]);
    expect(decoder.end()).toEqual([
      {
        type: "reply-end",
        reply: {
          id: "resp_1",
          model: "gpt-5",
          text: "",
          reasoning: "",
          media: [],
          calls: [SEALED],
          providerCalls: [],
          finish: "calls",
          finishDetail: "completed",
          usage: { inputTokens: 5, outputTokens: 7, cachedInputTokens: 2, reasoningTokens: 3 },
        },
      },
    ]);
    expect(decoder.end()).toEqual([]);
  });

  test.each<[string, readonly JsonValue[]]>([
    ["without output_item.added", [delta('{"que'), delta('ry":"x"}'), done, completed]],
    ["with the item's end only", [done, completed]],
    ["in the whole response only", [completed]],
    ["with events nobody knows", [{ type: "response.future.thing", output_index: 0 }, 5, "[DONE]", null, [], added, done, completed]],
    [
      "without indexes",
      [{ ...added, output_index: null }, { ...delta('{"query":"x"}'), output_index: null }, { ...done, output_index: null }, completed],
    ],
  ])("H07 a call %s decodes to the same call", (_, pieces) => {
    expect(replyTo(pieces).calls).toEqual([SEALED]);
  });

  test("H07 a truncated stream returns no calls, even if some were sealed", () => {
    for (const pieces of [[added], [added, delta('{"query":"x"}')], [added, done]])
      expect(replyTo(pieces)).toMatchObject({ calls: [], finish: "truncated" });
  });

  test.each([
    ["max_output_tokens", "length"],
    ["content_filter", "content-filter"],
    ["something_new", "other"],
  ])("H07 an incomplete response (%s) ends as %s and returns no calls", (reason, finish) => {
    const response = { ...completed.response, status: "incomplete", incomplete_details: { reason } };
    expect(replyTo([added, done, { type: "response.incomplete", response }])).toMatchObject({ calls: [], finish, finishDetail: reason });
    expect(format.decodeReply(response)).toMatchObject({ calls: [], finish });
  });

  test("H07 a call with status incomplete is not returned, even if the response is completed", () => {
    const item = { ...CALL, arguments: '{"query":"x', status: "incomplete" };
    const response = { ...completed.response, output: [item] };
    expect(replyTo([added, { ...done, item }, { type: "response.completed", response }])).toMatchObject({ calls: [], finish: "length" });
  });

  test.each<[string, JsonObject, string, boolean]>([
    ["error", { type: "error", code: "rate_limit_exceeded", message: "Slow down." }, "rate_limited", true],
    ["error with the error inside", { type: "error", error: { type: "server_error", message: "Oops." } }, "unavailable", true],
    [
      "response.failed",
      { type: "response.failed", response: { error: { code: "context_length_exceeded", message: "Long." } } },
      "too_large",
      false,
    ],
    ["an error that says nothing", { type: "error" }, "model_failed", false],
  ])("%s in a stream throws", (_, event, code, retryable) => {
    const decoder = format.decodeStream();
    decoder.push(added);
    expect(() => decoder.push(event)).toThrow(expect.objectContaining({ code, retryable }));
  });

  test("a second response.created voids the reply so far", () => {
    const begin = (id: string): JsonObject => ({ type: "response.created", response: { id } });
    const all = events([begin("resp_0"), added, done, begin("resp_1"), added, done, completed]);
    expect(all.map(({ type }) => type)).toEqual(["call-open", "call-seal", "reply-void", "call-open", "call-seal", "reply-end"]);
  });

  test("events after the end of the response are ignored", () => {
    expect(replyTo([added, done, completed, { type: "response.output_text.delta", output_index: 3, delta: "more" }]).text).toBe("");
  });

  test("a final text that contradicts the streamed text is not appended, and the reply has a warning", () => {
    const delta = { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Hello there" };
    for (const [text, warned] of [
      ["Goodbye, friend", true],
      ["Hello", true],
      ["Hello there, friend", false],
      ["", false],
    ] as const) {
      const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text }] };
      const pieces = [
        delta,
        { type: "response.output_item.done", output_index: 0, item },
        { ...completed, response: { ...completed.response, output: [item] } },
      ];
      const { text: said, warnings } = replyTo(pieces);
      expect([said, warnings?.length]).toEqual([warned || text === "" ? "Hello there" : text, warned ? 1 : undefined]);
    }
  });

  test("text and reasoning are the same whole and streamed, with parts of reasoning kept apart", () => {
    const reasoning = {
      type: "reasoning",
      id: "rs_1",
      summary: [
        { type: "summary_text", text: "First." },
        { type: "summary_text", text: "Second." },
      ],
    };
    const message = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Hello." }] };
    const output = [reasoning, message, { ...message, id: "msg_2" }];
    const response = { ...completed.response, output };
    const whole = format.decodeReply(response);
    expect(whole).toMatchObject({ reasoning: "First.\n\nSecond.", text: "Hello.\n\nHello.", finish: "stop" });
    expect(whole.native).toEqual({ format: "openai-responses", blocks: output });
    const streamed = replyTo([
      { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 0, delta: "Fir" },
      { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 0, delta: "st." },
      { type: "response.output_item.done", output_index: 0, item: reasoning },
      { type: "response.output_text.delta", output_index: 1, content_index: 0, delta: "Hello" },
      { type: "response.output_item.done", output_index: 1, item: message },
      { type: "response.completed", response },
    ]);
    expect(streamed).toEqual(whole);
  });
});

describe("replies", () => {
  test("F1.17 provider-executed items are reported and kept, and are never calls", () => {
    const output = [
      { type: "mcp_list_tools", id: "mcpl_1", server_label: "wiki", tools: [] },
      { type: "mcp_call", id: "mcp_1", server_label: "wiki", name: "ask", arguments: '{"q":1}', output: "x" },
      { type: "tool_search_call", id: "ts_1", call_id: null, execution: "server", arguments: { paths: [] } },
      { type: "shell_call", id: "sh_1", call_id: "c9", action: { commands: ["ls"] }, environment: { type: "container_reference" } },
      { type: "shell_call_output", id: "sho_1", call_id: "c9", output: [] },
      { type: "brand_new_call", id: "bn_1", queries: ["x"] },
      { type: "image_generation_call", id: "ig_1", result: "AAAA", output_format: "webp" },
    ];
    const reply = format.decodeReply({ status: "completed", output });
    expect(reply).toMatchObject({ calls: [], finish: "stop", native: { format: "openai-responses", blocks: output } });
    expect(reply.media).toEqual([{ type: "image", mediaType: "image/webp", data: "AAAA" }]);
    expect(reply.providerCalls).toEqual([
      { id: "mcpl_1", name: "mcp_list_tools", kind: "mcp_list_tools", input: {} },
      { id: "mcp_1", name: "ask", kind: "mcp_call", input: { q: 1 } },
      { id: "ts_1", name: "tool_search_call", kind: "tool_search_call", input: { arguments: { paths: [] } } },
      { id: "c9", name: "shell_call", kind: "shell_call", input: { action: { commands: ["ls"] } } },
      { id: "bn_1", name: "brand_new_call", kind: "brand_new_call", input: { queries: ["x"] } },
      { id: "ig_1", name: "image_generation_call", kind: "image_generation_call", input: {} },
    ]);
  });

  test("a custom call of a tool that was not offered is a provider call", () => {
    const output = [{ type: "custom_tool_call", id: "ct_1", call_id: "c1", name: "x_search", input: "{}" }];
    const reply = format.decodeReply({ status: "completed", output }, { toolNames: new Map([["f", "f"]]) });
    expect(reply).toMatchObject({ calls: [], providerCalls: [{ id: "c1", name: "x_search", kind: "custom_tool_call", input: {} }] });
  });

  test("a call in a namespace resolves to the tool offered under that namespace", () => {
    const output = [{ ...CALL, name: "search", namespace: "web" }];
    const reply = format.decodeReply({ status: "completed", output }, { toolNames: new Map([["web__search", "web::search"]]) });
    expect(reply.calls).toEqual([SEALED]);
    expect(reply.native?.blocks).toEqual(output);
  });

  test("a refusal is decoded as text with finish refusal", () => {
    const output = [{ type: "message", role: "assistant", content: [{ type: "refusal", refusal: "No." }] }];
    expect(format.decodeReply({ status: "completed", output })).toMatchObject({ text: "No.", finish: "refusal" });
  });

  test.each<[string, JsonValue, string]>([
    ["no object", "hello", "model_failed"],
    ["no output", { status: "completed" }, "model_failed"],
    ["an error", { error: { code: "insufficient_quota", message: "Pay." } }, "limit_exceeded"],
    ["a failure", { status: "failed", output: [], error: null }, "model_failed"],
  ])("a body with %s throws", (_, reply, code) => {
    expect(() => format.decodeReply(reply)).toThrow(expect.objectContaining({ code }));
  });

  test("H07 any body and any event decode or throw a typed error", () => {
    const json = fc.jsonValue() as fc.Arbitrary<JsonValue>;
    const type = fc.constantFrom("function_call", "custom_tool_call", "message", "reasoning", "shell_call", "mcp_call", 5);
    const item = fc.record({ type, id: json, call_id: json, name: json, arguments: json, content: json, summary: json, status: json });
    const event = fc.record({
      type: fc.constantFrom(
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.created",
        "response.completed",
      ),
      output_index: fc.oneof(fc.nat(3), json),
      delta: json,
      item: fc.oneof(item, json),
      response: fc.oneof(fc.record({ id: json, output: fc.array(item), usage: json, status: json }), json),
    });
    fc.assert(
      fc.property(fc.array(event as fc.Arbitrary<JsonValue>), (pieces) => {
        try {
          expect(events(pieces).at(-1)?.type).toBe("reply-end");
        } catch (thrown: unknown) {
          expect(thrown).toBeInstanceOf(ToolError);
        }
      }),
    );
  });
});
