/** The tools of a world: leaves of every kind, and tools that make calls in every way. */
import type { ToolContext } from "../../../src/core/context.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { ToolCall } from "../../../src/core/call.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { Toolset } from "../../../src/core/toolset.ts";
import { createChain } from "../../../src/compose/chain/chain.ts";
import { delegateTool } from "../../../src/compose/delegate/delegate.ts";
import { programToolset } from "../../../src/compose/program/program-toolset.ts";
import { runSequence } from "../../../src/compose/sequence/run-sequence.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import type { FakeClock } from "../../../src/testing/fake-ports.ts";

export interface Input {
  readonly key: string;
  readonly tag?: string;
  readonly n?: number;
  readonly task?: string;
  readonly drop?: number;
}

/** What tools do to the world. */
export interface Host {
  readonly clock: FakeClock;
  enter(name: string, input: Input, context: ToolContext): void;
  version(key: string): number;
  /** Makes calls in a session of their own, which the handler begins by the runtime. */
  inOther(calls: readonly ToolCall[], context: ToolContext): Promise<unknown>;
  /** Counts handlers of a tool that may run one at a time. */
  occupy(name: string, by: number): void;
  /** Writes a document; once for each idempotency key, if one is given. */
  write(name: string, input: Input, context: ToolContext, onceFor?: string): number;
}

const STRING = { type: "string" } as const;
const schema = (more: object = {}, required: readonly string[] = []): Tool["inputSchema"] => ({
  type: "object",
  properties: { key: STRING, tag: STRING, n: { type: "integer" }, ...more },
  required: ["key", ...required],
  additionalProperties: false,
});
const docOf = (input: { readonly key?: unknown }): readonly string[] => [`doc:${String(input.key)}`];
const READS = { reads: docOf, writes: [] };
const WRITES = { writes: docOf };

function wait(host: Host, ms: number): Promise<void> {
  return new Promise((resolve) => void host.clock.timer(resolve, ms));
}

export function toolsetsOf(host: Host): readonly Toolset[] {
  const leaf = (name: string, more: Partial<Tool>, run: (input: Input, context: ToolContext) => unknown): Tool => ({
    name,
    description: `Does ${name}.`,
    inputSchema: schema(),
    ...more,
    execute: (input: Input, context) => {
      host.enter(name, input, context);
      return run(input, context);
    },
  });
  const read = (name: string, more: Partial<Tool>): Tool =>
    leaf(name, { effects: READS, ...more }, async ({ key }) => {
      await wait(host, 4);
      return { [key]: host.version(key), secret: "hush" };
    });
  const write = (name: string, more: Partial<Tool>, ms = 3): Tool =>
    leaf(name, { effects: WRITES, ...more }, async (input, context) => {
      await wait(host, ms);
      return { written: host.write(name, input, context) };
    });
  return [
    {
      name: "w",
      tools: [
        read("get_turn", { cache: "turn" }),
        read("get_session", { cache: "session" }),
        read("get_runtime", { cache: "runtime" }),
        read("get_stored", { cache: "persistent" }),
        sum(host),
        leaf("big", { effects: READS, maxResultBytes: 300 }, ({ key }) => ({
          [key]: host.version(key),
          secret: "hush",
          text: "word ".repeat(300),
        })),
        write("put", {}),
        pay(host),
        add(host),
        leaf("note", { effects: { writes: ["session:notes"] } }, ({ tag }, { state }) => {
          state.update("notes", (list) => [...(Array.isArray(list) ? list : []), tag ?? ""]);
          return tag;
        }),
        write("slow", { promoteAfterMs: 10 }, 40),
        write("bg", { mode: "background" }, 20),
        write("wipe", { effects: { ...WRITES, destructive: true } }),
        write("once", { oncePerTurn: true }),
        ...more(host, leaf, write),
        leaf("end", { endsTurn: true, effects: { reads: [], writes: [] } }, () => "over"),
      ],
    },
    { name: "o", overloads: true, tools: overloads(read, write) },
    { name: "s", tools: [write("sub", {}), write("sub_drop", { effects: { ...WRITES, destructive: true } })] },
    { name: "x", tools: [write("denied", {})] },
    { name: "c", tools: composites(host) },
    programToolset(),
  ];
}

