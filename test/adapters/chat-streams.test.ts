/** Whatever a run does, the client's own reader takes the stream: AI SDK's chat and AG-UI's agent. */
import { lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import fc from "fast-check";
import { createChain } from "haft/chain";
import { scriptedModel, type ScriptedReply } from "haft/model";
import { expect, test } from "vitest";
import { agUiHandler } from "../../src/adapters/ag-ui.ts";
import { uiChatHandler } from "../../src/adapters/ui-stream.ts";
import { delegateTool } from "../../src/compose/delegate/delegate.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import { createLoop } from "../../src/compose/loop.ts";
import type { Clock } from "../../src/core/ports.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { ToolError } from "../../src/core/error.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { repeated } from "../ci.ts";
import { gate, tool } from "../runtime/bench-runtime.ts";
import { agUiClient, Chat, type Decide } from "./chat-clients.ts";
import { testInCI } from "../test-in-ci.ts";

const path = { type: "object", properties: { path: { type: "string" } }, required: ["path"] } as const;

/** Open approvals are looked for at once. */
const QUICK: Clock = {
  now: () => systemPorts.clock.now(),
  wallTime: () => systemPorts.clock.wallTime(),
  timer: (fire, delayMs, options) => systemPorts.clock.timer(fire, delayMs === 50 ? 1 : delayMs, options),
};

interface World {
  readonly runtime: Runtime;
  readonly session: (id: string) => RuntimeSession;
  /** The inputs of the calls of `remove` that ran. */
  readonly removed: JsonObject[];
  /** Lets the jobs end that are running. */
  endJobs(): void;
}

function world(): World {
  const removed: JsonObject[] = [];
  let jobs = gate();
  const remove = tool("remove", (input) => (removed.push(input as JsonObject), "removed"), {
    inputSchema: path,
    effects: { writes: ["files:{path}"], destructive: true },
  });
  const steps = createChain()
    .addStep({ tool: "look", inputMapping: {}, outputKey: "seen" })
    .addStep({ tool: "remove", inputMapping: { path: "path" }, outputKey: "done" });
  const allow = { allow: ["default::*"] };
  const removes = calling({ text: "So be it.", calls: ["b", "c"].map((name) => ({ name: "remove", input: { path: name } })) });
  const hands = calling({
    calls: [
      { name: "helper", input: { task: "x" } },
      { name: "tidy", input: { path: "d" } },
    ],
  });
  const runtime = createRuntime({
    tools: [
      remove,
      delegateTool({ name: "helper", description: "Removes.", model: removes, allow }),
      delegateTool({ name: "boss", description: "Has others remove.", model: hands, allow }),
      tool("look", (_input, context) => (context.progress({ message: "looking" }), { found: 2 })),
      tool("nothing", () => null),
      tool("much", () => "line\n".repeat(50_000)),
      tool("slow", async (_input, { signal }) => {
        await Promise.race([jobs.promise, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
        return "late";
      }),
      tool("both", async (_input, context) => {
        for (const call of [{ name: "look" }, { name: "remove", input: { path: "e" } }]) await context.execute({ input: {}, ...call });
        return "both";
      }),
      steps.toTool({ name: "tidy", description: "Tidies.", inputSchema: path }),
    ],
    maxAttempts: 1,
    store: memoryStore(),
    ports: { ...systemPorts, clock: QUICK, log: fakePorts().log },
    approval: {
      approve: ({ signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("withdrawn")))),
    },
  });
  return {
    runtime,
    removed,
    session: (id) => runtime.sessions.get(id) ?? runtime.session(id),
    endJobs() {
      jobs.open();
      jobs = gate();
    },
  };
}

/** A model that answers each task with these calls, and then ends. */
function calling(reply: ScriptedReply) {
  return scriptedModel(({ messages }) => (messages.at(-1)?.role === "user" ? reply : { text: "Done." }));
}

const CALLS = [
  { name: "look", input: {} },
  { name: "nothing", input: {} },
  { name: "much", input: {} },
  { name: "missing", input: {} },
  { name: "both", input: {} },
  { name: "remove", input: { path: "a" } },
  { name: "remove", input: '{"path":"a"}' as unknown as JsonObject },
  { name: "remove", input: {} },
  { name: "tidy", input: { path: "t" } },
  { name: "helper", input: { task: "x" } },
  { name: "boss", input: { task: "y" } },
];
type Calls = readonly (typeof CALLS)[number][];

type Step =
  | { readonly type: "calls"; readonly calls: Calls }
  | { readonly type: "job"; readonly name: string }
  | { readonly type: "end jobs" }
  | { readonly type: "loop"; readonly rounds: readonly ScriptedReply[] }
  | { readonly type: "throw" };

async function perform({ endJobs }: World, session: RuntimeSession, step: Step): Promise<void> {
  if (step.type === "calls") await session.execute(step.calls);
  else if (step.type === "job") await session.execute({ name: step.name, input: { path: "j" } }, { background: true });
  else if (step.type === "end jobs") endJobs();
  else if (step.type === "throw") throw new ToolError("unavailable", "No more today.");
  else await createLoop({ model: scriptedModel([...step.rounds, { text: "The end." }]), session }).run("Go on.");
}

const calls = fc.array(fc.constantFrom(...CALLS), { minLength: 1, maxLength: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: calls.map((some) => ({ type: "calls", calls: some }) as const) },
  { weight: 2, arbitrary: fc.constantFrom("slow", "look", "remove").map((name) => ({ type: "job", name }) as const) },
  { weight: 1, arbitrary: fc.constant({ type: "end jobs" } as const) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.record({ text: fc.constantFrom("", "I look.", "So be it."), calls, pieceChars: fc.constantFrom(2, 50) }), { maxLength: 3 })
      .map((rounds) => ({ type: "loop", rounds }) as const),
  },
  { weight: 1, arbitrary: fc.constant({ type: "throw" } as const) },
);
/** The runs of one conversation, and the answers of its person. */
const conversation = fc.record({
  runs: fc.array(fc.array(step, { maxLength: 3 }), { minLength: 1, maxLength: 3 }),
  answers: fc.infiniteStream(fc.boolean()),
});

/** Answers from the stream, and keeps the inputs that were allowed to be removed. */
function deciding(answers: IterableIterator<boolean>) {
  const allowed: unknown[] = [];
  const decide: Decide = ({ toolName, input }) => {
    const isAllowed = answers.next().value === true;
    if (isAllowed) allowed.push(toolName.endsWith("remove") ? input : toolName);
    return isAllowed;
  };
  return { allowed, decide };
}

const sorted = (inputs: readonly unknown[]) => inputs.map((input) => JSON.stringify(input)).toSorted();

/** Plays the runs of a conversation, one for each request that begins one. */
function playing(made: World, runs: readonly (readonly Step[])[]) {
  const rest = [...runs];
  return {
    session: made.session,
    run: async (session: RuntimeSession) => {
      for (const one of rest.shift() ?? []) await perform(made, session, one);
    },
  };
}

test("AI SDK's chat can read every random run, and exactly the calls that a person approved run", async () => {
  await fc.assert(
    fc.asyncProperty(conversation, async ({ runs, answers }) => {
      const made = world();
      const chat = new Chat(uiChatHandler(made.runtime, playing(made, runs)));
      const { allowed, decide } = deciding(answers);
      for (const run of runs) {
        await chat.say("Go on.", decide);
        const hasFailed = run.some(({ type }) => type === "throw");
        expect(chat.error?.message).toBe(hasFailed ? "No more today." : undefined);
        chat.clearError();
        const open = chat.calls.filter(({ state }) => !state.startsWith("output-"));
        expect(open).toEqual([]);
      }
      expect(sorted(made.removed)).toEqual(sorted(allowed));
      await made.runtime.close();
    }),
    { numRuns: repeated(100) },
  );
});

testInCI("AG-UI's agent can read every random run, and exactly the calls that a person approved run", async () => {
  await fc.assert(
    fc.asyncProperty(conversation, async ({ runs, answers }) => {
      const made = world();
      const { say, events, agent } = agUiClient(agUiHandler(made.runtime, playing(made, runs)));
      const { allowed, decide } = deciding(answers);
      for (const run of runs) {
        await say(decide);
        expect(events.at(-1)?.type).toBe(run.some(({ type }) => type === "throw") ? "RUN_ERROR" : "RUN_FINISHED");
        const known = new Set(
          agent.messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : [])).map(({ id }) => id),
        );
        const results = agent.messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : []));
        expect(results.filter((id) => !known.has(id))).toEqual([]);
        expect(results).toHaveLength(new Set(results).size);
        agent.pendingInterrupts = []; // the client keeps those of a run that ended with an error
      }
      expect(sorted(made.removed)).toEqual(sorted(allowed));
      await made.runtime.close();
    }),
    { numRuns: repeated(100) },
  );
});

