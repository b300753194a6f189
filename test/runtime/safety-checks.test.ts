/** Calls with checks of the model's provider: which answers allow them, in which forms they are found, and what the tool is given. */
import { expect, onTestFinished, test } from "vitest";
import type { ApprovalAnswer, ApprovalRequest } from "../../src/core/approvals/ask.ts";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { replayEngine, toolsetsOfRecording } from "../../src/engine/replay.ts";
import { createRuntime, type RuntimeOptions } from "../../src/runtime/runtime.ts";

const CHECKS: JsonValue = [{ id: "sc_1", code: "malicious_instructions", message: "The page has instructions of its own." }];
const OTHER: JsonValue = [{ id: "sc_2", code: "sensitive_domain", message: "This is a bank." }];

interface Setup {
  readonly runtime: ReturnType<typeof createRuntime>;
  readonly asked: ApprovalRequest[];
  readonly given: JsonObject[];
}

function setUp(answer: ApprovalAnswer, fields: Partial<Tool> = {}, options: RuntimeOptions = {}): Setup {
  const asked: ApprovalRequest[] = [];
  const given: JsonObject[] = [];
  const computer: Tool = {
    name: "computer",
    description: "A computer.",
    inputSchema: { type: "object" },
    effects: { reads: ["screen"], writes: [] },
    providers: { "openai-responses": { type: "computer" } },
    execute: (input) => (given.push(input), { seen: true }),
    ...fields,
  };
  const approve = (request: ApprovalRequest): ApprovalAnswer => (asked.push(request), answer);
  const runtime = createRuntime({ tools: [computer], approval: { approve }, ...options });
  onTestFinished(async () => void (await runtime.close()));
  return { runtime, asked, given };
}

const callWith = (checks: JsonValue, x = 1): { name: string; input: JsonObject } => ({
  name: "computer",
  input: { x, pending_safety_checks: checks },
});

test.each(["allow-always", "allow-input"] as const)("%s does not cover safety checks that were not shown", async (answer) => {
  const { runtime, asked } = setUp(answer);
  const session = runtime.session();
  for (const call of [callWith(CHECKS), callWith(OTHER), callWith(CHECKS, 2)]) await session.execute(call);
  expect(asked.map(({ input }) => input)).toEqual([callWith(CHECKS).input, callWith(OTHER).input, callWith(CHECKS, 2).input]);
});

test("allow-input allows the same safety checks again after they were shown", async () => {
  const { runtime, asked, given } = setUp("allow-input");
  const session = runtime.session();
  for (const call of [callWith(CHECKS), callWith(CHECKS)]) await session.execute(call);
  expect([asked.length, given]).toEqual([1, [{ x: 1 }, { x: 1 }]]);
});

test("an approval rule with a pattern allows the tool, but no safety checks", async () => {
  const { runtime, asked, given } = setUp("deny", { effects: { reads: [], writes: ["screen"], destructive: true } });
  await runtime.approvals.addRule({ pattern: "*" });
  const plain = await runtime.execute({ name: "computer", input: { x: 1 } });
  const checked = await runtime.execute(callWith(CHECKS));
  expect([plain.status, checked.error?.code, asked.length, given]).toEqual(["ok", "approval_denied", 1, [{ x: 1 }]]);
});

const ASKING: readonly JsonObject[] = [
  { pending_safety_checks: ["a check that is text"] },
  { pending_safety_checks: [null, [{ id: "in an array" }]] },
  { pending_safety_checks: { id: "one that is in no array" } },
  { pending_safety_checks: "malicious_instructions" },
  { pending_safety_checks: true },
  { safety_decision: { decision: "REQUIRE_CONFIRMATION" } },
  { safety_decision: { decision: "a decision of a later version" } },
  { safety_decision: { decision: null } },
  { safety_decision: { decision: ["regular"] } },
  { safety_decision: { explanation: "no decision" } },
  { safety_decision: "require_confirmation" },
  { safety_decision: "regular" },
  { safety_decision: [{ decision: "regular" }] },
  { safety_decision: true },
];
test.each(ASKING)("safety checks in an unknown form need approval: %j", async (checks) => {
  const { runtime, asked, given } = setUp("deny");
  await runtime.execute({ name: "computer", input: { x: 1, ...checks } });
  expect([asked.length, given]).toEqual([1, []]);
});

const SILENT: readonly JsonObject[] = [
  { pending_safety_checks: null },
  { pending_safety_checks: [] },
  { pending_safety_checks: [null] },
  { safety_decision: { decision: "regular" } },
  { safety_decision: { decision: "allowed" } },
  { safety_decision: null },
];
test.each(SILENT)("fields without a check are ordinary parameters: %j", async (fields) => {
  const { runtime, asked, given } = setUp("deny");
  await runtime.execute({ name: "computer", input: { x: 1, ...fields } });
  expect([asked, given]).toEqual([[], [{ x: 1, ...fields }]]);
});

