/** A provider that asks before it calls a tool of a server which it reaches itself, and waits for the answer in the next request. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ApprovalRequest } from "../../src/core/approvals/ask.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Model, ModelCall } from "../../src/core/model.ts";
import type { ToolCall } from "../../src/core/call.ts";
import type { Store } from "../../src/core/store/store.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { modelTools } from "../../src/compose/prompt/model-tools.ts";
import { httpModel } from "../../src/model/http-model.ts";
import { createRuntime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";

/** A server as the provider is given it. */
const hosted = (label: string): Tool => ({
  name: `hosted_${label}`,
  description: `The server ${label}.`,
  inputSchema: {},
  providerExecuted: true,
  providers: {
    "openai-responses": { type: "mcp", server_label: label, server_url: "https://mcp.example.com", require_approval: "always" },
  },
});
const TOOLS = [hosted("mail"), hosted("tickets")];

const asks = (id: string, server = "tickets", given = '{"id":7}'): JsonObject => ({
  type: "mcp_approval_request",
  id,
  server_label: server,
  name: "close",
  arguments: given,
});
const says = (text: string): JsonObject => ({
  type: "message",
  id: "m",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});
const called: JsonObject = {
  type: "mcp_call",
  id: "mcp_1",
  server_label: "tickets",
  name: "close",
  arguments: '{"id":7}',
  output: "closed",
};

interface Provider {
  readonly model: Model;
  /** The inputs of all requests. */
  readonly inputs: (readonly JsonObject[])[];
  /** The answers to what it asked, in the latest request. */
  readonly responses: () => readonly JsonObject[];
}

