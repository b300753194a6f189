/** Calls that the model's provider wants confirmed before they are run here: a person is asked, and the provider is told what was allowed. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { ApprovalRequest } from "../../src/core/approvals/ask.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import { ToolOutput } from "../../src/core/content.ts";
import type { Engine } from "../../src/core/engine.ts";
import type { Origin } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createLoop } from "../../src/compose/loop.ts";
import { modelTools } from "../../src/compose/prompt/model-tools.ts";
import { createRuntime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { toolServer, type ToolServer } from "./tool-server.ts";

const DATA = "iVBORw0KGgo=";
const CLICK = { type: "click", button: "left", x: 1, y: 2 };
const CHECKS = [
  { id: "sc_1", code: "malicious_instructions", message: "The page has instructions of its own." },
  { id: "sc_2", code: null, message: null },
];
const DECISION = { decision: "require_confirmation", explanation: "This accepts the cookies." };

interface Provider {
  readonly make: () => WireFormat;
  readonly model: string;
  /** The tool in its own words. */
  readonly words: JsonObject;
  /** A reply that makes the call, with and without checks. */
  readonly asks: (isAsked: boolean) => JsonObject;
  readonly says: JsonObject;
  readonly streamed: (reply: JsonObject) => readonly JsonObject[];
  /** What the person reads, and what else of the call the tool is given. */
  readonly reason: string;
  readonly checks: JsonObject;
  readonly given: JsonObject;
  /** The answers of a request that say that something was allowed, and all answers. */
  readonly acknowledged: (body: JsonObject) => readonly unknown[];
  readonly answers: (body: JsonObject) => readonly JsonObject[];
}

const objects = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? (value as JsonObject[]) : []);

/** @see openai 7.59.0, `ResponseComputerToolCall` and `ResponseInputItem.ComputerCallOutput` */
const OPENAI: Provider = {
  make: openAiResponses,
  model: "gpt-5",
  words: { type: "computer" },
  asks: (isAsked) => ({
    status: "completed",
    output: [
      {
        type: "computer_call",
        id: "cu_1",
        call_id: "call_1",
        status: "completed",
        actions: [CLICK],
        pending_safety_checks: isAsked ? CHECKS : [],
      },
    ],
  }),
  says: {
    status: "completed",
    output: [{ type: "message", id: "m", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Done." }] }],
  },
  streamed: (reply) => [
    { type: "response.created", response: { id: "r" } },
    ...objects(reply["output"]).flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item },
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response: reply },
  ],
  reason: "The model's provider asks for a confirmation: malicious_instructions: The page has instructions of its own.",
  checks: { pending_safety_checks: CHECKS },
  given: { actions: [CLICK] },
  answers: ({ input = [] }) => objects(input).filter(({ type }) => String(type).endsWith("_output")),
  acknowledged: ({ input = [] }) =>
    objects(input).flatMap(({ acknowledged_safety_checks: checks }) => (checks === undefined ? [] : [checks])),
};

/** @see https://ai.google.dev/gemini-api/docs/computer-use */
const GEMINI: Provider = {
  make: gemini,
  model: "gemini-3-flash",
  words: { computerUse: { environment: "ENVIRONMENT_BROWSER" } },
  asks: (isAsked) => ({
    candidates: [
      {
        content: {
          role: "model",
          parts: [
            {
              thoughtSignature: "s",
              functionCall: { name: "click_at", args: { x: 1, y: 2, ...(isAsked ? { safety_decision: DECISION } : {}) } },
            },
          ],
        },
        finishReason: "STOP",
      },
    ],
  }),
  says: { candidates: [{ content: { role: "model", parts: [{ text: "Done." }] }, finishReason: "STOP" }] },
  streamed: (reply) => [reply],
  reason: "The model's provider asks for a confirmation: This accepts the cookies.",
  checks: { safety_decision: DECISION },
  given: { x: 1, y: 2, action: "click_at" },
  answers: ({ contents = [] }) =>
    objects(contents).flatMap(({ parts = [] }) =>
      objects(parts).flatMap(({ functionResponse }) => (functionResponse === undefined ? [] : [functionResponse as JsonObject])),
    ),
  acknowledged: (body) => GEMINI.answers(body).flatMap(({ response }) => (response as JsonObject)["safety_acknowledgement"] ?? []),
};

