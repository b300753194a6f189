/** Issue 20.6: files that the dashboard opens, and those that it gives. */
import { hash } from "node:crypto";
import { createRuntime, defineTool, readOnly } from "haft";
import { writeRecording } from "haft/recording";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toTestCode } from "../../src/dashboard/call/copy-as.ts";
import { createConversationLog } from "../../src/dashboard/file/conversation-log.ts";
import { openFile, type OpenedFile } from "../../src/dashboard/file/open-file.ts";
import { sha256 } from "../../src/dashboard/file/sha256.ts";
import { quantile, parseMetrics } from "../../src/dashboard/health/metrics-text.ts";
import { zoomAfterBrushKey, zoomAfterKey } from "../../src/dashboard/timeline/zoom-keys.ts";
import { formatChromeTrace } from "../../src/dashboard/timeline/chrome-trace.ts";
import { formatSessionMarkdown } from "../../src/dashboard/timeline/session-markdown.ts";

async function opened(text: string | readonly string[]): Promise<OpenedFile> {
  const pieces = (async function* () {
    yield* typeof text === "string" ? [text] : text;
  })();
  let last: OpenedFile | undefined;
  for await (const file of openFile({ name: "a.json", pieces }, new AbortController().signal)) last = file;
  if (last === undefined) throw new Error("something is always given");
  return last;
}

/** Each entry of the first part, in words. */
function shown({ parts: [part] }: OpenedFile): readonly string[] {
  return (part?.log.entries() ?? []).map((entry) =>
    entry.kind === "message"
      ? `${entry.role}: ${entry.text}`
      : `${entry.call.name} ${JSON.stringify(entry.call.input)} ${entry.result?.status ?? "open"} ${JSON.stringify(entry.result?.output)}`,
  );
}

const EXPECTED = [
  "system: Be short.",
  "user: Weather?",
  'weather {"city":"Paris"} ok {"celsius":21}',
  'weather {"city":"Rome"} ok "sunny"',
  "assistant: Fine.",
];

const OPENAI_CHAT = {
  messages: [
    { role: "system", content: "Be short." },
    { role: "user", content: [{ type: "text", text: "Weather?" }] },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } },
        { id: "2", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
      ],
    },
    { role: "tool", tool_call_id: "2", content: "sunny" },
    { role: "tool", tool_call_id: "1", content: '{"celsius":21}' },
    { role: "assistant", content: "Fine." },
  ],
};

const OPENAI_RESPONSES = {
  instructions: "Be short.",
  input: [
    { role: "user", content: [{ type: "input_text", text: "Weather?" }] },
    { type: "reasoning", summary: [] },
    { type: "function_call", call_id: "1", name: "weather", arguments: '{"city":"Paris"}' },
    { type: "function_call", call_id: "2", name: "weather", arguments: '{"city":"Rome"}' },
    { type: "function_call_output", call_id: "1", output: '{"celsius":21}' },
    { type: "function_call_output", call_id: "2", output: "sunny" },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "Fine." }] },
  ],
};

const ANTHROPIC = {
  system: [{ type: "text", text: "Be short." }],
  messages: [
    { role: "user", content: "Weather?" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "…" },
        { type: "tool_use", id: "1", name: "weather", input: { city: "Paris" } },
        { type: "tool_use", id: "2", name: "weather", input: { city: "Rome" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: '{"celsius":21}' }] },
        { type: "tool_result", tool_use_id: "2", content: "sunny" },
      ],
    },
    { role: "assistant", content: [{ type: "text", text: "Fine." }] },
  ],
};

const GEMINI = {
  systemInstruction: { parts: [{ text: "Be short." }] },
  contents: [
    { role: "user", parts: [{ text: "Weather?" }] },
    {
      role: "model",
      parts: [
        { functionCall: { name: "weather", args: { city: "Paris" } } },
        { functionCall: { name: "weather", args: { city: "Rome" } } },
      ],
    },
    {
      role: "user",
      parts: [
        { functionResponse: { name: "weather", response: { celsius: 21 } } },
        { functionResponse: { name: "weather", response: "sunny" } },
      ],
    },
    { role: "model", parts: [{ text: "Fine." }] },
  ],
};