/** A real HTTP server that answers each request with the next output. */
async function provider(outputs: readonly (readonly JsonObject[])[], stream = true): Promise<Provider> {
  const inputs: (readonly JsonObject[])[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const body = JSON.parse(text) as { readonly input: readonly JsonObject[]; readonly stream?: boolean };
    const output = outputs[inputs.length] ?? [says("Nothing more.")];
    inputs.push(body.input);
    const whole = { id: "r", object: "response", status: "completed", model: "m", output, usage: { input_tokens: 1, output_tokens: 1 } };
    if (body.stream !== true) return void response.setHeader("content-type", "application/json").end(JSON.stringify(whole));
    response.setHeader("content-type", "text/event-stream");
    const events: JsonObject[] = [
      { type: "response.created", response: { id: "r" } },
      ...output.flatMap((item, index) => [
        { type: "response.output_item.added", output_index: index, item },
        { type: "response.output_item.done", output_index: index, item },
      ]),
      { type: "response.completed", response: whole },
    ];
    response.end(events.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    model: httpModel({ format: openAiResponses(), model: "gpt-5", baseUrl, apiKey: "sk-test", stream }),
    inputs,
    responses: () => (inputs.at(-1) ?? []).filter(({ type }) => type === "mcp_approval_response"),
  };
}

const response = (id: string, approve: boolean, reason?: unknown): JsonObject =>
  ({ type: "mcp_approval_response", approval_request_id: id, approve, ...(reason === undefined ? {} : { reason }) }) as JsonObject;

function runtimeWith(options: RuntimeOptions = {}) {
  const runtime = createRuntime({ tools: TOOLS, ...options });
  onTestFinished(async () => void (await runtime.close()));
  return runtime;
}

describe.each([true, false])("streamed: %s", (stream) => {
  test("the approver is asked with the server, the tool and the arguments, and its approval is sent to the provider", async () => {
    const asked: ApprovalRequest[] = [];
    const { model, responses } = await provider([[asks("mcpr_1")], [called, says("Closed.")]], stream);
    const runtime = runtimeWith({ approval: { approve: (request) => (asked.push(request), "allow-once") } });

    const result = await createLoop({ model, session: runtime.session() }).run("Close 7.");

    expect([result.reason, result.text, result.detail]).toEqual(["answered", "Closed.", undefined]);
    expect(asked).toMatchObject([
      {
        toolName: "default::hosted_tickets",
        input: { server: "tickets", tool: "close", arguments: { id: 7 } },
        reason: 'The model\'s provider asks before it calls "close" of the server "tickets".',
      },
    ]);
    expect(responses()).toEqual([response("mcpr_1", true)]);
  });

  test("a denial is sent to the provider with its reason", async () => {
    const { model, responses } = await provider([[asks("mcpr_1")], [says("Then not.")]], stream);
    const runtime = runtimeWith({ approval: { approve: () => "deny" } });

    const result = await createLoop({ model, session: runtime.session() }).run("Close 7.");

    expect(result.text).toBe("Then not.");
    expect(responses()).toEqual([response("mcpr_1", false, expect.stringContaining("default::hosted_tickets was not approved"))]);
  });

  test("without an approver the run pauses with the pending requests, and each decision answers its request", async () => {
    const { model, inputs, responses } = await provider(
      [
        [asks("mcpr_1"), asks("mcpr_2", "mail")],
        [called, says("Closed.")],
      ],
      stream,
    );
    const loop = createLoop({ model, session: runtimeWith().session() });

    const paused = await loop.run("Close 7.");

    expect([paused.reason, paused.detail]).toEqual(["approval", "2 calls wait: default::hosted_tickets, default::hosted_mail."]);
    const [first, second] = loop.pending();
    expect([first?.input, second?.input]).toEqual([
      { server: "tickets", tool: "close", arguments: { id: 7 } },
      { server: "mail", tool: "close", arguments: { id: 7 } },
    ]);
    const result = await loop.resume({ decisions: { [first?.digest ?? ""]: "allow-once", [second?.digest ?? ""]: "deny" } });
    expect([result.reason, result.text]).toEqual(["answered", "Closed."]);
    expect(responses()).toEqual([response("mcpr_1", true), response("mcpr_2", false, expect.stringContaining("was not approved"))]);
    expect((inputs.at(-1) ?? []).map(({ type }) => type)).toEqual([
      "message",
      "mcp_approval_request",
      "mcp_approval_request",
      "mcp_approval_response",
      "mcp_approval_response",
    ]);
  });
});

test("decisions made in separate resumes answer each request once", async () => {
  const { model, inputs, responses } = await provider([[asks("mcpr_1"), asks("mcpr_2", "mail")], [says("Done.")]]);
  const loop = createLoop({ model, session: runtimeWith().session() });
  await loop.run("Close 7.");
  const [first, second] = loop.pending();

  expect((await loop.resume({ decisions: { [first?.digest ?? ""]: "allow-once" } })).reason).toBe("approval");
  expect(inputs).toHaveLength(1);
  expect((await loop.resume({ decisions: { [second?.digest ?? ""]: "allow-once" } })).text).toBe("Done.");
  expect(responses()).toEqual([response("mcpr_1", true), response("mcpr_2", true)]);
});

test("a request without a decision is answered with a denial when the user continues", async () => {
  const { model, responses } = await provider([[asks("mcpr_1")], [says("As you like.")]]);
  const loop = createLoop({ model, session: runtimeWith().session() });
  await loop.run("Close 7.");

  expect((await loop.run("Leave it.")).text).toBe("As you like.");
  expect(responses()).toEqual([response("mcpr_1", false, expect.stringContaining("needs approval"))]);
});

test("another process continues with the pending request after a crash", async () => {
  const store = memoryStore();
  const { model, responses } = await provider([[asks("mcpr_1")], [says("Closed.")]]);
  const before = runtimeWith({ store });
  expect((await createLoop({ model, session: before.session("s") }).run("Close 7.")).reason).toBe("approval");

  const session = await runtimeWith({ store }).resume("s", { takeOver: true });
  const loop = createLoop({ model, session });
  const [pending] = loop.pending();

  expect(pending?.input).toEqual({ server: "tickets", tool: "close", arguments: { id: 7 } });
  expect((await loop.resume({ decisions: { [pending?.digest ?? ""]: "allow-once" } })).text).toBe("Closed.");
  expect(responses()).toEqual([response("mcpr_1", true)]);
});

/** The store of a process that asks a person about the session `s`, and goes no further. */
async function leftWhileAsked(): Promise<Store> {
  const store = memoryStore();
  const { model } = await provider([[asks("mcpr_1")], [says("Closed.")]]);
  const { promise: isAsked, resolve } = Promise.withResolvers<void>();
  const before = runtimeWith({ store, approval: { approve: () => (resolve(), new Promise(() => undefined)) } });
  void createLoop({ model, session: before.session("s") })
    .run("Close 7.")
    .catch(() => undefined);
  await isAsked;
  return store;
}

test("a process that ends while the approver is asked leaves the request stored, and it is asked again", async () => {
  const store = await leftWhileAsked();

  const asked: unknown[] = [];
  const after = runtimeWith({ store, approval: { approve: ({ input }) => (asked.push(input), "allow-once") } });
  const session = await after.resume("s", { takeOver: true });

  expect(asked).toEqual([{ server: "tickets", tool: "close", arguments: { id: 7 } }]);
  const results = session.log.flatMap((event) => (event.type === "call-end" ? [event.result] : []));
  expect(results).toMatchObject([{ status: "ok", output: { approved: true } }]);
});

test("rules and permissions apply as for any tool: approval.never approves without asking, permission.deny denies", async () => {
  for (const [options, approve] of [
    [{ approval: { never: ["hosted_tickets"] } }, true],
    [{ permission: { deny: ["default::hosted_tickets"] } }, false],
  ] as const) {
    const { model, inputs } = await provider([[asks("mcpr_1")], [says("Done.")]]);
    await createLoop({ model, session: runtimeWith(options).session() }).run("Close 7.");
    const [answer] = (inputs.at(-1) ?? []).filter(({ type }) => type === "mcp_approval_response");
    expect(answer?.["approve"]).toBe(approve);
  }
});

test.each(["m".repeat(90), "mcpr of é"])(
  "a request with the id %j, which is not valid for a call, is answered with that id",
  async (id) => {
    const { model, responses } = await provider([[asks(id)], [says("Closed.")]]);
    const loop = createLoop({ model, session: runtimeWith().session() });
    await loop.run("Close 7.");
    await loop.resume({ decisions: { [loop.pending()[0]?.digest ?? ""]: "allow-once" } });
    expect(responses()).toEqual([response(id, true)]);
  },
);

test.each<readonly [string, Partial<Tool>]>([
  ["is of no fields", { inputSchema: { type: "object", properties: {}, additionalProperties: false } }],
  ["drops what it does not know", { inputSchema: { type: "object", properties: {}, additionalProperties: false }, unknownKeys: "drop" }],
  ["has a default", { inputSchema: { type: "object", properties: { days: { default: 1 } } } }],
  ["has rules of its own", { validate: () => ["never"], parseInput: () => ({ value: {} }) }],
])("the approver sees the whole request of the provider if the schema of the tool %s", async (_what, fields) => {
  const asked: unknown[] = [];
  const { model, responses } = await provider([[asks("mcpr_1")], [says("Closed.")]]);
  const approval = { approve: ({ input }: ApprovalRequest) => (asked.push(input), "allow-once" as const) };
  const runtime = runtimeWith({ tools: [{ ...hosted("tickets"), ...fields }], approval });
  await createLoop({ model, session: runtime.session() }).run("Close 7.");
  expect(asked).toEqual([{ server: "tickets", tool: "close", arguments: { id: 7 } }]);
  expect(responses()).toEqual([response("mcpr_1", true)]);
});

test("a provider may repeat the same allowed request without a limit, because its result is not visible here", async () => {
  const ids = Array.from({ length: 14 }, (_, index) => `mcpr_${index}`);
  const { model, responses } = await provider([...ids.map((id) => [asks(id)]), [says("It is closed.")]]);
  const runtime = runtimeWith({ approval: { never: ["hosted_tickets"] } });
  expect((await createLoop({ model, session: runtime.session() }).run("Wait until 7 is closed.")).text).toBe("It is closed.");
  expect(responses()).toEqual(ids.map((id) => response(id, true)));
});

test("a request for a server that is not a tool of the runtime is denied", async () => {
  const { model, responses } = await provider([[asks("mcpr_1", "unknown")], [says("Then not.")]]);
  expect((await createLoop({ model, session: runtimeWith().session() }).run("Close 7.")).text).toBe("Then not.");
  expect(responses()).toMatchObject([{ approval_request_id: "mcpr_1", approve: false }]);
});

test.each(["{not", '{"id":7,"id":8}', '{"id":7,"more":{"__proto__":{"all":true}}}'])(
  "arguments that cannot be the input of a call are shown as text: %s",
  async (given) => {
    const asked: unknown[] = [];
    const { model } = await provider([[asks("mcpr_1", "tickets", given)], [says("Done.")]]);
    const runtime = runtimeWith({ approval: { approve: ({ input }) => (asked.push(input), "deny") } });
    await createLoop({ model, session: runtime.session() }).run("Close 7.");
    expect(asked).toEqual([{ server: "tickets", tool: "close", arguments: given }]);
  },
);

test("a program with its own loop answers approval requests by the kind of the call", async () => {
  const format = openAiResponses();
  const runtime = runtimeWith({ approval: { approve: () => "allow-once" } });
  const { toolNames } = format.encodeTools(modelTools(runtime.registry, { format: format.name }));
  const { calls } = format.decodeReply({ status: "completed", output: [asks("mcpr_1"), asks("mcpr_2", "mail")] }, { toolNames });
  expect(calls.map(({ kind, name }) => [kind, name])).toEqual([
    ["approval", "default::hosted_tickets"],
    ["approval", "default::hosted_mail"],
  ]);
  const answers = await Promise.all(calls.map(async (call) => ({ ...call, result: await runtime.execute(call) })));
  expect(format.encodeResults(answers, calls)).toEqual([response("mcpr_1", true), response("mcpr_2", true)]);
});

const question = (input: JsonObject): ModelCall => ({ name: "hosted_tickets", input, kind: "approval" });

test("a simulation denies the request, because the provider would run the call for real", async () => {
  const runtime = runtimeWith({ approval: { approve: () => "allow-once" } });
  const input = { server: "tickets", tool: "close", arguments: {} };
  const { results } = await runtime.session().simulate([question(input)]);
  expect(results).toMatchObject([{ error: { code: "not_simulatable" } }]);
});

test("a call of the kind approval without a valid request is rejected, because only the provider runs the tool", async () => {
  const asked: unknown[] = [];
  const runtime = runtimeWith({ approval: { approve: (request) => (asked.push(request), "allow-once") } });
  for (const input of [{}, { id: 7 }, { server: "tickets", tool: "close", arguments: {}, more: 1 }])
    expect(await runtime.execute(question(input))).toMatchObject({ error: { code: "not_executable" } });
  expect(asked).toEqual([]);
});

describe("a call by the model itself that looks like an approval request", () => {
  const input = { server: "tickets", tool: "close", arguments: { id: 7 } };
  const written = (name: string): JsonObject => ({
    type: "function_call",
    id: "fc_1",
    call_id: "call_1",
    name,
    arguments: JSON.stringify(input),
  });
  const ask = (asked: ApprovalRequest[]): RuntimeOptions => ({ approval: { approve: (request) => (asked.push(request), "allow-once") } });

  test.each(["hosted_tickets", "mcp_approval_request tickets"])(
    "%s: the approver is not asked, and the call is not executable",
    async (name) => {
      const asked: ApprovalRequest[] = [];
      const { model, inputs } = await provider([[written(name)], [says("Then not.")]]);
      const result = await createLoop({ model, session: runtimeWith(ask(asked)).session() }).run("Close 7.");

      expect(asked).toEqual([]);
      expect(result.results).toMatchObject([{ error: { code: "not_executable" } }]);
      expect(inputs.at(-1)).toContainEqual({
        type: "function_call_output",
        call_id: "call_1",
        output: expect.stringContaining("not_executable"),
      });
    },
  );

  test("is not left pending, and a caller that sets no kind gets the same error", async () => {
    const { model } = await provider([[written("hosted_tickets")], [says("Then not.")]]);
    const loop = createLoop({ model, session: runtimeWith().session() });
    expect((await loop.run("Close 7.")).reason).toBe("answered");
    expect(loop.pending()).toEqual([]);

    const asked: ApprovalRequest[] = [];
    const runtime = runtimeWith(ask(asked));
    expect(await runtime.execute({ name: "hosted_tickets", input })).toMatchObject({ error: { code: "not_executable" } });
    expect(asked).toEqual([]);
  });
});

describe("an approval request that is changed", () => {
  const changes: readonly (readonly [string, (call: ToolCall) => ToolCall])[] = [
    ["its arguments", (call) => ({ ...call, input: { server: "tickets", tool: "close", arguments: { id: 8 } } })],
    ["its tool", (call) => ({ ...call, name: "default::own", input: {} })],
  ];
  const own: Tool = {
    name: "own",
    description: "Of the program.",
    inputSchema: {},
    effects: { reads: [], writes: [] },
    execute: () => "done",
  };

  test.each(changes)(
    "by a hook (%s) is denied, because the provider would run what the approver did not see",
    async (_what, beforeCall) => {
      const asked: ApprovalRequest[] = [];
      const { model, responses } = await provider([[asks("mcpr_1")], [says("Then not.")]]);
      const runtime = runtimeWith({
        tools: [...TOOLS, own],
        hooks: [{ name: "change", beforeCall }],
        approval: { approve: (request) => (asked.push(request), "allow-once") },
      });
      await createLoop({ model, session: runtime.session() }).run("Close 7.");

      expect(asked).toEqual([]);
      expect(responses()).toEqual([response("mcpr_1", false, expect.stringContaining("hook or rewriteInput changed it"))]);
    },
  );

  test("only in key order by a hook, or copied by rewriteInput, is still approved; other changes are vetoed", async () => {
    const input = { server: "tickets", tool: "close", arguments: { id: 7 } };
    const approval = { approve: () => "allow-once" as const };
    const copy = {
      name: "copy",
      beforeCall: (call: ToolCall) => ({ ...call, input: { arguments: { id: 7 }, tool: "close", server: "tickets" } }),
    };
    const kept = await runtimeWith({ approval, hooks: [copy] }).execute(question(input), {
      rewriteInput: (call) => structuredClone(call.input),
    });
    const changed = await runtimeWith({ approval }).execute(question(input), { rewriteInput: () => ({ ...input, arguments: {} }) });

    expect([kept, changed]).toMatchObject([{ output: { approved: true } }, { error: { code: "vetoed" } }]);
  });

  test("by a hook of the process that resumes it is vetoed", async () => {
    const store = await leftWhileAsked();

    const [[, beforeCall] = []] = changes;
    const after = runtimeWith({
      store,
      hooks: [{ name: "change", ...(beforeCall && { beforeCall }) }],
      approval: { approve: () => "allow-once" },
    });
    const session = await after.resume("s", { takeOver: true });

    const results = session.log.flatMap((event) => (event.type === "call-end" ? [event.result] : []));
    expect(results).toMatchObject([{ error: { code: "vetoed" } }]);
  });
});

describe("a message without text", () => {
  const cases: readonly (readonly [string, readonly JsonObject[], string])[] = [
    ["nothing", [], "The model's last message has no text. The provider's finish reason is \"completed\"."],
    [
      "calls of the provider alone",
      [{ type: "web_search_call", id: "w", status: "completed", action: { type: "search", query: "q" } }],
      "The model's last message has no text. The provider ran web_search_call for it. The provider's finish reason is \"completed\".",
    ],
    [
      "an item that is not known",
      [{ type: "consent_request", id: "c" }],
      'The model\'s last message has no text. The provider\'s finish reason is "completed". The message has an item of the type "consent_request"; it is not known and is ignored.',
    ],
  ];
  test.each(cases)("%s: the result detail says so", async (_what, output, detail) => {
    const { model } = await provider([output]);
    const result = await createLoop({ model, session: runtimeWith().session() }).run("Go.");
    expect([result.reason, result.text, result.detail]).toEqual(["answered", "", detail]);
  });

  test.each(["computer_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call"])(
    "%s without a tool for it is answered as a call of an unknown tool",
    async (type) => {
      const { model, inputs } = await provider([[{ type, id: "i", call_id: "c", status: "completed", action: {}, execution: "client" }]]);
      const result = await createLoop({ model, session: runtimeWith().session() }).run("Go.");
      expect([result.text, result.results.map(({ error }) => error?.code)]).toEqual(["Nothing more.", ["not_found"]]);
      expect(inputs).toHaveLength(2);
    },
  );
});
