import { describe, expect, test } from "vitest";
import { ToolOutput, createRuntime, defineTool, readOnly, type Tool, type ToolCall, type Toolset } from "haft";
import type { SessionEvent } from "../../src/core/event.ts";
import type { Hook } from "../../src/core/hook.ts";
import { writeRecording } from "../../src/core/recording/recording.ts";
import { replayEngine } from "../../src/engine/replay.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { recordedAnswer, recordedToolsets } from "../../src/testing/recorded-toolset.ts";

const LONG = "A long report. ".repeat(200);

function liveToolset(ran: string[]): Toolset {
  let visits = 0;
  return {
    name: "town",
    tools: [
      defineTool({
        name: "weather",
        description: "The weather of a city.",
        inputSchema: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] },
        effects: readOnly("town:weather"),
        execute: ({ city, days = 1 }: { readonly city: string; readonly days?: number }) => {
          ran.push("weather");
          if (city === "Atlantis") throw new Error("lost at sea");
          return { city, days, visits: ++visits };
        },
      }),
      defineTool({
        name: "report",
        description: "A report with a picture.",
        inputSchema: { type: "object" },
        effects: readOnly("town:report"),
        execute: () => {
          ran.push("report");
          return new ToolOutput({
            content: [
              { type: "text", text: LONG },
              { type: "image", mediaType: "image/png", data: "iVBORw==" },
            ],
          });
        },
      }),
    ],
  };
}

const CALLS: readonly ToolCall[] = [
  { id: "a", name: "town::weather", input: { city: "Oslo" } },
  { id: "b", name: "town::weather", input: { city: "Oslo", days: "3" } },
  { id: "c", name: "town::report", input: {} },
  { id: "d", name: "town::weather", input: { city: "Atlantis" } },
  { id: "e", name: "town::weather", input: { city: "Oslo" } },
  { id: "f", name: "town::serch", input: {} },
];

/** A session with the live tools, as the events of its log. */
async function record(): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  await using runtime = createRuntime({
    toolsets: [liveToolset([])],
    onEvent: (event) => {
      if (event.type === "call-start" || event.type === "call-end") events.push(event);
    },
  });
  const session = runtime.session("s");
  await session.execute(CALLS.slice(0, 3));
  await session.execute(CALLS.slice(3));
  return events;
}

async function linesOf(events: readonly SessionEvent[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of writeRecording(events, { sessionId: "s", exportedAt: 0 })) lines.push(line);
  return lines;
}

const ANSWERS = [
  { name: "town::weather", output: { city: "Oslo", days: 1, visits: 1 } },
  { name: "town::weather", output: { city: "Oslo", days: 3, visits: 2 } },
  {
    name: "town::report",
    content: [
      { type: "text", text: LONG },
      { type: "image", mediaType: "image/png", data: "iVBORw==" },
    ],
  },
  { name: "town::weather", error: "execution_failed" },
  { name: "town::weather", output: { city: "Oslo", days: 1, visits: 3 } },
  { name: "town::serch", error: "not_found" },
];

test("F1.30 a recording yields the calls to make and the expected results", async () => {
  const events = await record();
  const text = (await linesOf(events)).join("");

  for (const fixture of [recordedToolsets(text), recordedToolsets(events)]) {
    expect(fixture.calls).toEqual(CALLS);
    expect(fixture.expectedResults).toEqual(ANSWERS);
  }
});