describe("issue 20.6 conversations of other systems", () => {
  test.each(Object.entries({ OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI }))(
    "%s: messages, calls and their results are read",
    async (_, conversation) => {
      const file = await opened(JSON.stringify(conversation, undefined, 2));
      expect([file.problems, shown(file), file.parts[0]?.log.isTimeless]).toEqual([[], EXPECTED, true]);
    },
  );

  test("are read as an array, as one message per line, and as one conversation per line", async () => {
    const { messages } = OPENAI_CHAT;
    expect(shown(await opened(JSON.stringify(messages)))).toEqual(EXPECTED);
    expect(shown(await opened(messages.map((one) => JSON.stringify(one)).join("\n")))).toEqual(EXPECTED);
    const many = await opened([ANTHROPIC, GEMINI].map((one) => JSON.stringify(one)).join("\r\n"));
    expect(many.parts.map(({ name, log }) => [name, log.calls.size])).toEqual([
      ["Line 1", 2],
      ["Line 2", 2],
    ]);
  });

  test("keep apart a failed result, a call without a result, and a second call with the same id", async () => {
    const call = { type: "tool_use", id: "1", name: "weather", input: {} };
    const file = await opened(
      JSON.stringify([
        { role: "assistant", content: [call] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "no", is_error: true }] },
        { role: "assistant", content: [call] },
      ]),
    );
    expect(shown(file)).toEqual(["weather {} error undefined", "weather {} open undefined"]);
  });
});

describe("issue 20.6 files that are damaged or of another kind", () => {
  test.each([
    ["an empty file", " \n", "The file is empty."],
    ["text", "Dear reader,\nhello", "line 1, column 1"],
    ["JSON that breaks off", '{"messages": [\n  {"role": "user"', "line 2, column"],
    ["JSON of another kind", '{"orders": [1, 2]}', "contains nothing that this page can read"],
    ["a key that comes twice", '{"messages": [], "messages": []}', "messages"],
    ["JSON that is nested deeply", "[".repeat(100_000), "nests deeper"],
    ["the first line of another version", '{"haft":"recording","version":99,"sessionId":"a","exportedAt":1}', "line 1"],
  ])("%s: the problem and its place are reported, and nothing is shown", async (_, text, says) => {
    const file = await opened(text);
    expect(file.problems.join("\n")).toContain(says);
    expect(file.isWhole && file.parts.every(({ log }) => log.entries().length === 0)).toBe(true);
  });

  test("a damaged line is reported, and the other lines are shown", async () => {
    const lines = OPENAI_CHAT.messages.map((one) => JSON.stringify(one));
    const file = await opened([...lines.slice(0, 2), '{"role": "user", oops}', ...lines.slice(2)].join("\n"));
    expect(file.problems).toEqual([expect.stringMatching(/^.*line 3, column 18/u)]);
    expect(shown(file)).toEqual(EXPECTED);
  });

  test("reading a file that is too large stops at the limit", async () => {
    let given = 0;
    const endless = (async function* () {
      for (;;) {
        given++;
        yield `["${"x".repeat(1024 * 1024)}`;
      }
    })();
    for await (const file of openFile({ name: "a", pieces: endless }, new AbortController().signal))
      expect(file.problems).toEqual([expect.stringContaining("larger than 64 Mi characters")]);
    expect(given).toBeLessThan(70);
  });

  test("no JSON makes the reader throw", async () => {
    const key = fc.constantFrom(
      "role",
      "content",
      "type",
      "parts",
      "messages",
      "tool_calls",
      "functionCall",
      "id",
      "name",
      "input",
      "__proto__",
    );
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom("user", "assistant", "tool", "tool_use", "tool_result", "function_call", 1, null, true, "{"),
        fc.array(tie("node"), { maxLength: 4 }),
        fc.dictionary(key, tie("node"), { maxKeys: 4 }),
      ),
    })).node;
    await fc.assert(
      fc.asyncProperty(value, async (any) => {
        const file = await opened(JSON.stringify(any));
        for (const { name, log } of file.parts) {
          formatSessionMarkdown(name, log);
          JSON.parse(formatChromeTrace(name, log));
        }
      }),
      { numRuns: 300 },
    );
  });
});

async function played(): Promise<string> {
  const look = defineTool({
    name: "look",
    description: "Looks.",
    inputSchema: { type: "object", properties: { at: { type: "integer" } } },
    effects: readOnly("all"),
    execute: ({ at }) => ({ at, text: `${"é".repeat(2_000)}${at}` }),
  });
  const runtime = createRuntime({ toolsets: [{ name: "eye", tools: [look] }] });
  const session = runtime.session("s");
  await session.addMessage({ role: "user", content: "Look\ud800." });
  await session.execute([
    { name: "eye::look", input: { at: "1" } },
    { name: "eye::look", input: { at: 2 } },
    { name: "eye::none", input: {} },
  ]);
  const lines: string[] = [];
  for await (const line of writeRecording(session.events(), { sessionId: "s", exportedAt: 1 })) lines.push(line);
  await runtime.close();
  return lines.join("");
}