test("a question of a delegate, at any depth, is shown at the call visible in the chat until it is answered", async () => {
  const made = world();
  const chat = new Chat(uiChatHandler(made.runtime, playing(made, [[{ type: "calls", calls: [{ name: "boss", input: { task: "y" } }] }]])));
  const shown: unknown[] = [];
  await chat.say("Go on.", ({ toolName, input }) => shown.push([toolName, input]) > 0);
  expect(shown).toEqual(expect.arrayContaining(["b", "c", "d"].map((name) => ["default::remove", { path: name }])));
  expect([shown.length, sorted(made.removed)]).toEqual([3, sorted([{ path: "b" }, { path: "c" }, { path: "d" }])]);
  expect(chat.calls).toMatchObject([{ toolName: "boss", input: { task: "y" }, state: "output-available", output: "Done." }]);
  await made.runtime.close();
});

const SPOKEN: Step = {
  type: "loop",
  rounds: ["I look.", "So be it."].map((text) => ({ text, calls: [{ name: "look", input: {} }], pieceChars: 3 })),
};

test("text precedes the calls of its message, and each message has its own text", async () => {
  const made = world();
  const chat = new Chat(uiChatHandler(made.runtime, playing(made, [[SPOKEN]])));
  await chat.say("Go on.", () => true);
  expect(chat.lastMessage?.parts.map((part) => (part.type === "text" ? part.text : part.type))).toEqual([
    "I look.",
    "dynamic-tool",
    "So be it.",
    "dynamic-tool",
    "The end.",
  ]);
  const { say, agent } = agUiClient(agUiHandler(made.runtime, playing(made, [[SPOKEN]])));
  await say(() => true);
  expect(agent.messages.flatMap(({ role, content }) => (role === "assistant" && content !== undefined ? [content] : []))).toEqual([
    "I look.",
    "So be it.",
    "The end.",
  ]);
  await made.runtime.close();
});