const OWN: readonly (readonly [string, Partial<Tool>])[] = [
  ["has them in its schema", { inputSchema: { type: "object", properties: { pending_safety_checks: {}, safety_decision: {} } } }],
  ["takes any object", {}],
  ["is another tool of the provider", { providers: { "openai-responses": { type: "shell" } } }],
];
test.each(OWN)("fields named like safety checks are ordinary parameters of a tool that is no computer: it %s", async (_what, fields) => {
  const input = { pending_safety_checks: CHECKS, safety_decision: { decision: "require_confirmation" } };
  const { runtime, asked, given } = setUp("deny", { providers: {}, ...fields });
  const rewritten = await runtime.execute(
    { name: "computer", input },
    { rewriteInput: () => ({ ...input, pending_safety_checks: OTHER }) },
  );
  const inText = await runtime.execute({ name: "computer", input: JSON.stringify(input) });
  expect([rewritten.status, inText.status, asked]).toEqual(["ok", "ok", []]);
  expect(given).toEqual([{ ...input, pending_safety_checks: OTHER }, input]);
});

test("a destructive tool that is no computer is allowed for every input by allow-always and by pattern rules", async () => {
  const { runtime, asked, given } = setUp("allow-always", { providers: {}, effects: { reads: [], writes: ["screen"], destructive: true } });
  const session = runtime.session();
  for (const call of [callWith(CHECKS), callWith(OTHER)]) await session.execute(call);
  await runtime.approvals.addRule({ pattern: "*" });
  await runtime.execute(callWith(CHECKS, 2));
  expect([asked.length, given]).toEqual([1, [callWith(CHECKS).input, callWith(OTHER).input, callWith(CHECKS, 2).input]]);
});

test.each([{ type: "computer_use_preview" }, { type: "computer_use" }, { computerUse: {} }])(
  "a tool is a computer in every form that a provider offers: %j",
  async (words) => {
    const { runtime, asked } = setUp("deny", { providers: { any: words } });
    await runtime.execute(callWith(CHECKS));
    expect(asked).toMatchObject([{ safetyChecks: { pending_safety_checks: CHECKS } }]);
  },
);

test("a call of OpenAI's computer tool needs approval even if no tool offers it", async () => {
  const { runtime, asked } = setUp("deny", { name: "computer_call", providers: {} });
  await runtime.execute({ ...callWith(CHECKS), name: "computer_call" });
  expect(asked).toHaveLength(1);
});

test.each([true, false])(
  "of several tools of one name the computer gets the call and its parameters, whether or not it comes first: %s",
  async (isFirst) => {
    const inputSchema = { type: "object", properties: { x: { type: "integer" } }, additionalProperties: false };
    const ran: JsonObject[] = [];
    const computer: Tool = {
      name: "desk",
      description: "A computer.",
      inputSchema,
      effects: { reads: ["screen"], writes: [] },
      providers: { "openai-responses": { type: "computer" } },
      execute: (input) => void ran.push(input),
    };
    const { providers: _, ...other } = {
      ...computer,
      inputSchema: { type: "object", properties: { x: {}, y: {}, pending_safety_checks: {} } },
    };
    const tools = isFirst ? [computer, other] : [other, computer];
    const { asked, runtime } = setUp("deny", {}, { toolsets: [{ name: "desks", overloads: true, tools }] });
    const call = { ...callWith(CHECKS), name: "desk" };
    const results = [await runtime.execute(call), await runtime.execute({ ...call, input: JSON.stringify(call.input) })];
    expect([results.map(({ error }) => error?.code), ran]).toEqual([["approval_denied", "approval_denied"], []]);
    expect(asked.map(({ input }) => input)).toEqual([call.input, call.input]);
  },
);

test("a hook cannot redirect a call with safety checks to another tool", async () => {
  const { runtime, given } = setUp(
    "allow-once",
    {},
    {
      hooks: [{ name: "other", beforeCall: (call) => ({ ...call, name: "other" }), inSimulation: "run" }],
    },
  );
  runtime.registry.register({
    name: "other",
    description: "",
    inputSchema: true,
    effects: { reads: [], writes: [] },
    execute: (input) => given.push(input),
  });
  expect(await runtime.execute(callWith(CHECKS))).toMatchObject({ error: { code: "vetoed" } });
  expect(given).toEqual([]);
});

const NEEDS: readonly (readonly [string, Partial<Tool>, RuntimeOptions["approval"], string])[] = [
  ["is destructive", { effects: { reads: [], writes: ["screen"], destructive: true } }, {}, "default::computer may destroy something. "],
  ["is always asked about", {}, { always: ["computer"] }, "The approval rules ask before default::computer runs. "],
  ["needs nothing else", {}, {}, ""],
];
test.each(NEEDS)("the approval question also states why the tool itself needs approval: it %s", async (_what, fields, approval, reason) => {
  const asked: string[] = [];
  const { runtime } = setUp("deny", fields, { approval: { ...approval, approve: (request) => (asked.push(request.reason), "deny") } });
  await runtime.execute(callWith(OTHER));
  expect(asked).toEqual([`${reason}The model's provider asks for a confirmation: sensitive_domain: This is a bank.`]);
});