describe("F3.38 a recorded session is replayed", () => {
  test("without its toolsets: every call gets its recorded answer, marked as a replay", async () => {
    const { toolsets, calls, expectedResults } = recordedToolsets(await record());
    await using runtime = createRuntime({ toolsets });
    const session = runtime.session();

    const results = await session.execute(calls);

    expect(results.map(recordedAnswer)).toEqual(expectedResults);
    expect(results.map(({ origin, attempts }) => [origin, attempts])).toEqual([
      ["replay", 1],
      ["replay", 1],
      ["replay", 1],
      ["replay", 1],
      ["replay", 1],
      ["live", 0],
    ]);
  });

  test("with its toolsets: their schemas are enforced and repair input, and no handler runs", async () => {
    const ran: string[] = [];
    const { toolsets, calls, expectedResults } = recordedToolsets(await record(), { toolsets: [liveToolset(ran)] });
    await using runtime = createRuntime({ toolsets });
    const session = runtime.session();

    const results = await session.execute(calls);

    expect(results.map(recordedAnswer)).toEqual(expectedResults);
    expect(results[1]?.repairs.map(({ kind }) => kind)).toEqual(["coerced"]);
    expect(ran).toEqual([]);
  });

  test("a branch continues from the session's position, and a simulation does not advance the session", async () => {
    const { toolsets } = recordedToolsets(await record());
    await using runtime = createRuntime({ toolsets });
    const session = runtime.session();
    const oslo = { name: "town::weather", input: { city: "Oslo" } };
    const [first, second] = [ANSWERS[0], ANSWERS[4]];

    const tried = await session.simulate([oslo, oslo]);
    const one = await session.execute(oslo);
    const branch = session.fork();
    const two = [await branch.execute(oslo), await session.execute(oslo)];

    expect(tried.results.map(recordedAnswer)).toEqual([first, second]);
    expect(recordedAnswer(one)).toEqual(first);
    expect(two.map(recordedAnswer)).toEqual([second, second]);
  });

  test("a call that was not recorded ends with not_found, once", async () => {
    const { toolsets } = recordedToolsets(await record());
    await using runtime = createRuntime({ toolsets });

    const result = await runtime.execute({ name: "town::weather", input: { city: "Bergen" } });

    expect(result).toMatchObject({
      status: "error",
      attempts: 1,
      error: { code: "not_found", details: ['$.city is "Bergen", but was "Oslo" when it was recorded'] },
    });
  });
});

test("I15 a damaged recording is refused as damaged", async () => {
  const lines = await linesOf(await record());
  expect(() => recordedToolsets(lines.slice(0, -1).join(""))).toThrow("the recording was cut short");
});