/** Toolsets of a later version of a program: a tool is gone, one writes more, and one takes a further argument. */
export function changed(toolsets: readonly Toolset[]): readonly Toolset[] {
  return toolsets.map((toolset) => ({
    ...toolset,
    tools: (toolset.tools ?? [])
      .filter(({ name }) => name !== "pay" && name !== "wipe")
      .map((tool) =>
        tool.name === "put" || tool.name === "add"
          ? { ...tool, effects: { writes: (input: { readonly key?: unknown }) => ["all", `doc:${String(input.key)}`] } }
          : tool.name === "slow"
            ? { ...tool, description: "Is another." }
            : tool,
      ),
  }));
}

type MakeLeaf = (name: string, more: Partial<Tool>, run: (input: Input, context: ToolContext) => unknown) => Tool;

function more(host: Host, leaf: MakeLeaf, write: (name: string, more: Partial<Tool>, ms?: number) => Tool): readonly Tool[] {
  return [
    leaf("ask", { effects: WRITES }, async (input, context) => {
      const answer = await context.ask({ message: "Shall I write?" });
      return answer.action === "accept" ? { written: host.write("ask", input, context) } : answer.action;
    }),
    leaf("one", { effects: { reads: [], writes: [] }, maxConcurrent: 1 }, async () => {
      host.occupy("one", 1);
      await wait(host, 3);
      host.occupy("one", -1);
      return "one";
    }),
    write("late", { timeoutMs: 5, unknownKeys: "refuse" }, 12),
    leaf("flaky", { effects: { reads: [], writes: [] }, maxAttempts: 3 }, ({ key }, { attempt }) => {
      if (attempt < (key === "a" ? 3 : 9)) throw new ToolError("network_error", "reset", { retryable: true });
      return "at last";
    }),
    leaf("art", { effects: READS, cache: "session", supersedes: (newer, older) => newer.name === older.name }, ({ key }) => ({
      content: [
        { type: "image", data: Buffer.from(`picture of ${key} ${host.version(key)}`).toString("base64"), mimeType: "image/png" },
        { type: "text", text: "word ".repeat(200) },
      ],
    })),
    {
      name: "talk",
      description: "Talks.",
      inputSchema: schema(),
      mode: "stateful",
      effects: WRITES,
      execute: async function* (input: Input, context: ToolContext) {
        host.enter("talk", input, context);
        await wait(host, 5);
        const said: unknown = yield "first";
        await wait(host, 5);
        host.write("talk", input, context);
        return said ?? "nothing";
      },
    },
  ];
}

function overloads(read: (name: string, more: Partial<Tool>) => Tool, write: (name: string, more: Partial<Tool>) => Tool): readonly Tool[] {
  return [
    { ...read("look", { cache: "runtime" }), inputSchema: schema({ look: { type: "boolean" } }, ["look"]) },
    { ...write("text", {}), inputSchema: schema({ text: STRING }, ["text"]) },
    { ...write("drop", { effects: { ...WRITES, destructive: true } }), inputSchema: schema({ drop: { type: "integer" } }, ["drop"]) },
  ].map((tool) => ({ ...tool, name: "doc" }));
}

/** Reads two documents, and declares one. */
function sum(host: Host): Tool {
  return {
    name: "sum",
    description: "Reads both.",
    inputSchema: schema(),
    cache: "runtime",
    effects: READS,
    execute: async (input: Input, context) => {
      host.enter("sum", input, context);
      const { output } = await context.execute({ name: "w::get_runtime", input: { key: input.key === "a" ? "b" : "a" } });
      return { ...(output as object), [input.key]: host.version(input.key) };
    },
  };
}

/** May not be repeated; for some tags its outcome is unknown. */
function pay(host: Host): Tool {
  return {
    name: "pay",
    description: "Pays.",
    inputSchema: schema(),
    effects: { ...WRITES, external: true },
    execute: async (input: Input, context) => {
      host.enter("pay", input, context);
      await wait(host, 2);
      const written = host.write("pay", input, context);
      if (Number(input.tag?.slice(1)) % 3 === 0) throw new ToolError("network_error", "reset", { retryable: true });
      return { written };
    },
  };
}