const INTERACTIONS: Provider = {
  ...GEMINI,
  make: geminiInteractions,
  words: { type: "computer_use", environment: "browser" },
  asks: (isAsked) => ({
    status: "requires_action",
    steps: [
      {
        type: "function_call",
        id: "call_1",
        name: "click_at",
        arguments: { x: 1, y: 2, ...(isAsked ? { safety_decision: DECISION } : {}) },
      },
    ],
  }),
  says: { status: "completed", steps: [{ type: "model_output", content: [{ type: "text", text: "Done." }] }] },
  streamed: (reply) => [
    ...objects(reply["steps"]).flatMap((step, index) => [
      { event_type: "step.start", index, step },
      { event_type: "step.stop", index },
    ]),
    { event_type: "interaction.completed", interaction: { id: "i", status: reply["status"] ?? "" } },
  ],
  answers: ({ input = [] }) => objects(input).filter(({ type }) => type === "function_result"),
  acknowledged: (body) =>
    INTERACTIONS.answers(body).flatMap(({ result }) => {
      const text = typeof result === "string" ? result : String(objects(result)[0]?.["text"]);
      return text.startsWith("{") ? ((JSON.parse(text) as JsonObject)["safety_acknowledgement"] ?? []) : [];
    }),
};

const ALLOWED = new Map<Provider, readonly unknown[]>([
  [OPENAI, [CHECKS]],
  [GEMINI, ["true"]],
  [INTERACTIONS, [true]],
]);
const PROVIDERS = [...ALLOWED.keys()].flatMap((provider) =>
  [true, false].map((stream) => ({ name: provider.make().name, stream, provider })),
);

interface Setup extends ToolServer {
  readonly given: unknown[];
  readonly runtime: ReturnType<typeof createRuntime>;
}

async function setUp(
  provider: Provider,
  { stream = true, ...options }: RuntimeOptions & { readonly stream?: boolean },
  fields: Partial<Tool> = {},
  replies = [provider.asks(true), provider.says],
): Promise<Setup> {
  const given: unknown[] = [];
  const computer: Tool = {
    name: "computer",
    description: "A computer.",
    inputSchema: { type: "object" },
    effects: { reads: [], writes: ["screen"] },
    providers: { [provider.make().name]: provider.words },
    execute: (input) => {
      given.push(input);
      return new ToolOutput({ output: { url: "https://example.com/" }, content: [{ type: "image", mediaType: "image/png", data: DATA }] });
    },
    ...fields,
  };
  const runtime = createRuntime({ tools: [computer], ...options });
  onTestFinished(async () => void (await runtime.close()));
  const server = await toolServer({
    format: provider.make(),
    model: provider.model,
    replies,
    streamed: stream ? provider.streamed : undefined,
  });
  return { ...server, given, runtime };
}

const lastOf = ({ bodies }: Setup): JsonObject => bodies.at(-1) ?? {};