describe("recorded answers", () => {
  const any = { type: "object" } as const;

  /** What an answer rule writes down of these calls. */
  async function written(tools: Toolset["tools"], names: readonly string[]): Promise<SessionEvent[]> {
    const events: SessionEvent[] = [];
    await using runtime = createRuntime({
      tools: tools ?? [],
      answers: { rules: [{ tools: "*", from: "record" }], onRecord: (pair) => events.push(...pair) },
    });
    const session = runtime.session();
    for (const name of names) await session.execute({ name, input: {} });
    return events;
  }

  test("that were truncated are replayed unchanged: they are neither validated as a whole nor truncated again", async () => {
    const tools = [
      defineTool({
        name: "rows",
        description: "Many rows.",
        inputSchema: any,
        outputSchema: { type: "array", items: { type: "object", properties: { at: { type: "integer" } }, required: ["at"] } },
        effects: readOnly("rows"),
        execute: () => Array.from({ length: 20_000 }, (_, at) => ({ at })),
      }),
      defineTool({
        name: "text",
        description: "A long text.",
        inputSchema: any,
        effects: readOnly("text"),
        execute: () => LONG.repeat(30),
      }),
    ];
    const events = await written(tools, ["rows", "text"]);
    const fixtures = [
      { tools, answers: { engines: { replay: replayEngine(events) }, rules: [{ tools: "*", from: "replay" as const }] } },
      { toolsets: recordedToolsets(events, { toolsets: [{ name: "default", tools }] }).toolsets },
    ];
    for (const fixture of fixtures) {
      await using runtime = createRuntime(fixture);
      const { calls, expectedResults } = recordedToolsets(events);
      const results = await runtime.session().execute(calls);
      expect(results.map(({ status, fidelity }) => [status, fidelity])).toEqual([
        ["ok", "observed"],
        ["ok", "observed"],
      ]);
      expect(results.map(recordedAnswer)).toEqual(expectedResults);
      expect(results.map(({ truncation }) => truncation?.handle)).toEqual([undefined, undefined]);
      expect(results.every(({ truncation }) => truncation !== undefined)).toBe(true);
    }
  });

  test("that were truncated obey the local limit, and those of failures are truncated no further", async () => {
    const failing = (name: string, output: ToolOutput | string, outputSchema?: Tool["outputSchema"]) =>
      defineTool({
        name,
        description: "x",
        inputSchema: any,
        effects: readOnly("a"),
        execute: () => output,
        ...(outputSchema && { outputSchema }),
      });
    const long = LONG.repeat(30);
    const tools = [
      failing("error", new ToolOutput({ output: long, error: "no" })),
      failing("partial", long, { type: "object" }),
      failing("text", long),
    ];
    const events = await written(tools, ["error", "partial", "text"]);
    const replay = async (maxResultBytes: number) => {
      const answers = { engines: { replay: replayEngine(events) }, rules: [{ tools: "*", from: "replay" as const }] };
      await using runtime = createRuntime({ tools, answers, maxResultBytes });
      return await runtime.session().execute(recordedToolsets(events).calls);
    };
    const { expectedResults } = recordedToolsets(events);
    const same = await replay(65_536);
    expect(same.map(recordedAnswer)).toEqual(expectedResults);
    expect(same.map(({ truncation }) => truncation?.totalBytes)).toEqual([long.length, long.length, long.length]);
    for (const { output } of await replay(1_000)) expect(String(output).length).toBeLessThan(1_500);
  });

  test("to nested calls are not used for top-level calls", async () => {
    let asked = 0;
    const get = defineTool({ name: "get", description: "x", inputSchema: any, effects: readOnly("a"), execute: () => ++asked });
    const wrap = defineTool({
      name: "wrap",
      description: "x",
      inputSchema: any,
      effects: readOnly("a"),
      execute: async (_input, { execute }) => (await execute({ name: "get", input: {} })).output,
    });
    const names = ["wrap", "get", "wrap", "get"];
    const events = await written([get, wrap], names);
    for (const tools of ["*", "default::get"]) {
      await using runtime = createRuntime({
        tools: [get, wrap],
        answers: { engines: { replay: replayEngine(events) }, rules: [{ tools, from: "replay" }] },
      });
      const session = runtime.session();
      const outputs = [];
      for (const name of names) outputs.push((await session.execute({ name, input: {} })).output);
      expect([tools, outputs]).toEqual([tools, [1, 2, 3, 4]]);
    }
    expect(asked).toBe(4);
  });

  test("are matched by the input that a hook produced, whatever the original input", async () => {
    const tools = [
      defineTool({ name: "page", description: "x", inputSchema: any, effects: readOnly("a"), execute: ({ n }) => `page ${String(n)}` }),
    ];
    const hooks: Hook[] = [{ name: "next", beforeCall: ({ name, input }) => ({ name, input: { n: Number(Object(input).n) + 1 } }) }];
    const page = (n: number): ToolCall => ({ name: "page", input: { n } });
    await using live = createRuntime({ tools, hooks, store: memoryStore() });
    const recorded = live.session();
    for (const n of [2, 1]) await recorded.execute(page(n));
    const events: SessionEvent[] = [];
    for await (const event of recorded.events()) events.push(event);
    const replay = replayEngine(events);
    await using runtime = createRuntime({ tools, hooks, answers: { engines: { replay }, rules: [{ tools: "*", from: "replay" }] } });
    const session = runtime.session();
    const outputs = [];
    for (const n of [1, 2]) outputs.push((await session.execute(page(n))).output);
    expect(outputs).toEqual(["page 2", "page 3"]);
  });

  test("that hooks and rules refused under a bare name are not replayed", async () => {
    const events: SessionEvent[] = [];
    await using live = createRuntime({
      toolsets: [liveToolset([])],
      permission: { deny: ["town::report"] },
      hooks: [{ name: "guard", beforeCall: ({ input }) => (Object.hasOwn(Object(input), "days") ? { veto: "no days" } : undefined) }],
      onEvent: (event) => {
        if (event.type === "call-start" || event.type === "call-end") events.push(event);
      },
    });
    const inputs = [{ city: "Oslo" }, { city: "Oslo", days: 1 }];
    const calls = [...inputs.map((input) => ({ name: "weather", input })), { name: "report", input: {} }, { name: "nothing", input: {} }];
    const results = await live.session().execute(calls);
    expect(results.map(({ name, error }) => [name, error?.code])).toEqual([
      ["town::weather", undefined],
      ["weather", "vetoed"],
      ["report", "permission_denied"],
      ["nothing", "not_found"],
    ]);
    const fixture = recordedToolsets(events);
    await using runtime = createRuntime({ toolsets: fixture.toolsets });
    const again = await runtime.session().execute(fixture.calls);
    expect(fixture.calls.map(({ name }) => name)).toEqual(["weather", "nothing"]);
    expect(again.map(recordedAnswer)).toEqual(fixture.expectedResults);
  });
});
