import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SessionEvent } from "../../../src/core/event.ts";
import { generateConversations } from "../../../src/generate/conversations/generate-conversations.ts";
import { plainWriter } from "../../../src/generate/conversations/plain-writer.ts";
import type { RecordedPlan } from "../../../src/generate/conversations/recorded/recorded-plan.ts";
import { virtualClock } from "../../../src/generate/conversations/virtual-clock.ts";
import { TRAJECTORY_FORMATS } from "../../../src/generate/conversations/trajectory-formats.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { PRIVATE_LINES, SECRET_LINES, plainLines, recordedEvents, recordingText, source } from "./desk.ts";
import { generated } from "./generated.ts";
import { linesOf } from "./shop.ts";

const REFUSED = { code: "invalid_argument" };
const FIND = { name: "find_ticket", description: "Finds a ticket by its id.", inputSchema: { type: "object" } } as const;
const EVERYTHING = ["secrets", "emails", "phones", "names", "ids"] as const;

function run(plan: Partial<RecordedPlan> & Pick<RecordedPlan, "recordings">, options: Partial<Parameters<typeof generated>[0]> = {}) {
  return generated({ runtime: createRuntime(), ...options, plan: { kind: "recorded", ...plan } });
}

describe("issue 16.4 conversations from recordings", () => {
  test("a line has the messages, calls and results, with definitions derived from the calls", async () => {
    const { lines, summary } = await run({ recordings: [await source("one", plainLines(7))] });
    const [line] = lines.map((each) => JSON.parse(each));
    expect(line.kind).toBe("recorded");
    expect(line.messages).toEqual([
      { role: "user", content: "Is ticket T-7 open?" },
      { role: "assistant", calls: [{ id: "call_1", name: "desk::find_ticket", input: { ticket_id: "T-7" } }] },
      {
        role: "tool",
        id: "call_1",
        name: "desk::find_ticket",
        status: "ok",
        output: { ticket_id: "T-7", state: "open", hours: 7 },
        origin: "live",
        attempts: 1,
      },
      { role: "assistant", content: "Yes, T-7 is open." },
    ]);
    expect(line.tools).toEqual([
      {
        name: "desk::find_ticket",
        description: "Find ticket.",
        inputSchema: { type: "object", properties: { ticket_id: { type: "string" } }, required: ["ticket_id"] },
      },
    ]);
    expect(summary.checks).toMatchObject({ danglingIds: 0, unresolvedReferences: 0, openEnds: 0 });
  });

  test("a tool known to the runtime is offered with its own definition, and never runs", async () => {
    const execute = (): never => {
      throw new Error("this was real");
    };
    const runtime = createRuntime({ toolsets: [{ name: "desk", tools: [{ ...FIND, execute }] }] });
    const { lines } = await run({ recordings: [await source("one", plainLines(7))] }, { runtime });
    expect(JSON.parse(lines[0] ?? "").tools).toEqual([{ ...FIND, name: "desk::find_ticket" }]);
    expect(lines[0]).not.toContain("this was real");
  });

  test("secrets are rejected with their places and without their values, before anything is written", async () => {
    const path = join(temporaryFolder(), "train.jsonl");
    writeFileSync(path, "");
    const recordings = [await source("plain", plainLines(1)), await source("settings", SECRET_LINES)];
    const refusal = await run({ recordings }, { out: path }).catch((thrown: unknown) => thrown);
    expect(refusal).toMatchObject(REFUSED);
    const text = JSON.stringify(refusal) + String(refusal);
    expect(text).toContain('settings: \\"api_key\\" in message 3');
    expect(text).toContain("--redact none");
    expect(text).not.toMatch(/9f8e7d6c5b4a|abcDEF123456|hunter22/u);
    expect(readFileSync(path, "utf8")).toBe("");
  });

  test("secrets are also rejected when only other kinds are redacted, and accepted with redact: none", async () => {
    const recordings = [await source("settings", SECRET_LINES)];
    await expect(run({ recordings, redact: ["emails"] })).rejects.toMatchObject(REFUSED);
    const { lines } = await run({ recordings, redact: "none" });
    expect(lines[0]).toContain("live-9f8e7d6c5b4a");
  });

  test("email addresses and telephone numbers are rejected unless redact is set", async () => {
    const recordings = [await source("private", PRIVATE_LINES)];
    await expect(run({ recordings })).rejects.toThrow(/e-mail address in message 1/u);
    await expect(run({ recordings, redact: ["secrets"] })).resolves.toMatchObject({ summary: { written: 1 } });
  });

  test("a secret is masked wherever it occurs", async () => {
    const { lines } = await run({ recordings: [await source("settings", SECRET_LINES)], redact: ["secrets"] });
    const [line = ""] = lines;
    expect(line).not.toMatch(/9f8e7d6c5b4a|abcDEF123456|hunter22/u);
    const { messages } = JSON.parse(line);
    expect(messages[2].output.api_key).toBe("[secret 1]");
    expect(messages[2].output.region).toBe("eu");
    expect(messages.at(-1).content).toBe("The region is eu, and the key [secret 1] is set.");
  });

  test("the same person, address and id have the same replacement everywhere, so that references stay valid", async () => {
    const { lines, summary } = await run({ recordings: [await source("private", PRIVATE_LINES)], redact: EVERYTHING });
    const [line = ""] = lines;
    expect(line).not.toMatch(/grace|hopper|navy|alan|kay\b|48213|48214|8837201|1414/iu);
    const { messages } = JSON.parse(line);
    const { customer, tickets } = messages[2].output;
    const [first, second] = tickets;
    expect(first.ticket_id).toMatch(/^TCK-[1-9]\d{4}$/u);
    expect(second.ticket_id).not.toBe(first.ticket_id);
    expect(messages[1].calls[0].input.email).toBe(customer.email);
    expect(first.url).toBe(`https://desk.internal/t/${first.ticket_id}?mail=${customer.email.replace("@", "%40")}`);
    const [given] = customer.name.split(" ");
    expect(messages[3].content).toBe(`${given}, ${first.ticket_id} and ${second.ticket_id} are both with ${first.assignee.split(" ")[0]}.`);
    expect(messages[0].content).toContain(`I am ${customer.name}, ${customer.email}, call me on +1-555-01`);
    expect(messages[5].calls[0].input).toEqual({ ticket_id: first.ticket_id, customer_id: customer.customer_id });
    expect(messages[6].output.reference).toBe(first.ticket_id);
    expect(summary.checks.danglingIds).toBe(0);
  });

  test("a replacement reveals nothing of the value: another value in its place gets the same one", async () => {
    const other = JSON.parse(JSON.stringify(PRIVATE_LINES).replaceAll("48213", "90001").replaceAll("8837201", "1112223"));
    const both = [await source("one", PRIVATE_LINES), await source("other", other)];
    const texts = await Promise.all(both.map((one) => run({ recordings: [one], redact: EVERYTHING })));
    const [first, second] = texts.map(({ lines }) => JSON.stringify(JSON.parse(lines[0] ?? "").messages));
    expect(first).toBe(second);
  });

  test.each(TRAJECTORY_FORMATS)("in the format %s no redacted value is left", async (format) => {
    const { lines } = await run({ recordings: [await source("private", PRIVATE_LINES)], redact: EVERYTHING }, { format });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(/grace|hopper|navy|48213|8837201/iu);
  });

  test("cut-off conversations, duplicates and those without a user are left out and counted", async () => {
    const cut = plainLines(3).slice(0, 2);
    const recordings = await Promise.all([
      source("one", plainLines(1)),
      source("again", plainLines(1)),
      source("cut", cut),
      source("asked", plainLines(4).slice(0, 1)),
      source("calls", plainLines(5).slice(1)),
      source("empty", []),
    ]);
    const { summary } = await run({ recordings });
    expect(summary).toMatchObject({ conversations: 1, written: 1 });
    expect(summary.notes).toEqual([
      expect.stringContaining("Nothing was redacted, and nothing was found"),
      "Left out: 2 recordings cut off before the last answer.",
      "Left out: 2 recordings without a user's message at the beginning.",
      "Left out: 1 recording the same as an earlier one.",
    ]);
    await expect(run({ recordings: recordings.slice(2) })).rejects.toMatchObject(REFUSED);
  });

  test("a writer answers a conversation that was cut off after its results, from redacted values", async () => {
    const cut = PRIVATE_LINES.slice(0, -1);
    const seen: string[] = [];
    const plain = plainWriter();
    const writer = {
      name: "spy",
      request: plain.request.bind(plain),
      answer: async (...turn: Parameters<typeof plain.answer>) => {
        seen.push(JSON.stringify(turn[0]));
        return "It is closed.";
      },
    };
    const { lines } = await run({ recordings: [await source("cut", cut)], redact: EVERYTHING, writer });
    expect(JSON.parse(lines[0] ?? "").messages.at(-1)).toEqual({ role: "assistant", content: "It is closed." });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain('"closed":true');
    expect(seen[0]).not.toMatch(/48213|8837201/u);
  });

  test("a call that meets a fault is repeated in the next message, and waits take no real time", async () => {
    const recordings = await Promise.all(Array.from({ length: 20 }, (_, at) => source(`s${at}`, plainLines(at))));
    const clock = virtualClock();
    const faults = { seed: 1, rules: [{ type: "rate_limited", probability: 0.5, retryAfterMs: 3_600_000 }] };
    const plan = { kind: "recorded", recordings, faults, clock } as const;
    const runtime = createRuntime({ toolsets: [{ name: "desk", tools: [{ ...FIND, maxAttempts: 1 }] }] });
    const { lines, summary } = await clock.fastForward(() => generated({ runtime, plan }));
    const failing = lines.map((line) => JSON.parse(line)).find(({ messages }) => messages[2].fault === "rate_limited");
    expect(failing.messages.slice(1, 5)).toMatchObject([
      { role: "assistant", calls: [{ id: "call_1", name: "desk::find_ticket" }] },
      { role: "tool", id: "call_1", status: "error", error: { code: "rate_limited" } },
      { role: "assistant", calls: [{ id: "call_2", name: "desk::find_ticket" }] },
      { role: "tool", id: "call_2" },
    ]);
    expect(summary.faults["rate_limited"]).toBeGreaterThan(3);
    for (const line of lines.map((each) => JSON.parse(each)).filter(({ error }) => error === undefined))
      expect(line.messages.at(-2)).toMatchObject({ status: "ok", output: { state: "open" } });
  });

  test("a retried call has its recorded answer and the number of its attempts", async () => {
    const clock = virtualClock();
    const faults = { rules: [{ type: "network_error", probability: 1, attempts: 2 }] };
    const plan = { kind: "recorded", recordings: [await source("one", plainLines(1))], faults, clock } as const;
    const { lines } = await clock.fastForward(() => generated({ runtime: createRuntime(), plan }));
    expect(JSON.parse(lines[0] ?? "").messages[2]).toMatchObject({ status: "ok", output: { ticket_id: "T-1" } });
    expect(lines[0]).toContain("network_error");
  });

  test("a file is continued after a stop and with a larger count; other recordings are a different plan", async () => {
    const path = join(temporaryFolder(), "train.jsonl");
    const recordings = await Promise.all(Array.from({ length: 12 }, (_, at) => source(`s${at}`, plainLines(at))));
    const plan = { kind: "recorded", recordings, redact: EVERYTHING } as const;
    const make = (changes: Partial<RecordedPlan> = {}) =>
      generateConversations({ runtime: createRuntime(), out: path, plan: { ...plan, ...changes } });
    await make({ count: 9 });
    await make();
    const whole = readFileSync(path, "utf8");
    truncateSync(path, Math.floor(whole.length / 2));
    expect(await make()).toMatchObject({ conversations: 12 });
    expect(readFileSync(path, "utf8")).toBe(whole);
    expect(linesOf(path)).toHaveLength(12);
    await expect(make({ recordings: recordings.slice(1) })).rejects.toThrow(/another plan/u);
    await expect(make({ redact: "none" })).rejects.toThrow(/another plan/u);
  });

  test("a damaged recording is rejected with its place, and nothing is written", async () => {
    const text = await recordingText(plainLines(1));
    const { readRecording } = await import("../../../src/core/recording/recording.ts");
    const events = async function* () {
      yield* (await readRecording(text.replace("T-1", "T-2"))).events;
    };
    const path = join(temporaryFolder(), "train.jsonl");
    const recordings = [await source("one", plainLines(5)), { name: "damaged", events }];
    await expect(run({ recordings }, { out: path })).rejects.toMatchObject({
      code: "corrupt_record",
      message: expect.stringMatching(/line \d/u),
    });
    expect(() => readFileSync(path)).toThrow(/ENOENT/u);
  });

  test("a recording that changes while it is used fails only its own conversation", async () => {
    const events = [await recordedEvents(plainLines(1)), await recordedEvents(plainLines(2))];
    const changing = { name: "changing", events: () => events.shift() ?? [] };
    const { summary, lines } = await run({ recordings: [changing] });
    expect(summary.failed).toBe(1);
    expect(JSON.parse(lines[0] ?? "").error).toMatchObject({ code: "conflict" });
  });

  test.each([
    ["no recordings", { recordings: [] }, /recordings of the plan .* are missing/u],
    ["a recording without events", { recordings: [{ name: "x" }] }, /recordings of the plan .* are missing/u],
    ["a misspelt kind", { redact: ["email"] }, /redact of the plan .* is "email"/u],
    ["an empty choice", { redact: [] }, /redact of the plan/u],
    ["a misspelt option", { redacted: "none" }, /redacted/u],
    ["a count of 0", { count: 0 }, /count of the plan/u],
    ["a writer that is none", { writer: {} }, /writer of the plan/u],
  ])("%s is rejected", async (_name, changes, message) => {
    const plan = { recordings: [await source("one", plainLines(1))], ...changes } as unknown as RecordedPlan; // some are none
    await expect(run(plan)).rejects.toThrow(message);
  });

  test("an abort while recordings are read rejects with cancelled", async () => {
    const signal = AbortSignal.abort();
    await expect(run({ recordings: [await source("one", plainLines(1))] }, { signal })).rejects.toMatchObject({ code: "cancelled" });
  });

  test("an abort ends the reading within a recording", async () => {
    const events = await recordedEvents(plainLines(1));
    const stop = new AbortController();
    let read = 0;
    const long = function* (): Generator<SessionEvent> {
      for (const event of events) {
        if (++read === 2) stop.abort();
        yield event;
      }
    };
    const plan = { recordings: [{ name: "long", events: long }] };
    await expect(run(plan, { signal: stop.signal })).rejects.toMatchObject({ code: "cancelled" });
    expect([read, events.length > 2]).toEqual([2, true]);
  });
});
