/** Sampled conversations: ids along the dataflow, requests and answers in words, checks, and writers. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/core/tool.ts";
import { exampleEngine } from "../../../src/engine/example.ts";
import { ToolError } from "../../../src/core/error.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../../src/runtime/runtime.ts";
import type { ModelRequest } from "../../../src/core/model.ts";
import { modelWriter } from "../../../src/generate/conversations/model-writer.ts";
import { scriptedModel } from "../../../src/model/scripted-model.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { generated } from "./generated.ts";
import { judgeLine } from "./judge-line.ts";
import { CASES, HAS_CASES, publishedToolsets } from "./published-tools.ts";

const text = { type: "string" } as const;
const number = { type: "number" } as const;
const object = (properties: object, required: readonly string[] = Object.keys(properties)) =>
  ({ type: "object", properties, required }) as const;

const TRAVEL: readonly Tool[] = [
  {
    name: "search_flights",
    description: "Search flights between two cities on a date.",
    inputSchema: object({ origin: text, destination: text, date: { type: "string", format: "date" } }),
    outputSchema: object({
      flights: { type: "array", items: object({ flight_id: text, airline: text, price: number }) },
      total: { type: "integer" },
    }),
  },
  {
    name: "book_flight",
    description: "Books a flight for a passenger.",
    inputSchema: object({ flight_id: text, passenger_name: text }),
    outputSchema: object({ booking_id: text, status: { enum: ["confirmed", "pending"] }, total_price: number }),
  },
  {
    name: "get_booking",
    description: "Get the details of a booking.",
    inputSchema: object({ booking_id: text }),
    outputSchema: object({ booking_id: text, passenger_name: text, is_paid: { type: "boolean" } }),
  },
  {
    name: "get_weather",
    description: "Get the weather forecast for a city",
    inputSchema: object({ city: text }),
    outputSchema: object({ city: text, temperature: number, conditions: text }),
  },
  {
    name: "get_profile",
    description: "Retrieves a user's profile by their user ID.",
    inputSchema: object({ user_id: text }),
    outputSchema: object({ name: text, email: text }),
  },
];

function travel(tools: readonly Tool[] = TRAVEL, options: RuntimeOptions = {}): Runtime {
  return createRuntime({
    ports: { log: { debug() {}, warn() {} } },
    answers: { engines: { example: exampleEngine({ seed: 1 }) }, rules: [{ tools: "*", from: "example" }] },
    ...options,
    toolsets: options.toolsets ?? [{ name: "travel", tools }],
  });
}

interface Message {
  readonly role: string;
  readonly content: string;
  readonly calls?: readonly { readonly name: string; readonly input: Readonly<Record<string, unknown>> }[];
  readonly output?: Readonly<Record<string, unknown>>;
  readonly status?: string;
}

interface Line {
  readonly messages: readonly Message[];
  readonly problems?: readonly string[];
  readonly error?: { readonly code: string; readonly message: string };
}

const read = (lines: readonly string[]): readonly Line[] => lines.map((line) => JSON.parse(line));
const SAMPLED = { kind: "sampled", count: inCI ? 150 : 45, calls: 5 } as const;

describe("issue 16.3 a sampled conversation", () => {
  test.for(["chain", "random", "neighbour"] as const)(
    "with sample %s has no id without a source, and a correct answer to every turn",
    async (sample) => {
      const { lines, summary } = await generated({ plan: { ...SAMPLED, sample }, runtime: travel() });
      for (const line of read(lines)) {
        expect(judgeLine(line)).toEqual({ danglingIds: [], unresolved: [], unfounded: [], unanswered: 0, endsWithAnswer: true });
        expect(line.problems).toBeUndefined();
      }
      expect(summary.checks).toEqual({ danglingIds: 0, unresolvedReferences: 0, ungroundedAnswers: 0, openEnds: 0, duplicates: 0 });
      expect(summary.calls).toBe(SAMPLED.count * SAMPLED.calls);
    },
  );

  test("uses flights from searches and bookings from bookings by default, also within one turn, and groups independent calls", async () => {
    const { lines } = await generated({ plan: SAMPLED, runtime: travel() });
    let [booked, fromSearch, chained, parallel] = [0, 0, 0, 0];
    for (const { messages } of read(lines)) {
      let results = "";
      let ofTurn = "";
      for (const { role, calls = [], output } of messages) {
        if (role === "user") ofTurn = "";
        if (calls.length > 1) parallel++;
        for (const { name, input } of calls) {
          if (name !== "travel::book_flight") continue;
          booked++;
          if (results.includes(String(input["flight_id"]))) fromSearch++;
          if (ofTurn.includes(String(input["flight_id"]))) chained++;
        }
        results += JSON.stringify(output ?? "");
        ofTurn += JSON.stringify(output ?? "");
      }
    }
    expect(booked).toBeGreaterThan(SAMPLED.count / 3);
    expect(fromSearch).toBe(booked);
    expect(chained).toBeGreaterThan(SAMPLED.count / 15);
    expect(chained).toBeLessThan(booked);
    expect(parallel).toBeGreaterThan(SAMPLED.count / 15);
  });

  test("has requests in varied wording that contain every value, without JSON and without parameter names", async () => {
    const { lines } = await generated({ plan: { ...SAMPLED, count: 150, calls: 1 }, runtime: travel() });
    const asked = new Set<string>();
    for (const { messages } of read(lines)) {
      const [{ content }, { calls }] = messages as readonly [Message, Message];
      const [call] = calls ?? [];
      for (const [name, value] of Object.entries(call?.input ?? {})) {
        if (name !== "date") expect(content).toContain(String(value));
        if (name.includes("_")) expect(content).not.toContain(name);
      }
      expect(content).not.toMatch(/[{}[\]"]/u);
      expect(content).not.toMatch(/\bmy profile by\b|\bbetween two cities\b|\ba flight\b/u);
      if (call?.name === "travel::get_weather") asked.add(content.replaceAll(String(call.input["city"]), "_"));
    }
    expect(asked).toContain("Get the weather forecast for _.");
    expect(asked.size).toBeGreaterThan(4);
  });

  test("has the user state an id that no tool returns", async () => {
    const { lines } = await generated({ plan: SAMPLED, runtime: travel() });
    let said = 0;
    for (const { messages } of read(lines)) {
      for (const [index, { calls = [] }] of messages.entries()) {
        for (const { name, input } of calls) {
          if (name !== "travel::get_profile") continue;
          const before = messages.slice(0, index).filter(({ role }) => role === "user");
          expect(before.map(({ content }) => content).join("\n")).toContain(String(input["user_id"]));
          said++;
        }
      }
    }
    expect(said).toBeGreaterThan(20);
  });

  test("does not treat an id as a number unless it is written as that number: 007 is not passed as 7", async () => {
    const id = { type: "string", enum: ["012877244039"] };
    const eventId = { type: "object", properties: { event_id: { type: "integer" } }, required: ["event_id"] };
    const tools: Tool[] = [
      {
        name: "create_event",
        description: "Create an event.",
        inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
        outputSchema: { type: "object", properties: { event_id: id }, required: ["event_id"] },
      },
      { name: "get_event", description: "Get an event.", inputSchema: eventId },
    ];
    const { lines, summary } = await generated({ plan: { ...SAMPLED, count: 20 }, runtime: travel(tools) });
    expect(summary.checks?.danglingIds).toBe(0);
    expect(lines.join("\n")).toContain("get_event");
    expect(lines.join("\n")).not.toMatch(/\D12877244039\b/u);
  });

  test("continues after failures: the answer says what failed and why, and what could not be done", async () => {
    const runtime = travel(TRAVEL, {
      faults: { rules: [{ tools: "*", type: "network_error", retryable: false, probability: 0.3, message: "The desk is closed." }] },
    });
    const { lines, summary } = await generated({ plan: SAMPLED, runtime });
    expect(summary.errors["network_error"]).toBeGreaterThan(50);
    const told = read(lines).flatMap((line) => {
      const judged = judgeLine(line);
      expect([judged.danglingIds, judged.unfounded, judged.unanswered]).toEqual([[], [], 0]);
      return line.messages
        .filter(({ role, content }) => role === "assistant" && content?.includes("The desk is closed."))
        .map(({ content }) => content);
    });
    expect(told.length).toBeGreaterThan(50);
    expect(told.some((content) => /I couldn't get the weather forecast for a city: The desk is closed\./u.test(content))).toBe(true);
    expect(told.some((content) => /(?:couldn't|could not go on to|did not) [^:]*\.$/u.test(content))).toBe(true);
  });

  test("is the same for the same seed at any concurrency", async () => {
    const alone = await generated({ plan: { ...SAMPLED, count: 20 }, runtime: travel(), concurrency: 1 });
    const together = await generated({ plan: { ...SAMPLED, count: 20 }, runtime: travel(), concurrency: 16 });
    expect(together.text).toBe(alone.text);
    const path = join(temporaryFolder(), "train.jsonl");
    const stop = new AbortController();
    const onProgress = ({ done }: { readonly done: number }): void => void (done === 7 && stop.abort());
    const options = { plan: { ...SAMPLED, count: 20 }, out: path };
    const first = await generated({ ...options, runtime: travel(), concurrency: 4, signal: stop.signal, onProgress });
    expect(first.summary).toMatchObject({ existing: 0, written: 7, stopped: { code: "cancelled" } });
    expect((await generated({ ...options, runtime: travel(), concurrency: 16 })).summary).toMatchObject({ existing: 7, written: 13 });
    expect(readFileSync(path, "utf8")).toBe(alone.text);
  });
});

describe("issue 16.3 notes of the summary about the tools", () => {
  const apart: readonly Tool[] = [
    { name: "roll", description: "Roll a die.", inputSchema: object({ sides: { type: "integer" } }), outputSchema: { type: "integer" } },
    { name: "flip", description: "Flip a coin.", inputSchema: object({}), outputSchema: { type: "boolean" } },
  ];

  test("unrelated tools are drawn at random instead of as a chain, and a note says so", async () => {
    const { summary } = await generated({ plan: { kind: "sampled", count: 2, calls: 2 }, runtime: travel(apart) });
    expect(summary.notes).toEqual(["No tool takes what another returns, so the tools are drawn at random."]);
    const random = await generated({ plan: { kind: "sampled", count: 2, calls: 2, sample: "random" }, runtime: travel(apart) });
    expect(random.summary.notes).toEqual([]);
  });

  test("a tool that does not describe its input is left out, and notes say so and how long a chain can get", async () => {
    const tools = [...TRAVEL.slice(0, 3), ...apart.slice(0, 1), { name: "mystery", description: "Do it.", inputSchema: {} }];
    const { summary, lines } = await generated({ plan: { kind: "sampled", count: 20, calls: 4 }, runtime: travel(tools) });
    expect(summary.notes).toEqual([
      "Left out, since they do not describe their input: travel::mystery.",
      "At most 3 of 4 tools in a row take what an earlier one returns; where a chain ends, another begins.",
    ]);
    expect(lines.join("\n")).not.toContain('"calls":[{"id":"call_1","name":"travel::mystery"');
    const more = await generated({ plan: { kind: "sampled", count: 1, calls: 9 }, runtime: travel(apart) });
    expect(more.summary.notes).toContain("9 calls were requested, but there are 2 tools: they are called more than once.");
  });
});

test("a tool that cannot be called is left out with a note, whatever is wrong with its schemas", async () => {
  const bad: readonly Tool[] = [
    { name: "row", description: "Takes rows.", inputSchema: { type: "array" } },
    { name: "knot", description: "Ties knots.", inputSchema: { type: "object", properties: { n: { type: "nothing" } }, pattern: 5 } },
    { name: "sink", description: "Gives nothing.", inputSchema: object({ a: { type: "string" } }), outputSchema: { $ref: "#/$defs/none" } },
  ];
  const { summary, lines } = await generated({
    plan: { kind: "sampled", count: 5, calls: 3 },
    runtime: travel([...TRAVEL.slice(0, 3), ...bad]),
  });
  expect(summary.notes[0]).toBe("Left out, since they cannot be used: travel::knot, travel::row, travel::sink.");
  expect(lines.join("\n")).not.toContain('"unavailable"');
});

test("a drawn tool for which no input can be generated is named in a note, and one that needs long texts of a format is called", async () => {
  const limited = (name: string, format: string, minLength: number): Tool => ({
    name,
    description: `Takes a long ${format}.`,
    inputSchema: object({ contact: { type: "string", format, minLength } }),
    outputSchema: { type: "boolean" },
  });
  const { summary, lines } = await generated({
    plan: { kind: "sampled", count: 6, calls: 4 },
    runtime: travel([...TRAVEL.slice(0, 2), limited("write", "email", 200), limited("phone", "uuid", 900)]),
  });
  expect(summary.notes).toContain("Drawn but not called, since no input that fits their schema was found: travel::phone.");
  const calls = lines.flatMap((line) => [...line.matchAll(/"name":"travel::(write|phone)","input":/gu)].map(([, name]) => name));
  expect(new Set(calls)).toEqual(new Set(["write"]));
});

describe("issue 16.3 templates", () => {
  const template = {
    messages: [
      { role: "user", content: "A flight to Rome for Ada." },
      {
        role: "assistant",
        calls: [{ name: "travel::search_flights", input: { origin: "Oslo", destination: "Rome", date: "2026-01-02" } }],
      },
      {
        role: "assistant",
        calls: [{ name: "travel::book_flight", input: { flight_id: "$1.flights[0].flight_id", passenger_name: "Ada" } }],
      },
      { role: "user", content: "Cancel $2.booking_id please." },
    ],
  } as const;

  test("used several times have different answers each time, and the same for the same seed", async () => {
    const templates = [{ messages: template.messages.slice(0, 3) }];
    const [one, again] = [
      await generated({ plan: { kind: "scripted", templates, count: 5 }, runtime: travel() }),
      await generated({ plan: { kind: "scripted", templates, count: 5 }, runtime: travel() }),
    ];
    expect(new Set(read(one.lines).map(({ messages }) => JSON.stringify(messages))).size).toBe(5);
    expect(again.text).toBe(one.text);
    for (const line of read(one.lines)) expect(judgeLine(line)).toMatchObject({ unfounded: [], endsWithAnswer: true });
  });

  test("without a writer stay unchanged, and the check counts the missing answer", async () => {
    const templates = [{ messages: template.messages.slice(0, 3) }];
    const { lines, summary } = await generated({ plan: { kind: "scripted", templates, writer: false }, runtime: travel() });
    expect(read(lines)[0]?.messages.at(-1)?.role).toBe("tool");
    expect(read(lines)[0]?.problems).toEqual(["1 conversation without a last answer"]);
    expect(summary.checks.openEnds).toBe(1);
  });

  test("fail before a turn whose references cannot be resolved", async () => {
    const runtime = travel(TRAVEL, {
      faults: { rules: [{ tools: "*::book_flight", type: "network_error", retryable: false, probability: 1 }] },
    });
    const { lines, summary } = await generated({ plan: { kind: "scripted", templates: [template] }, runtime });
    const [line] = read(lines);
    expect(line?.error).toMatchObject({ code: "invalid_input", message: expect.stringContaining('"$2.booking_id"') });
    expect(lines.join()).not.toContain("Cancel");
    expect(line?.messages.at(-1)?.role).toBe("assistant");
    expect(summary).toMatchObject({ failed: 1, checks: { unresolvedReferences: 0 } });
  });

  test("with references to unknown calls are rejected before anything is generated, and all are reported", async () => {
    const templates = [
      { messages: [...template.messages, { role: "user", content: "And $7.id or $order.id?" }] },
      template,
      { messages: template.messages.slice(2) },
    ] as const;
    const made = generated({ plan: { kind: "scripted", templates }, runtime: travel() });
    await expect(made).rejects.toMatchObject({
      code: "invalid_argument",
      details: [
        expect.stringMatching(/^Template 1: messages\[4\]\.content refers to "\$7\.id"/u),
        expect.stringMatching(/^Template 1: messages\[4\]\.content refers to "\$order\.id"/u),
        expect.stringMatching(/^Template 3: messages\[0\]\.calls\[0\] refers to "\$1\./u),
        expect.stringMatching(/^Template 3: messages\[1\]\.content refers to "\$2\.booking_id"/u),
      ],
    });
  });
});

describe("issue 16.3 a writer", () => {
  const invented = { name: "invented", request: () => "Do it.", answer: () => "It costs 4711 euros." };

  test("with invented answers, and with requests that omit ids, is detected", async () => {
    const runtime = travel(TRAVEL.filter(({ name }) => name === "get_profile"));
    const { lines, summary } = await generated({ plan: { kind: "sampled", count: 3, calls: 1, writer: invented }, runtime });
    expect(read(lines)[0]?.problems).toEqual(["1 dangling id", "1 answer with values that are in no result"]);
    expect(summary.checks).toEqual({ danglingIds: 3, unresolvedReferences: 0, ungroundedAnswers: 3, openEnds: 0, duplicates: 0 });
  });

  test("with onProblems: remake, conversations with problems are generated again, and marked only at the end", async () => {
    let asked = 0;
    const writer = { name: "uneven", request: () => "Do it.", answer: () => (++asked === 3 ? "Done." : "It costs 4711 euros.") };
    const runtime = travel(TRAVEL.filter(({ name }) => name === "get_weather"));
    const plan = { kind: "sampled", count: 2, calls: 1, writer, onProblems: "remake" } as const;
    const { lines } = await generated({ plan, runtime, concurrency: 1 });
    expect(read(lines).map(({ problems }) => problems)).toEqual([undefined, ["1 answer with values that are in no result"]]);
    expect(asked).toBe(6);
  });

  test("a model is asked for each text and its values are checked; after two wrong texts code writes it", async () => {
    const values = (request: ModelRequest) => JSON.parse((request.messages[0] as Message).content.split("\n\n")[0] ?? "");
    const model = scriptedModel((request) => {
      const asked = values(request);
      if (asked.results !== undefined)
        return {
          text:
            asked.results[0].output.temperature === undefined
              ? "The price is 4711."
              : `It is ${asked.results[0].output.temperature} degrees.`,
        };
      const [call] = asked.calls;
      const [name] = Object.keys(call.given);
      return { text: name === "city" ? `How warm is it in ${call.given.city}?` : "Who is that?" };
    });
    const tools = TRAVEL.filter(({ name }) => name === "get_profile" || name === "get_weather");
    const plan = { kind: "sampled", count: 6, calls: 2, sample: "random", writer: modelWriter({ model }) } as const;
    const { lines, summary } = await generated({ plan, runtime: travel(tools) });
    const spoken = read(lines).flatMap(({ messages }) => messages.map(({ content }) => content ?? ""));
    expect(spoken.some((content) => /^How warm is it in \w+/u.test(content))).toBe(true);
    expect(spoken.some((content) => /^It is [\d.-]+ degrees\.$/u.test(content))).toBe(true);
    expect(spoken.join("\n")).not.toMatch(/4711|Who is that/u);
    for (const line of read(lines)) expect(judgeLine(line)).toMatchObject({ danglingIds: [], unfounded: [], unanswered: 0 });
    expect(summary.writing?.byCode).toBeGreaterThan(0);
    expect(summary.writing?.retried).toBe(summary.writing?.byCode);
    expect(model.requests.length).toBe((summary.writing?.written ?? 0) + (summary.writing?.retried ?? 0));
  });

  test("a model's reasoning is not written, and does not count as mentioning values", async () => {
    const model = scriptedModel(({ messages }) => {
      return { text: `<think>I am given ${JSON.stringify(messages)}</think>\n\nPlease do it.` };
    });
    const { lines, summary } = await generated({ plan: { ...SAMPLED, writer: modelWriter({ model }) }, runtime: travel() });
    expect(lines.join("\n")).not.toContain("think>");
    expect(summary.writing?.byCode).toBeGreaterThan(0);
  });

  test("an unavailable model fails the conversation", async () => {
    const model = scriptedModel(() => {
      throw new ToolError("unavailable", "The model is away.");
    });
    const { summary } = await generated({ plan: { ...SAMPLED, writer: modelWriter({ model }) }, runtime: travel(), maxFailures: 3 });
    expect(summary).toMatchObject({ written: 0, stopped: { code: "unavailable" } });
  });

  test("without a model, or without request() and answer(), is rejected", async () => {
    expect(() => modelWriter(Object({}))).toThrow(expect.objectContaining({ code: "invalid_argument" }));
    const plan = { ...SAMPLED, writer: Object({ name: "x" }) };
    await expect(generated({ plan, runtime: travel() })).rejects.toMatchObject({
      message: expect.stringContaining("request() and answer()"),
    });
  });
});

const COUNT = 500;

describe.skipIf(!HAS_CASES || !inCI)(
  `issue 16.3 ${COUNT} conversations over published tools ${IN_CI} (skipped when ${CASES} is absent)`,
  () => {
    test("have no id without a source, no unresolved reference, and a correct answer to every turn", { timeout: 1_200_000 }, async () => {
      const runtime = travel([], {
        toolsets: publishedToolsets(),
      });
      const wrong: unknown[] = [];
      let judged = 0;
      const write = async (line: string): Promise<void> => {
        const judgement = judgeLine(JSON.parse(line));
        judged++;
        const { danglingIds, unresolved, unfounded, unanswered, endsWithAnswer } = judgement;
        if (danglingIds.length + unresolved.length + unfounded.length + unanswered > 0 || !endsWithAnswer) wrong.push(judgement);
      };
      const { summary } = await generated({ plan: { kind: "sampled", count: COUNT }, runtime, out: { write } });
      expect(wrong).toEqual([]);
      expect([judged, summary.failed]).toEqual([COUNT, 0]);
      expect(summary.checks).toEqual({ danglingIds: 0, unresolvedReferences: 0, ungroundedAnswers: 0, openEnds: 0, duplicates: 0 });
    });
  },
);
