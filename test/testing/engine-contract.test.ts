import { describe, expect, test } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import { pure } from "../../src/core/resources/effects.ts";
import type { Engine, EngineRequest } from "../../src/core/engine.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import type { Tool } from "../../src/core/tool.ts";
import { exampleEngine } from "../../src/engine/example.ts";
import { lmEngine } from "../../src/engine/lm.ts";
import { localEngine } from "../../src/engine/local.ts";
import { perSession } from "../../src/engine/per-session.ts";
import { replayEngine } from "../../src/engine/replay.ts";
import { searchEngine } from "../../src/engine/search.ts";
import { stubEngine } from "../../src/engine/stub.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import type { EngineSubject } from "../../src/testing/engine-case.ts";
import { engineContract } from "../../src/testing/engine-contract.ts";

const ANY = { type: "object" } as const;
const COUNT = { name: "count", description: "Counts.", inputSchema: ANY, effects: pure };
const ECHO = { name: "echo", description: "Says it again.", inputSchema: ANY, effects: pure };
const WAIT = { name: "wait", description: "Waits for ever.", inputSchema: ANY, effects: pure };
const CALLS = [
  { name: "count", input: {} },
  { name: "echo", input: { text: "Å" } },
  { name: "count", input: {} },
  { name: "count", input: { by: 2 } },
] as const;
const ENDLESS = { name: "wait", input: {} } as const;

function untilCalledOff(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("called off"))));
}

function countIn({ state }: ToolContext): number {
  const count = Number(state.get("count") ?? 0) + 1;
  state.update("count", () => count);
  return count;
}

const LOCAL: EngineSubject = {
  engine: localEngine,
  tools: [
    { ...COUNT, execute: (_: unknown, context) => countIn(context) },
    { ...ECHO, execute: (input: { readonly text?: JsonValue }) => input.text ?? null },
    { ...WAIT, execute: (_: unknown, { signal }) => untilCalledOff(signal) },
  ],
  calls: CALLS,
  endless: ENDLESS,
};

async function recorded(): Promise<readonly SessionEvent[]> {
  await using runtime = createRuntime({ toolsets: [{ name: "subject", description: "", tools: LOCAL.tools ?? [] }] });
  const session = runtime.session();
  for (const call of CALLS) await session.execute({ ...call, name: `subject::${call.name}` });
  const events: SessionEvent[] = [];
  for await (const event of session.events()) events.push(event);
  return events;
}
const EVENTS = await recorded();

const STUBS = [
  { tool: "subject::count", output: 1, times: 1 },
  { tool: "subject::count", output: 2 },
  { tool: "subject::echo", output: "Å" },
] as const;

/** Says how long the conversation is: a reply to another session's, or to another branch's, is another. */
function howLong({ messages }: ModelRequest): { readonly text: string } | Promise<never> {
  if (JSON.stringify(messages.at(-1)).includes("wait")) return new Promise<never>(() => undefined);
  return { text: JSON.stringify({ messages: messages.length }) };
}

const SUBJECTS: Readonly<Record<string, EngineSubject>> = {
  local: LOCAL,
  replay: { engine: () => replayEngine(EVENTS), tools: [COUNT, ECHO], calls: CALLS },
  search: {
    engine: () =>
      searchEngine({
        documents: [
          { id: "1", text: "the nordic countries" },
          { id: "2", text: "the baltic countries" },
        ],
      }),
    calls: [
      { name: "search", input: { query: "nordic" } },
      { name: "search", input: { query: "countries", limit: 1 } },
      { name: "search", input: { query: "nobody" } },
    ],
  },
  stub: { engine: () => stubEngine(STUBS), tools: [COUNT, ECHO], calls: CALLS },
  "for each session": { engine: () => perSession(() => stubEngine(STUBS)), tools: [COUNT, ECHO], calls: CALLS },
  example: {
    engine: () => exampleEngine({ seed: 1 }),
    tools: [{ ...COUNT, outputSchema: { type: "object", properties: { count: { type: "integer" } }, required: ["count"] } }, ECHO],
    calls: CALLS,
  },
  lm: { engine: () => lmEngine({ model: scriptedModel(howLong) }), tools: [COUNT, ECHO, WAIT], calls: CALLS, endless: ENDLESS },
};

const OWN = Object.entries(SUBJECTS).flatMap(([name, subject]) =>
  engineContract.filter((one) => one.appliesTo(subject)).map((one) => ({ name, subject, ...one })),
);

test.each(OWN)("the engine $name fulfils the contract: $title", async ({ run, subject }) => {
  await run(subject);
});