describe("issue 20.6 recordings", () => {
  test("are read with their long texts, and their checksums are verified", async () => {
    const text = await played();
    const file = await opened([text.slice(0, 10), text.slice(10, 3_000), text.slice(3_000)]);
    expect([file.kind, file.problems, file.parts[0]?.name]).toEqual(["recording", [], "s"]);
    const calls = [...(file.parts[0]?.log.calls.values() ?? [])];
    expect(calls.map(({ result, input }) => [result?.status, input, JSON.stringify(result?.output)?.length])).toEqual([
      ["ok", { at: 1 }, 2_019],
      ["ok", { at: 2 }, 2_019],
      ["error", undefined, undefined],
    ]);
  });

  test("that were changed or cut are shown up to the damage", async () => {
    const lines = (await played()).split("\n");
    const changed = lines.findIndex((line) => line.includes('"call-end"'));
    const file = await opened(lines.map((line, index) => (index === changed ? line.replace("live", "stub") : line)).join("\n"));
    expect(file.problems).toEqual([expect.stringMatching(new RegExp(`^line ${changed + 1}: .*changed`, "u"))]);
    expect(file.parts[0]?.log.calls.size).toBeGreaterThan(0);
    const cut = await opened(lines.slice(0, -3).join("\n"));
    expect(cut.problems).toEqual([expect.stringContaining("cut short")]);
  });
});

test("issue 20.6 the page's SHA-256 equals that of Node, for texts and bytes of any length", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 300 }),
      (text) => sha256(text.toWellFormed()) === hash("sha256", text.toWellFormed()),
    ),
  );
  for (const length of [0, 55, 56, 63, 64, 65, 119, 120, 100_000]) {
    const bytes = new Uint8Array(length).fill(0xff);
    expect([length, sha256(bytes)]).toEqual([length, hash("sha256", bytes)]);
  }
});

describe("issue 20.6 saved sessions", () => {
  test("Markdown: third-party text cannot act as markup", async () => {
    const evil = "</details><script>alert(1)</script> **bold** [link](javascript:1)\n# Title";
    const file = await opened(
      JSON.stringify([
        { role: "user", content: evil },
        { role: "assistant", content: [{ type: "tool_use", id: "1", name: evil, input: { a: "```\n# x" } }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "````\nend" }] },
      ]),
    );
    const [part] = file.parts;
    const text = part === undefined ? "" : formatSessionMarkdown("s", part.log);
    const outside = text.replaceAll(/^(`{3,})[a-z]+\n[^]*?\n\1$/gmu, "");
    expect(outside).not.toMatch(/(?<!\\)[<[*`]script|(?<!\\)<|^# Title|\n# Title/u);
    expect(text).toContain("`````text\n````\nend\n`````");
  });

  test("Markdown: messages are complete, even those that a row of the timeline truncates", async () => {
    const { parts } = await opened(JSON.stringify([{ role: "user", content: `${"long ".repeat(200)}end` }]));
    expect(parts.map(({ log }) => formatSessionMarkdown("s", log))).toEqual([`# s\n\n**user:** ${"long ".repeat(200)}end\n`]);
  });

  test("Chrome trace: no two calls of a track overlap, and times are in microseconds", async () => {
    const file = await opened(await played());
    const [part] = file.parts;
    const { traceEvents } = JSON.parse(part === undefined ? "{}" : formatChromeTrace("s", part.log)) as {
      readonly traceEvents: readonly {
        readonly ph: string;
        readonly cat?: string;
        readonly tid: number;
        readonly ts: number;
        readonly dur: number;
      }[];
    };
    const calls = traceEvents.filter(({ ph, cat }) => ph === "X" && cat !== "phase");
    expect(calls).toHaveLength(3);
    for (const call of calls)
      for (const other of calls)
        if (call !== other && call.tid === other.tid) expect(call.ts + call.dur <= other.ts || other.ts + other.dur <= call.ts).toBe(true);
    expect(calls.every(({ ts }) => ts > 1e15)).toBe(true);
  });

  test("a test: it contains the call and its result as literals", () => {
    const call = { url: "http://127.0.0.1:1", sessionId: "s", name: 'a"b', input: { x: "\u202e`${1}" } };
    const text = toTestCode(call, { status: "ok", output: { y: [1] } });
    expect(text).toContain('test("a\\"b answers as it was recorded"');
    expect(text).toContain('"x": "\\u202e`${1}"');
    expect(text).toMatch(/toMatchObject\(\{ status: "ok", output: \{\s+"y": \[\s+1\s+\]\s+\} \}\)/u);
    expect(toTestCode(call, { status: "error", error: { code: "timeout" } })).toContain('{ status: "error", error: { code: "timeout" } }');
  });
});

