/** Tools that a provider defines and a client runs: their calls are read, and each is answered in the form that the provider's own library asks for. */
import { readFileSync } from "node:fs";
import type { ResponseInputItem, ResponseOutputItem } from "openai/resources/responses/responses";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import { omitUndefined } from "../../src/core/base/omit-undefined.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelReply } from "../../src/core/model.ts";
import type { ResultChange } from "../core/result-change.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { answered, called, PICTURE, said } from "./conversations.ts";

/** What is sent of a reply and its answer: by a loop that keeps the conversation, and by a program that keeps it in the provider's JSON. */
function sent(format: WireFormat, reply: ModelReply, fields: ResultChange): Readonly<Record<"loop" | "program", readonly JsonObject[]>> {
  const { text, native, calls } = reply;
  const messages: ModelMessage[] = [
    said("user", "Go"),
    { role: "assistant", at: 0, content: text, ...(native === undefined ? {} : { native }) },
    ...calls.map(({ id, name, input }) => called(id ?? "own", name, { ...omitUndefined({ id }), input: input as JsonValue })),
    ...calls.map((call) => answered(call.id ?? "own", call.name, { ...omitUndefined({ id: call.id }), ...fields })),
  ];
  const answers = calls.map((call) => ({
    ...call,
    result: answered(call.id ?? "own", call.name, { ...omitUndefined({ id: call.id }), ...fields }).result,
  }));
  return { loop: format.encodeMessages(messages).messages, program: format.encodeResults(answers, calls) };
}