test("cases for an endless call or local state are skipped for an engine without them", () => {
  const { endless: _, ...quick } = LOCAL;
  const count = (subject: EngineSubject): number => engineContract.filter((one) => one.appliesTo(subject)).length;
  const remote = { ...quick, engine: () => ({ ...localEngine(), state: "remote" }) as const };
  expect([count(LOCAL), count(quick), count(remote)]).toEqual([engineContract.length, engineContract.length - 2, 4]);
});

/** Counts in the session's state, as an engine should. */
class CountingEngine implements Engine {
  readonly kind: string = "counting";
  readonly order: NonNullable<Engine["order"]> = "sequential";
  readonly state: NonNullable<Engine["state"]> = "value";
  readonly effectFree: boolean = true;

  open(): Promise<readonly Tool[]> {
    return Promise.resolve([COUNT, ECHO, WAIT]);
  }

  call({ tool }: EngineRequest, context: ToolContext): unknown {
    return tool.name === "wait" ? untilCalledOff(context.signal) : this.count(context);
  }

  count(context: ToolContext): unknown {
    return countIn(context);
  }
}

class BadTool extends CountingEngine {
  override open(): Promise<readonly Tool[]> {
    return Promise.resolve([COUNT, ECHO, WAIT, { ...ECHO, name: "odd", inputSchema: { type: "nonsense" } }]);
  }
}

class ClosesOnce extends CountingEngine {
  #closed = false;

  close(): Promise<void> {
    const wasClosed = this.#closed;
    this.#closed = true;
    return wasClosed ? Promise.reject(new Error("closed already")) : Promise.resolve();
  }
}

class AnswersNoJson extends CountingEngine {
  override count(): unknown {
    return 1n;
  }
}

class Stumbles extends CountingEngine {
  #isDown = false;

  override call(request: EngineRequest, context: ToolContext): unknown {
    if (Object.hasOwn(request.input, "number")) this.#isDown = true;
    if (this.#isDown) throw new Error("down");
    return super.call(request, context);
  }
}

class Deaf extends CountingEngine {
  override call(request: EngineRequest, context: ToolContext): unknown {
    return request.tool.name === "wait" ? new Promise(() => undefined) : super.call(request, context);
  }
}

/** One count for everybody. */
class CountsTogether extends CountingEngine {
  #count = 0;

  override count(): unknown {
    return ++this.#count;
  }
}

/** A count for each session, but not in it. */
class CountsBeside extends CountingEngine {
  readonly #counts = new Map<string, number>();

  override count({ sessionId }: ToolContext): unknown {
    const count = (this.#counts.get(sessionId) ?? 0) + 1;
    this.#counts.set(sessionId, count);
    return count;
  }
}

/** Goes by the history, and does not say that it must see all of it. */
class CountsTooEarly extends CountingEngine {
  override readonly order = "parallel";

  override count({ history }: ToolContext): unknown {
    return history.length;
  }
}

const BROKEN: readonly (readonly [string, () => Engine])[] = [
  ["it opens, and its tools can be described to a model", () => new BadTool()],
  ["it can be closed twice, and unopened", () => new ClosesOnce()],
  ["each call ends in one result, in its turn", () => new AnswersNoJson()],
  ["an odd input ends in a result, and leaves nothing behind", () => new Stumbles()],
  ["a call that is cancelled stops, and the next is answered", () => new Deaf()],
  ["a call that reaches its deadline stops, and the next is answered", () => new Deaf()],
  ["calls of two sessions do not mix", () => new CountsTogether()],
  ["a branch does not change its parent", () => new CountsTogether()],
  ["a simulation does not change the session", () => new CountsTogether()],
  ["a session that is restored from its snapshot continues where it was", () => new CountsBeside()],
  ["the calls of one message are answered as they would be one after the other", () => new CountsTooEarly()],
];

describe("the contract detects an engine that violates the case", () => {
  const subjectOf = (engine: () => Engine): EngineSubject => ({ engine, calls: CALLS, endless: ENDLESS, timeoutMs: 300 });

  test("every case fails for one engine and passes for another", async () => {
    expect(BROKEN.map(([title]) => title)).toEqual(engineContract.map(({ title }) => title));
    for (const one of engineContract) await one.run({ ...subjectOf(() => new CountingEngine()), timeoutMs: 5_000 });
  });
  test.each(BROKEN)("%s", async (title, engine) => {
    const broken = engineContract.find((one) => one.title === title);
    await expect(broken?.run(subjectOf(engine))).rejects.toThrow();
  });
  test("a subject without calls is rejected, as it would prove nothing", async () => {
    const [, , one] = engineContract;
    await expect(one?.run({ engine: localEngine, calls: [] })).rejects.toThrow("at least one call");
  });
});
