/** Makes calls that wait for an abandoned handler, with real timers and nothing else that keeps the process alive. Prints a line for each. */
import { createLoop } from "../../../src/compose/loop.ts";
import type { Model } from "../../../src/core/model.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";

const TIMEOUT_MS = 25;
const HOLD_MS = 60;

const never = (): Promise<never> => new Promise(() => {});

function tool(name: string, execute: Tool["execute"], settings: Partial<Tool> = {}): Tool {
  return { name, description: "", inputSchema: {}, ...settings, ...(execute === undefined ? {} : { execute }) };
}

/** What the abandoned handler keeps, and what the next call needs. */
const HELD: Readonly<Record<string, { readonly holder: Partial<Tool>; readonly next: Partial<Tool> }>> = {
  "the lock of an undeclared toolset": { holder: {}, next: {} },
  "a key": { holder: { effects: { writes: ["k"] } }, next: { effects: { reads: ["k"] } } },
  "a session's key": { holder: { effects: { writes: ["session:k"] } }, next: { effects: { writes: ["session:k"] } } },
};

/** How the handler comes to be abandoned. */
const ABANDONED: Readonly<Record<string, (call: (signal?: AbortSignal) => Promise<unknown>) => Promise<unknown>>> = {
  "timed out": (call) => call(),
  aborted: (call) => call(AbortSignal.timeout(10)),
};

/** Who waits for it. */
const WAITERS: Readonly<Record<string, (runtime: Runtime) => Promise<unknown>>> = {
  "the next call": async (runtime) => runtime.execute({ name: "next" }),
  "a batch": async (runtime) => runtime.execute([{ name: "next" }, { name: "next" }]),
  "a nested call": async (runtime) => runtime.execute({ name: "outer" }),
  "a round": async (runtime) =>
    runtime.session().turn(async (turn) => {
      const round = turn.round();
      round.add({ name: "next", input: {} });
      return round.end({ content: "", finish: "calls", usage: { inputTokens: 0, outputTokens: 0 } });
    }),
};

function runtimeWith(holder: Partial<Tool>, next: Partial<Tool>): Runtime {
  let inner: Runtime | undefined;
  const outer = (): unknown => inner?.execute({ name: "next" });
  const runtime = createRuntime({
    orphanHoldMs: HOLD_MS,
    toolsets: [{ name: "outer", tools: [tool("outer", outer, { effects: { reads: [], writes: [] }, timeoutMs: 0 })] }],
    tools: [tool("hang", never, { ...holder, timeoutMs: TIMEOUT_MS }), tool("next", () => "done", next)],
    ports: { log: { debug: () => {}, warn: () => {} } },
  });
  inner = runtime;
  return runtime;
}

async function waitForLocks(): Promise<void> {
  for (const [what, { holder, next }] of Object.entries(HELD)) {
    for (const [how, abandon] of Object.entries(ABANDONED)) {
      for (const [who, wait] of Object.entries(WAITERS)) {
        const runtime = runtimeWith(holder, next);
        const hang = (signal?: AbortSignal): Promise<unknown> => runtime.execute({ name: "hang" }, signal === undefined ? {} : { signal });
        await abandon(hang);
        say(`${who} waits for ${what}, ${how}`, await wait(runtime));
      }
    }
  }
}

async function waitForSlots(): Promise<void> {
  const settings: Partial<Tool> = { effects: { reads: [], writes: [] }, timeoutMs: TIMEOUT_MS, maxAttempts: 1 };
  const ofTool = createRuntime({ orphanHoldMs: HOLD_MS, tools: [tool("hang", never, { ...settings, maxConcurrent: 1 })] });
  await ofTool.execute({ name: "hang" });
  say("a call waits for the slot of its tool", await ofTool.execute({ name: "hang" }));
  const tools = [tool("hang", never, settings), tool("next", () => "done", settings)];
  const ofToolset = createRuntime({ orphanHoldMs: HOLD_MS, toolsets: [{ name: "few", tools, maxConcurrent: 1 }] });
  await ofToolset.execute({ name: "hang" });
  say("a call waits for the slot of its toolset", await ofToolset.execute({ name: "next" }));
}