/** May be repeated, and has to be. */
function add(host: Host): Tool {
  return {
    name: "add",
    description: "Adds.",
    inputSchema: schema(),
    effects: { ...WRITES, idempotent: true },
    execute: async (input: Input, context) => {
      host.enter("add", input, context);
      await wait(host, 2);
      const written = host.write("add", input, context, context.idempotencyKey);
      if (context.attempt < 2) throw new ToolError("network_error", "reset", { retryable: true });
      return { written };
    },
  };
}

interface Task {
  readonly calls: readonly ToolCall[];
  readonly serial: boolean;
}

const taskOf = ({ task }: Input): Task => JSON.parse(task ?? "") as Task; // feature-plan wrote it

function composites(host: Host): readonly Tool[] {
  const maker = (name: string, more: Partial<Tool>, make: (task: Task, context: ToolContext) => Promise<unknown>): Tool => ({
    name,
    description: "Makes calls.",
    inputSchema: { type: "object", properties: { task: STRING, key: STRING }, required: ["task"] },
    timeoutMs: 0,
    ...more,
    execute: async (input: Input, context) => {
      await make(taskOf(input), context);
      return "made";
    },
  });
  const make = async ({ calls, serial }: Task, context: ToolContext): Promise<void> => {
    if (!serial) await context.execute(calls);
    else for (const call of calls) await context.execute(call);
  };
  return [
    maker("nest", { composite: true }, make),
    maker("whole", { composite: true, approveWhole: true }, make),
    maker("plain", { effects: { reads: [], writes: [] } }, make),
    maker("kept", { effects: { reads: docOf, writes: [] }, cache: "runtime" }, make),
    maker(
      "within",
      { composite: true },
      inSession(async (session, { calls }) => session.execute(calls, { idempotencyKey: "within" })),
    ),
    maker(
      "sequence",
      { composite: true },
      inSession(
        async (session, { calls }) =>
          session.history.length > 0 ||
          runSequence(
            session,
            calls.map((call, index) => ({ ...call, id: `s${index}` })),
          ),
      ),
    ),
    maker(
      "steps",
      { composite: true },
      inSession((session, { calls }) =>
        createChain(
          calls.map(({ name, input }) => ({
            tool: name,
            inputMapping: Object.fromEntries(Object.entries(input as object).map(([key, value]) => [key, { value }])),
            outputKey: "out",
          })),
        ).run(session, {}, { stopOnFailure: false, idempotencyKey: "steps" }),
      ),
    ),
    maker(
      "other",
      { effects: { reads: [], writes: ({ task }: { readonly task?: unknown }) => [`task:${String(task)}`], external: true } },
      async ({ calls }, context) => host.inOther(calls, context),
    ),
    agent(),
    createChain([
      { tool: "w::get_runtime", inputMapping: { key: "key" }, outputKey: "got" },
      { tool: "w::put", inputMapping: { key: "key", tag: "tag" }, outputKey: "put" },
      { tool: "o::doc", inputMapping: { key: "key", drop: { value: 1 } }, outputKey: "dropped" },
    ]).toTool({ name: "chain", description: "A chain.", inputSchema: schema() }),
  ];
}

type Within = Awaited<ReturnType<typeof sessionWithin>>;

function inSession(run: (session: Within, task: Task) => Promise<unknown>): (task: Task, context: ToolContext) => Promise<unknown> {
  return async (task, context) => {
    const session = await sessionWithin(context);
    try {
      return await run(session, task);
    } finally {
      await session.close();
    }
  };
}

/** A delegate whose model makes the calls of its task in one message, or each in a message of its own. */
function agent(): Tool {
  const model = scriptedModel(({ messages }) => {
    const first = messages.find(({ role }) => role === "user");
    const { calls, serial } = taskOf({ key: "", task: first !== undefined && "content" in first ? String(first.content) : "" });
    const done = messages.filter(({ role }) => role === "result").length;
    if (done >= calls.length) return { text: "done" };
    return { calls: serial ? calls.slice(done, done + 1) : calls };
  });
  return delegateTool({ name: "agent", description: "Makes calls.", model, timeoutMs: 0 });
}