describe.each(PROVIDERS)("$name, streamed: $stream", ({ provider, stream }) => {
  test("the approver sees the checks, the tool runs without them, and an approval acknowledges them", async () => {
    const asked: ApprovalRequest[] = [];
    const setup = await setUp(provider, { stream, approval: { approve: (request) => (asked.push(request), "allow-once") } });
    const result = await createLoop({ model: setup.model, session: setup.runtime.session() }).run("Click.");

    expect([result.reason, result.text]).toEqual(["answered", "Done."]);
    expect(asked).toMatchObject([{ reason: provider.reason, input: { ...provider.given, ...provider.checks } }]);
    expect(setup.given).toEqual([provider.given]);
    expect(provider.acknowledged(lastOf(setup))).toEqual(ALLOWED.get(provider));
    expect(provider.answers(lastOf(setup))).toHaveLength(1);
  });

  test("a denial runs nothing and acknowledges nothing", async () => {
    const setup = await setUp(provider, { stream, approval: { approve: () => "deny" } });
    const result = await createLoop({ model: setup.model, session: setup.runtime.session() }).run("Click.");

    expect(result.results.map(({ error }) => error?.code)).toEqual(["approval_denied"]);
    expect([setup.given, provider.acknowledged(lastOf(setup))]).toEqual([[], []]);
  });

  test.each(["allow-once", "deny"] as const)("a later decision answers the call where it was made: %s", async (decision) => {
    const setup = await setUp(provider, { stream });
    const loop = createLoop({ model: setup.model, session: setup.runtime.session() });
    expect((await loop.run("Click.")).reason).toBe("approval");
    const [pending] = loop.pending();
    expect(pending?.input).toEqual({ ...provider.given, ...provider.checks });

    const result = await loop.resume({ decisions: { [pending?.digest ?? ""]: decision } });

    const isAllowed = decision === "allow-once";
    expect(result.text).toBe("Done.");
    expect(setup.given).toEqual(isAllowed ? [provider.given] : []);
    expect(provider.acknowledged(lastOf(setup))).toEqual(isAllowed ? ALLOWED.get(provider) : []);
    expect(provider.answers(lastOf(setup))).toHaveLength(1);
  });

  test("a program with its own loop encodes the acknowledgement with the results", async () => {
    const format = provider.make();
    const setup = await setUp(provider, { approval: { approve: () => "allow-once" } });
    const { toolNames } = format.encodeTools(modelTools(setup.runtime.registry, { format: format.name }));
    const { calls } = format.decodeReply(provider.asks(true), { toolNames });
    const answers = await Promise.all(calls.map(async (call) => ({ ...call, result: await setup.runtime.execute(call) })));
    const written = [...format.encodeResults(answers, calls)];
    expect(provider.acknowledged({ input: written, contents: written })).toEqual(ALLOWED.get(provider));
  });

  test("checks in another form than the provider's are asked about, too", async () => {
    const asked: string[] = [];
    const known = JSON.stringify(Object.values(provider.checks)[0]);
    const reply = JSON.parse(JSON.stringify(provider.asks(true)).replace(known, '"confirm it"')) as JsonObject;
    const approve = ({ reason }: ApprovalRequest): "deny" => (asked.push(reason), "deny");
    const setup = await setUp(provider, { stream, approval: { approve } }, {}, [reply, provider.says]);
    await createLoop({ model: setup.model, session: setup.runtime.session() }).run("Click.");
    expect([asked, setup.given]).toEqual([["The model's provider asks for a confirmation: confirm it"], []]);
  });

  test("a call without checks needs no approval", async () => {
    const asked: unknown[] = [];
    const setup = await setUp(provider, { stream, approval: { approve: (request) => (asked.push(request), "deny") } }, {}, [
      provider.asks(false),
      provider.says,
    ]);
    await createLoop({ model: setup.model, session: setup.runtime.session() }).run("Click.");
    expect([asked, setup.given, provider.acknowledged(lastOf(setup))]).toEqual([[], [provider.given], []]);
  });
});

const STRICT: readonly (readonly [string, Partial<Tool>])[] = [
  ["only reads", { effects: { reads: ["screen"], writes: [] } }],
  ["has a schema that is closed", { inputSchema: { type: "object", properties: { actions: {} }, additionalProperties: false } }],
  [
    "drops what it does not know",
    { inputSchema: { type: "object", properties: { actions: {} }, additionalProperties: false }, unknownKeys: "drop" },
  ],
  ["parses its input", { parseInput: async (input) => ({ value: structuredClone(input) }) }],
  ["is not validated", { inputSchema: true }],
];
test.each(STRICT)("the approver is asked whatever the tool declares: it %s", async (_what, fields) => {
  const asked: unknown[] = [];
  const setup = await setUp(OPENAI, { approval: { approve: ({ input }) => (asked.push(input), "allow-once") } }, fields);
  await createLoop({ model: setup.model, session: setup.runtime.session() }).run("Click.");
  expect(asked).toEqual([{ ...OPENAI.given, ...OPENAI.checks }]);
  expect(setup.given).toEqual([OPENAI.given]);
});