describe("OpenAI's Responses", () => {
  const FORMAT = openAiResponses();
  const stream = (output: readonly JsonObject[]): ModelReply => {
    const decoder = FORMAT.decodeStream();
    const events = output.flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item },
      { type: "response.output_item.done", output_index, item },
    ]);
    const all = [...events, { type: "response.completed", response: { id: "r", status: "completed", output: [...output] } }];
    const last = [...all.flatMap((event) => decoder.push(event)), ...decoder.end()].at(-1);
    if (last?.type !== "reply-end") throw new Error("no reply");
    return last.reply;
  };
  const replies = (output: readonly JsonObject[]): readonly ModelReply[] => [
    FORMAT.decodeReply({ status: "completed", output: [...output] }),
    stream(output),
  ];
  const caller = { type: "program", caller_id: "p" } as const;
  const chunk = { stdout: "a", stderr: "b", outcome: { type: "exit", exit_code: 3 } } as const;
  const checks = [{ id: "sc", code: "c", message: "m" }];

  /** Each call that a client answers, a result, and the item that answers it. */
  const CALLS: readonly (readonly [call: ResponseOutputItem, result: ResultChange, answer: ResponseInputItem])[] = [
    [
      { type: "function_call", id: "i", call_id: "c", name: "f", arguments: "{}", status: "completed", namespace: "crm" },
      { output: "done" },
      { type: "function_call_output", call_id: "c", output: "done" },
    ],
    [
      { type: "function_call", id: "i", call_id: "c", name: "f", arguments: "{}", status: "completed", caller },
      { output: "done" },
      { type: "function_call_output", call_id: "c", output: "done", caller },
    ],
    [
      { type: "custom_tool_call", id: "i", call_id: "c", name: "f", input: "text" },
      { output: "done" },
      { type: "custom_tool_call_output", call_id: "c", output: "done" },
    ],
    [
      { type: "computer_call", id: "i", call_id: "c", status: "completed", pending_safety_checks: [], actions: [{ type: "screenshot" }] },
      { content: [PICTURE] },
      {
        type: "computer_call_output",
        call_id: "c",
        output: { type: "computer_screenshot", image_url: "data:image/png;base64,iVBORw0KGgo=" },
      },
    ],
    [
      { type: "computer_call", id: "i", call_id: "c", status: "completed", pending_safety_checks: checks, action: { type: "screenshot" } },
      { content: [PICTURE] },
      {
        type: "computer_call_output",
        call_id: "c",
        output: { type: "computer_screenshot", image_url: "data:image/png;base64,iVBORw0KGgo=" },
        acknowledged_safety_checks: checks,
      },
    ],
    [
      {
        type: "shell_call",
        id: "i",
        call_id: "c",
        status: "completed",
        environment: { type: "local" },
        action: { commands: ["a", "b"], max_output_length: 50, timeout_ms: null },
        caller,
      },
      { output: [chunk, { ...chunk, outcome: { type: "timeout" } }] },
      {
        type: "shell_call_output",
        call_id: "c",
        max_output_length: 50,
        caller,
        output: [chunk, { ...chunk, outcome: { type: "timeout" } }],
      },
    ],
    [
      { type: "local_shell_call", id: "i", call_id: "c", status: "completed", action: { type: "exec", command: ["ls"], env: {} } },
      { output: "done" },
      { type: "local_shell_call_output", id: "c", output: "done" },
    ],
    [
      { type: "apply_patch_call", id: "i", call_id: "c", status: "completed", operation: { type: "delete_file", path: "x" } },
      { output: "done" },
      { type: "apply_patch_call_output", call_id: "c", status: "completed", output: "done" },
    ],
    [
      { type: "apply_patch_call", id: "i", call_id: "c", status: "completed", operation: { type: "delete_file", path: "x" } },
      { status: "error", error: { code: "not_found", message: "No such file.", retryable: false, outcome: "not_started" } },
      { type: "apply_patch_call_output", call_id: "c", status: "failed", output: "Error (not_found): No such file." },
    ],
    [
      { type: "tool_search_call", id: "i", call_id: "c", status: "completed", execution: "client", arguments: {} },
      { output: { tools: [{ type: "function", name: "f", parameters: {}, strict: false }] } },
      {
        type: "tool_search_output",
        call_id: "c",
        execution: "client",
        status: "completed",
        tools: [{ type: "function", name: "f", parameters: {}, strict: false }],
      },
    ],
    [
      { type: "mcp_approval_request", id: "c", name: "n", server_label: "s", arguments: "{}" },
      { output: { approved: true } },
      { type: "mcp_approval_response", approval_request_id: "c", approve: true },
    ],
  ];
  test.each(CALLS)("%o with %o is answered by the output item of its kind", (call, result, answer) => {
    const item = call as unknown as JsonObject; // JSON, by a type of the library's
    for (const reply of replies([item])) {
      expect(reply.calls).toMatchObject([{ id: "c" }]);
      const { loop, program } = sent(FORMAT, reply, result);
      expect(loop.slice(1)).toMatchObject([item, answer]);
      expect(program).toMatchObject([answer]);
      expect(program).toEqual(loop.slice(2));
    }
  });

  test("encoding a computer call without a screenshot throws", () => {
    const [reply] = replies([
      { type: "computer_call", id: "i", call_id: "c", status: "completed", actions: [], pending_safety_checks: [] },
    ]);
    if (reply === undefined) throw new Error("no reply");
    const [call] = reply.calls;
    const { result } = answered("c", "computer_call", { output: "done" });
    expect(() => FORMAT.encodeResults([{ name: "computer_call", ...call, result }])).toThrow(
      'The computer call "c" was not run, or returned no screenshot',
    );
  });

  /** What the provider has done itself, or only wants back. */
  const KEPT: readonly JsonObject[] = [
    { type: "reasoning", id: "i", summary: [], encrypted_content: "e" },
    { type: "file_search_call", id: "i", status: "completed", queries: ["q"] },
    { type: "web_search_call", id: "i", status: "completed", action: { type: "search", query: "q" } },
    { type: "code_interpreter_call", id: "i", status: "completed", code: "1", container_id: "c", outputs: [] },
    { type: "image_generation_call", id: "i", status: "completed", result: "iVBORw0KGgo=" },
    { type: "program", id: "i", call_id: "p", code: "1", fingerprint: "f" },
    { type: "program_output", id: "i", call_id: "p", result: "1", status: "completed" },
    { type: "tool_search_output", id: "i", call_id: null, execution: "server", tools: [], status: "completed" },
    { type: "additional_tools", id: "i", role: "developer", tools: [] },
    { type: "compaction", id: "i", encrypted_content: "e" },
    { type: "mcp_call", id: "i", name: "n", server_label: "s", arguments: "{}", output: "o" },
    { type: "mcp_list_tools", id: "i", server_label: "s", tools: [] },
    { type: "mcp_approval_response", id: "i", approval_request_id: "r", approve: true },
    { type: "function_call_output", id: "i", call_id: "x", output: "o", status: "completed" },
    { type: "custom_tool_call_output", id: "i", call_id: "x", output: "o", status: "completed" },
    {
      type: "computer_call_output",
      id: "i",
      call_id: "x",
      output: { type: "computer_screenshot", image_url: "data:" },
      status: "completed",
    },
    { type: "shell_call_output", id: "i", call_id: "x", output: [], max_output_length: null, status: "completed" },
    { type: "local_shell_call_output", id: "i", output: "o", status: "completed" },
    { type: "apply_patch_call_output", id: "i", call_id: "x", status: "completed", output: "o" },
    { type: "not_known_yet", id: "i", anything: [1] },
  ];

  test("every output item of the installed OpenAI library is a message, an answered call, or an item sent back unchanged", () => {
    const declared = readFileSync("node_modules/openai/resources/responses/responses.d.ts", "utf8");
    const known = new Set(["message", ...CALLS.map(([{ type }]) => type), ...KEPT.map(({ type }) => type)]);
    const members = (/^export type ResponseOutputItem = (.*);$/mu.exec(declared)?.[1] ?? "").split(" | ");
    const types = members.map((member) => typeOf(declared, member.replace("ResponseOutputItem.", "")));
    expect(types.length).toBeGreaterThan(25);
    expect(types.filter((type) => !known.has(type))).toEqual([]);
  });

  test.each(KEPT)("$type is sent back unchanged, whole and streamed, and the call beside it is run once", (item) => {
    const call = { type: "function_call", id: "fc", call_id: "t", name: "look", arguments: "{}", status: "completed" };
    for (const reply of replies([item, call])) {
      expect(reply.calls.map(({ id }) => id)).toEqual(["t"]);
      expect(sent(FORMAT, reply, { output: "done" }).loop.slice(1, 3)).toEqual([item, call]);
    }
  });
});