async function waitForItself(): Promise<void> {
  const effects = { writes: ["k"], idempotent: true };
  const hang = tool("hang", never, { effects, timeoutMs: TIMEOUT_MS, maxAttempts: 2 });
  const runtime = createRuntime({ orphanHoldMs: HOLD_MS, retry: { delayMs: 5 }, tools: [hang] });
  say("a retry waits for the attempt before it", await runtime.execute({ name: "hang" }));
}

async function waitForTurns(): Promise<void> {
  const runtime = runtimeWith({ effects: { writes: ["session:k"] } }, { effects: { reads: ["session:k"] } });
  const session = runtime.session();
  const turns = await Promise.all([session.execute({ name: "hang" }), session.execute({ name: "next" })]);
  say("the next turn of a session waits for the one before it", turns);
}

async function waitForLateAnswers(): Promise<void> {
  const late = (): Promise<string> => new Promise((resolve) => void setTimeout(() => resolve("late"), HOLD_MS).unref());
  const runtime = createRuntime({ tools: [tool("late", late, { timeoutMs: 0 })] });
  say("a call without a timeout waits for its handler", await runtime.execute({ name: "late" }));
  const hooked = createRuntime({
    tools: [tool("now", () => "done")],
    hooks: [{ name: "slow", beforeCall: async () => void (await late()) }],
  });
  say("a call waits for a hook", await hooked.execute({ name: "now" }));
  const asked = createRuntime({
    tools: [tool("now", () => "done")],
    approval: {
      always: ["*"],
      approve: async () => {
        await late();
        return "allow-once" as const;
      },
    },
  });
  say("a call waits for its approval", await asked.execute({ name: "now" }));
}

async function waitForModels(): Promise<void> {
  const deaf: Model = {
    name: "deaf",
    async *stream() {
      yield await never();
    },
  };
  const hard = createLoop({ session: createRuntime().session(), model: deaf, limits: { budget: { wallMs: { hard: TIMEOUT_MS } } } });
  say("a loop waits for its model until its budget is used up", await hard.run("Hello"));
  const late: Model = {
    name: "late",
    async *stream(request) {
      await new Promise<void>((resolve) => void setTimeout(resolve, HOLD_MS).unref());
      yield* scriptedModel([{ text: "Hello." }]).stream(request);
    },
  };
  const soft = createLoop({ session: createRuntime().session(), model: late, limits: { budget: { wallMs: { soft: TIMEOUT_MS } } } });
  say("a loop waits for its model for as long as it takes", await soft.run("Hello"));
}

async function waitForOthers(): Promise<void> {
  const engine = { kind: "late", call: never, open: async () => later([]) };
  const opened = createRuntime({ toolsets: [{ name: "late", engine, openTimeoutMs: 0 }] });
  await opened.open();
  say("a runtime waits for an engine that may take any time to open", { status: "open" });
  const session = createRuntime({ tools: [tool("next", () => "done")] }).session();
  const turn = session.turn(async () => later(undefined));
  say("a call waits for a turn that its program holds", await session.execute({ name: "next" }));
  await turn;
}

/** After a while, without keeping the process alive. */
async function later<T>(value: T): Promise<T> {
  await new Promise<void>((resolve) => void setTimeout(resolve, HOLD_MS).unref());
  return value;
}

function say(title: string, results: unknown): void {
  const all = Array.isArray(results) ? results : [results];
  process.stdout.write(`${title}: ${all.map((one: { status?: string; reason?: string }) => one.status ?? one.reason).join(", ")}\n`);
}

await waitForLocks();
await waitForSlots();
await waitForItself();
await waitForTurns();
await waitForLateAnswers();
await waitForModels();
await waitForOthers();
// What is still held now is waited for by no caller: the process may end.
const idle = createRuntime({
  orphanHoldMs: 3_600_000,
  tools: [tool("hang", never, { effects: { writes: ["k"] }, timeoutMs: TIMEOUT_MS })],
});
say("a runtime without callers", await idle.execute({ name: "hang" }));