test("a question that was open at a crash is asked again, and the call runs once", async () => {
  const store = memoryStore();
  const { promise: isAsked, resolve } = Promise.withResolvers<void>();
  const before = await setUp(OPENAI, { store, approval: { approve: () => (resolve(), new Promise(() => undefined)) } });
  void createLoop({ model: before.model, session: before.runtime.session("s") })
    .run("Click.")
    .catch(() => undefined);
  await isAsked;

  const asked: unknown[] = [];
  const after = await setUp(OPENAI, { store, approval: { approve: ({ input }) => (asked.push(input), "allow-once") } });
  await after.runtime.resume("s", { takeOver: true });

  expect(asked).toEqual([{ ...OPENAI.given, ...OPENAI.checks }]);
  expect([before.given, after.given]).toEqual([[], [OPENAI.given]]);
});

test("rules apply as for any tool: approval.never skips the approver, and the checks are acknowledged", async () => {
  const setup = await setUp(OPENAI, { approval: { never: ["computer"], approve: () => "deny" } });
  await createLoop({ model: setup.model, session: setup.runtime.session() }).run("Click.");
  expect(OPENAI.acknowledged(lastOf(setup))).toEqual([CHECKS]);
});

test("rewriteInput cannot remove the checks, but may change the rest of the input", async () => {
  const input = { ...OPENAI.given, ...OPENAI.checks };
  const asked: unknown[] = [];
  const approval = { approve: (request: ApprovalRequest) => (asked.push(request.input), "allow-once" as const) };
  const { runtime } = await setUp(OPENAI, { approval });
  const changed = await runtime.execute({ name: "computer", input }, { rewriteInput: () => ({ ...input, actions: [] }) });
  const taken = await runtime.execute({ name: "computer", input }, { rewriteInput: () => OPENAI.given });

  expect([changed.status, taken.error?.code]).toEqual(["ok", "vetoed"]);
  expect(asked).toEqual([{ ...input, actions: [] }]);
});

test("a tool that fails after its approval is acknowledged, if the provider accepts an answer without a screenshot", async () => {
  for (const provider of [GEMINI, INTERACTIONS]) {
    const execute = (): never => {
      throw new Error("The window is gone.");
    };
    const setup = await setUp(provider, { approval: { approve: () => "allow-once" } }, { execute });
    await createLoop({ model: setup.model, session: setup.runtime.session() }).run("Click.");
    expect(provider.acknowledged(lastOf(setup))).toEqual(ALLOWED.get(provider));
  }
});

test("the checks are found in an input that is not valid JSON yet", async () => {
  const asked: unknown[] = [];
  const { runtime } = await setUp(GEMINI, { approval: { approve: ({ input }) => (asked.push(input), "deny") } });
  const input = `{"x": 1, "safety_decision": ${JSON.stringify(DECISION)},}`;
  expect(await runtime.execute({ name: "computer", input })).toMatchObject({ error: { code: "approval_denied" } });
  expect(asked).toEqual([{ x: 1, safety_decision: DECISION }]);
});

