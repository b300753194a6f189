import { describe, expect, test } from "vitest";
import { ToolOutput, createRuntime, defineTool, readOnly, type ToolCall, type Toolset } from "haft";
import type { SessionEvent } from "../../src/core/event.ts";
import { writeRecording } from "../../src/core/recording/recording.ts";
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

test("F1.30 a recording gives the calls to make and what must come back", async () => {
  const events = await record();
  const text = (await linesOf(events)).join("");

  for (const fixture of [recordedToolsets(text), recordedToolsets(events)]) {
    expect(fixture.calls).toEqual(CALLS);
    expect(fixture.expectedResults).toEqual(ANSWERS);
  }
});

describe("F3.38 a recorded session is played again", () => {
  test("without its toolsets: every call is answered as it was, and says that it is a replay", async () => {
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

  test("with its toolsets: their schemas hold and repair, and no handler runs", async () => {
    const ran: string[] = [];
    const { toolsets, calls, expectedResults } = recordedToolsets(await record(), { toolsets: [liveToolset(ran)] });
    await using runtime = createRuntime({ toolsets });
    const session = runtime.session();

    const results = await session.execute(calls);

    expect(results.map(recordedAnswer)).toEqual(expectedResults);
    expect(results[1]?.repairs.map(({ kind }) => kind)).toEqual(["coerced"]);
    expect(ran).toEqual([]);
  });

  test("a branch goes on from where it left the session, and a simulation leaves the session where it was", async () => {
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

  test("a call that was not recorded ends not_found, once", async () => {
    const { toolsets } = recordedToolsets(await record());
    await using runtime = createRuntime({ toolsets });

    const result = await runtime.execute({ name: "town::weather", input: { city: "Bergen" } });

    expect(result).toMatchObject({
      status: "error",
      attempts: 1,
      error: { code: "not_found", details: ['$.city is "Bergen", and was "Oslo" when it was recorded'] },
    });
  });
});

test("I15 a damaged recording is refused as such", async () => {
  const lines = await linesOf(await record());
  expect(() => recordedToolsets(lines.slice(0, -1).join(""))).toThrow("the recording was cut short");
});