test("issue 20.3 the brush is moved and narrowed by keys, and stays within the timeline", () => {
  let zoom = { start: 0, end: 1 };
  for (const key of ["w", "ArrowUp", "d", "ArrowRight", "End"]) zoom = zoomAfterBrushKey(key, zoom) ?? zoom;
  expect([zoom.end, Number((zoom.end - zoom.start).toFixed(2))]).toEqual([1, 0.36]);
  for (let step = 0; step < 50; step++) zoom = zoomAfterKey("w", zoom) ?? zoom;
  expect(zoom.end - zoom.start).toBeCloseTo(0.004);
  for (let step = 0; step < 50; step++) zoom = zoomAfterKey("s", zoom) ?? zoom;
  expect([zoom, zoomAfterKey("x", zoom), zoomAfterKey("Home", zoom)]).toEqual([{ start: 0, end: 1 }, undefined, undefined]);
});

test("issue 20.2 p50 and p99 are computed from the histogram, of all calls or of those since an earlier reading", () => {
  const text = (...counts: readonly number[]): string =>
    ["0.1", "1", "+Inf"].map((bound, index) => `haft_call_seconds_bucket{le="${bound}"} ${counts[index]}`).join("\n");
  const now = parseMetrics(text(50, 100, 100));
  expect([0.25, 0.5, 0.75].map((share) => quantile(now, [], "haft_call_seconds", share))).toEqual([0.05, 0.1, 0.55]);
  expect(quantile(now, parseMetrics(text(50, 50, 50)), "haft_call_seconds", 0.5)).toBeCloseTo(0.55);
  expect(quantile(now, now, "haft_call_seconds", 0.5)).toBeUndefined();
  expect(quantile(parseMetrics(text(0, 0, 5)), [], "haft_call_seconds", 0.99)).toBe(1);
});

/** A part of a conversation of Gemini, whose calls and results may lack their ids. */
const anyPart = fc.record(
  {
    isCall: fc.boolean(),
    id: fc.option(fc.constantFrom("a", "b"), { nil: undefined }),
    name: fc.constantFrom("f", "g"),
  },
  { requiredKeys: ["isCall", "name"] },
);

test("issue 20.6 each result belongs to the first open call that matches its id or its name", () => {
  fc.assert(
    fc.property(fc.array(anyPart, { maxLength: 40 }), (parts) => {
      const open: { readonly id: string | undefined; readonly name: string; readonly at: number }[] = [];
      const expected = new Map<number, number>();
      for (const [at, { isCall, id, name }] of parts.entries()) {
        if (isCall) open.push({ id, name, at });
        else {
          const index = open.findIndex((call) => (id !== undefined && call.id !== undefined ? call.id === id : call.name === name));
          for (const call of open.splice(index, index < 0 ? 0 : 1)) expected.set(call.at, at);
        }
      }
      const turns = parts.map(({ isCall, id, name }, at) => ({
        role: "model",
        parts: [isCall ? { functionCall: { id, name, args: { at } } } : { functionResponse: { id, name, response: { at } } }],
      }));
      const log = createConversationLog(JSON.parse(JSON.stringify(turns)), "file");
      const found = [...log.calls.values()].flatMap(({ call, result }) => (result === undefined ? [] : [[call.input, result.output]]));
      expect(found).toEqual([...expected].sort(([one], [other]) => one - other).map(([at, end]) => [{ at }, { at: end }]));
    }),
  );
});

test("issue 20 a file whose calls all have one id is read in linear time", async () => {
  const calls = Array.from({ length: 40_000 }, () => ({
    role: "assistant",
    tool_calls: [{ id: "x", function: { name: "f", arguments: "{}" } }],
  }));
  const { parts, problems } = await opened(JSON.stringify({ messages: calls }));
  expect([problems, parts[0]?.log.calls.size]).toEqual([[], 40_000]);
});