/** Two calls of one message, the first of which is denied. */
describe("two calls of one message", () => {
  const two: JsonObject = {
    status: "completed",
    output: [
      { type: "reasoning", id: "rs_1", encrypted_content: "e", summary: [] },
      ...["call_1", "call_2"].map((id) => ({
        type: "computer_call",
        id: `cu_${id}`,
        call_id: id,
        status: "completed",
        actions: [{ ...CLICK, x: Number(id.at(-1)) }],
        pending_safety_checks: CHECKS,
      })),
    ],
  };
  const isSecond = ({ input: { actions } }: { readonly input: JsonObject }): boolean => objects(actions)[0]?.["x"] === 2;
  const ALLOWED_ONE = [
    { type: "reasoning" },
    { type: "computer_call", call_id: "call_2" },
    { type: "function_call", call_id: "call_1" },
    { type: "function_call_output", call_id: "call_1", output: expect.stringContaining("was not approved") },
    { type: "computer_call_output", call_id: "call_2", acknowledged_safety_checks: CHECKS },
  ];

  test.each([true, false])("an approved one is acknowledged although the other is denied; streamed: %s", async (stream) => {
    const approve = (request: ApprovalRequest): "allow-once" | "deny" => (isSecond(request) ? "allow-once" : "deny");
    const setup = await setUp(OPENAI, { stream, approval: { approve } }, {}, [two, OPENAI.says]);
    expect((await createLoop({ model: setup.model, session: setup.runtime.session() }).run("Click.")).text).toBe("Done.");
    expect(objects(lastOf(setup)["input"]).slice(1)).toMatchObject(ALLOWED_ONE);
  });

  test("an approved one is acknowledged also if both are decided later", async () => {
    const setup = await setUp(OPENAI, {}, {}, [two, OPENAI.says]);
    const loop = createLoop({ model: setup.model, session: setup.runtime.session() });
    await loop.run("Click.");
    const decisions = Object.fromEntries(loop.pending().map((one) => [one.digest, isSecond(one) ? "allow-once" : "deny"] as const));
    await loop.resume({ decisions });
    expect(objects(lastOf(setup)["input"]).slice(1)).toMatchObject(ALLOWED_ONE);
  });

  test("if both are denied, they are sent back as function calls, not in the provider's own format", async () => {
    const setup = await setUp(OPENAI, { approval: { approve: () => "deny" } }, {}, [two, OPENAI.says]);
    await createLoop({ model: setup.model, session: setup.runtime.session() }).run("Click.");
    expect(objects(lastOf(setup)["input"]).map(({ type, role }) => type ?? role)).toEqual([
      "message",
      "function_call",
      "function_call",
      "function_call_output",
      "function_call_output",
    ]);
  });
});

const engineOf = (origin: Origin, answer: ToolOutput): Engine => ({
  kind: origin,
  state: "value",
  origin,
  effectFree: true,
  call: () => answer,
});

/** A stand-in answers without a question. */
test.each([OPENAI, GEMINI, INTERACTIONS])(
  "a stand-in in a live loop needs no approval and acknowledges nothing: $model",
  async (provider) => {
    const asked: unknown[] = [];
    const answer = new ToolOutput({
      output: { url: "https://example.com/" },
      content: [{ type: "image", mediaType: "image/png", data: DATA }],
    });
    const described: Tool = {
      name: "computer",
      description: "A computer.",
      inputSchema: { type: "object" },
      effects: { reads: [], writes: ["screen"] },
      providers: { [provider.make().name]: provider.words },
    };
    for (const options of [
      { answers: { rules: [{ tools: "*", from: ["stub"] }], engines: { stub: engineOf("stub", answer) } } },
      { tools: [], toolsets: [{ name: "pc", tools: [described], engine: engineOf("simulated", answer) }] },
    ] satisfies readonly RuntimeOptions[]) {
      const setup = await setUp(provider, { ...options, approval: { approve: (request) => (asked.push(request), "deny") } });
      const result = await createLoop({ model: setup.model, session: setup.runtime.session() }).run("Click.");
      expect([result.text, result.results.map(({ status }) => status), asked]).toEqual(["Done.", ["ok"], []]);
      expect([setup.given, provider.acknowledged(lastOf(setup))]).toEqual([[], []]);
    }
  },
);