/** The value of `type` in the declaration of an interface, or of the one that it extends. */
function typeOf(declared: string, name: string): string {
  const rule = new RegExp(`^ *(?:export )?interface ${name}(?: extends (\\w+))? \\{\\n([\\s\\S]*?)^ *\\}$`, "gmu");
  for (const [, base, body = ""] of declared.matchAll(rule)) {
    const type = /^ *type: '(\w+)'/mu.exec(body)?.[1] ?? (base === undefined ? undefined : typeOf(declared, base));
    if (type !== undefined) return type;
  }
  return `${name} has no type`;
}

describe("Anthropic's Messages", () => {
  const FORMAT = anthropicMessages();
  const message = (content: readonly JsonObject[], fields: JsonObject = {}): JsonObject => ({
    type: "message",
    id: "m",
    role: "assistant",
    content: [...content],
    stop_reason: "tool_use",
    ...fields,
  });
  /** `BetaToolUnion` of @anthropic-ai/sdk 1.14.0: the tools that a client runs, and the names of their calls. */
  const TOOLS = {
    bash_20250124: "bash",
    text_editor_20250124: "str_replace_editor",
    text_editor_20250728: "str_replace_based_edit_tool",
    computer_20250124: "computer",
    computer_20251124: "computer",
    memory_20250818: "memory",
  } as const;
  test.each(Object.entries(TOOLS))("%s: its calls are decoded to the tool that offers it", (type, name) => {
    const tool = { name: "own::tool", description: "", inputSchema: true, providers: { [FORMAT.name]: { type, name } } };
    const { toolNames } = FORMAT.encodeTools([tool]);
    const call = { type: "tool_use", id: "t", name, input: { command: "view" } };
    const reply = FORMAT.decodeReply(message([call]), { toolNames });
    expect(reply.calls).toEqual([{ id: "t", name: "own::tool", input: { command: "view" } }]);
    expect(sent(FORMAT, reply, { output: "done" }).program).toEqual([
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "done" }] },
    ]);
  });

  test("the result of a toolset member names the toolset, and has the browser state if the tool returns it", () => {
    const call = { type: "tool_use", id: "t", name: "navigate", toolset_name: "browser", input: { url: "https://example.com" } };
    const state = { type: "browser_state", tabs: [{ tab_id: "1", url: "https://example.com", title: "E", active: true }] };
    const { loop, program } = sent(FORMAT, FORMAT.decodeReply(message([call])), { output: state, content: [PICTURE] });
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: PICTURE.data } };
    const answer = { role: "user", content: [{ type: "tool_result", tool_use_id: "t", toolset_name: "browser", content: [state, image] }] };
    expect([program, loop.slice(2)]).toEqual([[answer], [answer]]);
  });

  const container = { id: "container_1", expires_at: "2026-12-01T00:00:00Z" };
  const waits = [
    { type: "server_tool_use", id: "srv", name: "code_execution", input: { code: "look()" } },
    { type: "tool_use", id: "t", name: "look", input: {}, caller: { type: "code_execution_20260120", tool_id: "srv" } },
  ];
  const events = [
    { type: "message_start", message: message([], { stop_reason: null, container: null }) },
    ...waits.flatMap((content_block, index) => [
      { type: "content_block_start", index, content_block },
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: "tool_use", container } },
    { type: "message_stop" },
  ];
  const streamed = (): ModelReply => {
    const decoder = FORMAT.decodeStream();
    const last = [...events.flatMap((event) => decoder.push(event)), ...decoder.end()].at(-1);
    if (last?.type !== "reply-end") throw new Error("no reply");
    return last.reply;
  };

  test.each<readonly [string, () => ModelReply]>([
    ["whole", () => FORMAT.decodeReply(message(waits, { container }))],
    ["streamed", streamed],
  ])("a waiting code container is sent with the results of its calls, and no longer after a user message: %s", (_how, read) => {
    const { native, text } = read();
    const conversation: ModelMessage[] = [
      said("user", "Go"),
      { role: "assistant", at: 0, content: text, ...(native === undefined ? {} : { native }) },
      called("t", "look", { id: "t" }),
      answered("t", "look", { id: "t", output: "seen" }),
    ];
    const bodyOf = (messages: readonly ModelMessage[], fields: JsonObject = {}): JsonObject =>
      FORMAT.encodeRequest({ messages, native: { tools: [], ...fields } }, { model: "claude-opus-5" }).body;
    expect(bodyOf(conversation)).toMatchObject({
      container: "container_1",
      messages: [{}, { content: waits }, { content: [{ type: "tool_result", tool_use_id: "t", content: "seen" }] }],
    });
    expect(bodyOf([...conversation, said("assistant", "Seen."), said("user", "And?")])["container"]).toBeUndefined();
    expect(bodyOf(conversation, { container: "own" })["container"]).toBe("own");
  });
});