test("a confirmed call runs, and is never answered from the cache", async () => {
  const { runtime, asked, given } = setUp("allow-input", { cache: "runtime" });
  const session = runtime.session();
  const results = [
    await session.execute(callWith(CHECKS)),
    await session.execute(callWith(CHECKS)),
    await session.execute({ name: "computer", input: { x: 1 } }),
  ];
  expect([asked.length, given.length, results.map(({ origin }) => origin)]).toEqual([1, 3, ["live", "live", "live"]]);
});

const IN_TEXT = JSON.stringify(callWith(CHECKS).input);
test.each([IN_TEXT, `${IN_TEXT.slice(0, -1)},}`, IN_TEXT.replace("_safety_", String.raw`\u005fsafety\u005f`)])(
  "safety checks in JSON text are recognised, and hooks cannot remove them: %s",
  async (input) => {
    const { runtime, asked, given } = setUp("deny");
    const denied = await runtime.execute({ name: "computer", input });
    const taken = await runtime.execute({ name: "computer", input }, { rewriteInput: () => ({ x: 1 }) });
    expect([denied.error?.code, taken.error?.code, asked.length, given]).toEqual(["approval_denied", "vetoed", 1, []]);
  },
);

test("a long reason is not cut in the middle of a character", async () => {
  const { runtime, asked } = setUp("deny");
  for (const start of ["", "a"])
    await runtime.execute(callWith(Array.from({ length: 1_000 }, () => ({ message: `${start}${"😀".repeat(100)}` }))));
  expect(asked.map(({ reason }) => [reason.isWellFormed(), reason.length < 1_100])).toEqual([
    [true, true],
    [true, true],
  ]);
});

test("effects and undo functions of the tool receive the input without the checks", async () => {
  const seen: unknown[] = [];
  const { promise: hasRun, resolve } = Promise.withResolvers<void>();
  const fail = async (): Promise<never> => {
    await hasRun;
    await new Promise((over) => setImmediate(over));
    throw new Error("boom");
  };
  const boom: Tool = { name: "boom", description: "Fails.", inputSchema: true, effects: { reads: [], writes: ["b"] }, execute: fail };
  const effects: Tool["effects"] = {
    reads: [],
    writes: (input) => (seen.push(input), ["screen"]),
    undo: ({ input }) => void seen.push(input),
  };
  const { runtime } = setUp("allow-once", { effects, execute: () => resolve() });
  runtime.registry.register(boom);
  await expect(runtime.session().execute([callWith(CHECKS), { name: "boom" }], { onError: "throw" })).rejects.toThrow("boom");
  expect(seen).toEqual([{ x: 1 }, { x: 1 }]);
});

test("a recording with safety checks can be replayed, also without an approver", async () => {
  const { runtime } = setUp("allow-once");
  const session = runtime.session();
  const [first, second] = await session.execute([callWith(CHECKS), callWith(OTHER, 2)]);
  const engine = replayEngine(session.log);
  const stubbed = setUp("allow-once", {}, { tools: [], toolsets: toolsetsOfRecording(session.log) });
  const replayed = setUp(
    "allow-once",
    {},
    {
      tools: [],
      toolsets: [{ name: "default", tools: [{ name: "computer", description: "A computer.", inputSchema: true }], engine }],
    },
  );
  for (const { runtime: again } of [stubbed, replayed])
    for (const [call, recorded] of [
      [callWith(CHECKS), first],
      [callWith(OTHER, 2), second],
    ] as const)
      expect(await again.execute(call)).toMatchObject({ status: "ok", output: recorded?.output });
});

test("a recording of a tool with an ordinary parameter of that name is replayed by it, and finds no call without it", async () => {
  const { runtime } = setUp("deny", { providers: {}, execute: (input) => ({ was: input["pending_safety_checks"] ?? null }) });
  const session = runtime.session();
  for (const call of [callWith(CHECKS), callWith(OTHER)]) await session.execute(call);
  const { runtime: again } = setUp("deny", {}, { tools: [], toolsets: toolsetsOfRecording(session.log) });
  expect(await again.execute(callWith(OTHER))).toMatchObject({ status: "ok", output: { was: OTHER } });
  expect(await again.execute(callWith(CHECKS))).toMatchObject({ status: "ok", output: { was: CHECKS } });
  expect(await again.execute({ name: "computer", input: { x: 1 } })).toMatchObject({ error: { code: "not_found" } });
});

test("a composite call approved as a whole asks for the safety checks of a nested call, with that call", async () => {
  const outer: Tool = {
    name: "outer",
    description: "Clicks.",
    inputSchema: { type: "object" },
    composite: true,
    approveWhole: true,
    execute: async (_input, { execute }) => (await execute(callWith(CHECKS))).status,
  };
  const { runtime, asked, given } = setUp("allow-once");
  runtime.registry.register(outer);
  expect(await runtime.session().execute({ name: "outer" })).toMatchObject({ output: "ok" });
  expect([asked.map(({ toolName, covers }) => [toolName, covers?.map(({ input }) => input)]), given]).toEqual([
    [["default::outer", [callWith(CHECKS).input]]],
    [{ x: 1 }],
  ]);
});