test("a question beside a job is sent on its own, and an approved job is not asked about again", async () => {
  const made = world();
  const remove = { name: "remove", input: { path: "a" } };
  const runs: readonly Step[] = [
    { type: "job", name: "slow" },
    { type: "calls", calls: [remove] },
  ];
  const chat = new Chat(uiChatHandler(made.runtime, playing(made, [runs])));
  await chat.say("Go on.", () => true);
  expect(chat.calls.map(({ state, output }) => [state, output])).toEqual([
    ["output-available", expect.stringMatching(/continues in the background/u)],
    ["output-available", "removed"],
  ]);
  expect(lastAssistantMessageIsCompleteWithApprovalResponses(chat)).toBe(false);
  await made.runtime.close();
});

test("a failed model request is an error for both clients, and the provider's message stays in the log", async () => {
  const made = world();
  const failing = {
    session: made.session,
    run: (session: RuntimeSession) =>
      createLoop({ model: scriptedModel([{ error: new ToolError("permission_denied", "The key sk-1 is none.") }]), session }).run("Go on."),
  };
  const chat = new Chat(uiChatHandler(made.runtime, failing));
  await chat.say("Go on.", () => true);
  expect(chat.error?.message).toBe("The model could not answer.");
  const { say, events } = agUiClient(agUiHandler(made.runtime, failing));
  await say(() => true);
  expect(events.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "permission_denied", message: "The model could not answer." });
  await made.runtime.close();
});

test("the text of a model that a tool called is not shown to the user", async () => {
  const made = world();
  const asks = tool("asks", async (_input, { sessionId }) => {
    const session = made.session(sessionId);
    return (await createLoop({ model: scriptedModel([{ text: "For the tool.", pieceChars: 3 }]), session }).run("For the model.")).text;
  });
  made.runtime.registry.register(asks);
  const chat = new Chat(
    uiChatHandler(made.runtime, playing(made, [[{ type: "loop", rounds: [{ text: "I ask.", calls: [{ name: "asks" }] }] }]])),
  );
  await chat.say("Go on.", () => true);
  expect(chat.lastMessage?.parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).toEqual(["I ask.", "The end."]);
  expect(chat.calls).toMatchObject([{ output: "For the tool." }]);
  await made.runtime.close();
});