/** Of @google/genai 3.3.0: the members of `Step` that are not words or calls of functions, and the fields of `Part`. */
describe("Gemini", () => {
  const PAIRS = [
    "code_execution",
    "file_search",
    "google_maps",
    "google_search",
    "mcp_server_tool",
    "processing",
    "retrieval",
    "url_context",
  ];
  const STEPS: readonly JsonObject[] = [
    ...PAIRS.flatMap((name) => [
      { type: `${name}_call`, id: "i", arguments: { q: 1 }, signature: "s" },
      { type: `${name}_result`, call_id: "i", result: [{ url: "u" }], is_error: false, signature: "s" },
    ]),
    { type: "thought", signature: "s", summary: [{ type: "text", text: "Hm." }] },
    { type: "not_known_yet", anything: [1] },
  ];
  const PARTS: readonly JsonObject[] = [
    { executableCode: { id: "e", language: "PYTHON", code: "1" } },
    { codeExecutionResult: { id: "e", outcome: "OUTCOME_OK", output: "1" } },
    { toolCall: { id: "s", toolType: "GOOGLE_SEARCH_WEB", args: { queries: ["q"] } }, thoughtSignature: "s" },
    { toolResponse: { id: "s", toolType: "GOOGLE_SEARCH_WEB", response: {} } },
    { text: "Hm.", thought: true, thoughtSignature: "s" },
    { text: "Said.", thoughtSignature: "s" },
    { text: "Said.", partMetadata: { of: "me" } },
    { audioTranscription: { text: "Said." } },
    { functionCall: { id: "d", name: "look", args: { at: 2 } }, partMetadata: { of: "me" } },
    { notKnownYet: [1] },
  ];

  test.each(STEPS)("the step $type is sent back unchanged, and the call after it is run once", (step) => {
    const format = geminiInteractions();
    const steps = [step, { type: "function_call", id: "c", name: "look", arguments: { at: 1 } }];
    const decoder = format.decodeStream();
    const events = [
      ...steps.flatMap((one, index) => [
        { event_type: "step.start", index, step: one },
        { event_type: "step.stop", index },
      ]),
      { event_type: "interaction.completed", interaction: { id: "i", status: "requires_action" } },
    ];
    const last = [...events.flatMap((event) => decoder.push(event)), ...decoder.end()].at(-1);
    for (const reply of [format.decodeReply({ status: "requires_action", steps }), last?.type === "reply-end" ? last.reply : undefined]) {
      expect(reply?.calls).toEqual([{ id: "c", name: "look", input: { at: 1 } }]);
      if (reply !== undefined) expect(sent(format, reply, { output: "done" }).loop.slice(1, 3)).toEqual(steps);
    }
  });

  test.each(PARTS)("the part %o is sent back unchanged, and the call after it is run once", (part) => {
    const format = gemini();
    const parts = [part, { functionCall: { id: "c", name: "look", args: { at: 1 } } }];
    const body = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] };
    const decoder = format.decodeStream();
    const last = [...decoder.push(body), ...decoder.end()].at(-1);
    for (const reply of [format.decodeReply(body), last?.type === "reply-end" ? last.reply : undefined]) {
      expect(reply?.calls).toContainEqual({ id: "c", name: "look", input: { at: 1 } });
      if (reply !== undefined) expect(sent(format, reply, { output: "done" }).loop[1]).toEqual({ role: "model", parts });
    }
  });
});

describe("Gemini's computer use", () => {
  const ROWS = [
    [gemini(), { computerUse: { environment: "ENVIRONMENT_BROWSER" } }],
    [geminiInteractions(), { type: "computer_use", environment: "browser" }],
  ] as const;
  const replyOf = (name: string, functionName: string, args: JsonObject, id?: string): JsonObject =>
    name === gemini().name
      ? {
          candidates: [
            {
              content: { parts: [{ functionCall: { ...(id === undefined ? {} : { id }), name: functionName, args } }] },
              finishReason: "STOP",
            },
          ],
        }
      : { status: "requires_action", steps: [{ type: "function_call", id: id ?? "c", name: functionName, arguments: args }] };

  test.each(ROWS)(
    "calls of its predefined functions are calls of the tool, and results use the function's name: $name",
    (format, words) => {
      const tools = [
        { name: "pc::use", description: "", inputSchema: true, providers: { [format.name]: words } },
        { name: "own::look", description: "", inputSchema: { type: "object", properties: {} } },
      ];
      const { toolNames } = format.encodeTools(tools);
      for (const id of ["c", undefined]) {
        const reply = format.decodeReply(replyOf(format.name, "click_at", { x: 1 }, id), { toolNames });
        expect(reply.calls).toMatchObject([{ name: "pc::use", input: { x: 1, action: "click_at" } }]);
        const { loop, program } = sent(format, reply, { output: { url: "https://example.com/" } });
        const [call, answer] = [JSON.stringify(loop[1]), JSON.stringify(loop[2])];
        expect(call).toContain('"click_at"');
        expect(call).not.toContain("action");
        expect(answer).toContain('"name":"click_at"');
        expect(JSON.stringify(program)).toContain('"name":"click_at"');
        if (format.name === gemini().name) expect(answer).toContain('"response":{"url":"https://example.com/"}');
      }
      expect(format.decodeReply(replyOf(format.name, "own__look", {}), { toolNames }).calls).toMatchObject([
        { name: "own::look", input: {} },
      ]);
    },
  );

  test.each(ROWS)("without the tool, a function that was not offered keeps its own name: $name", (format) => {
    expect(format.decodeReply(replyOf(format.name, "click_at", { x: 1 })).calls).toMatchObject([{ name: "click_at", input: { x: 1 } }]);
  });
});
