import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { parseRecording, readRecording } from "../../../src/core/recording/recording.ts";
import { arbitraryEvent } from "./arbitrary-event.ts";
import { FACT, FIRST, HEADER, answer, collect, read, say, write } from "./recording-lines.ts";
import { testInCI } from "../../test-in-ci.ts";

/** The lines without their sums, parsed. */
async function writeFields(events: readonly SessionEvent[]): Promise<readonly JsonValue[]> {
  return (await write(events)).map((line) => {
    const { sum, ...fields } = parseJson(line.trimEnd(), { maxChars: Infinity }) as JsonObject;
    expect(sum).toMatch(/^[0-9a-f]{64}$/u);
    return fields;
  });
}

test("a stream of bytes is rejected with a hint", async () => {
  const bytes = ReadableStream.from([Buffer.from((await write([])).join(""))]) as unknown as AsyncIterable<string>;
  expect(await read(bytes)).toMatchObject({ error: { code: "invalid_argument" }, events: [] });
});

describe("F1.30 I15 a recording round-trips", () => {
  test("A08 any events, in chunks of any length", async () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryEvent, { maxLength: 6 }), lengths, async (events, cuts) => {
        const text = (await write(events)).join("");
        expect(await read(piecesOf(text, cuts))).toEqual({ events });
        expect(parseRecording(text)).toEqual({ header: HEADER, events });
      }),
    );
  });

  test("-0 as 0, as in JSON", async () => {
    const { events } = await read((await write([answer("c", -0)])).join(""));
    expect(events).toStrictEqual([answer("c", 0)]);
  });

  test("with Windows line endings, a byte order mark, and no final line feed", async () => {
    const events = [say("hello"), say("x".repeat(2_000))];
    const text = (await write(events)).join("");
    expect(await read(`\ufeff${text.replaceAll("\n", "\r\n")}`)).toEqual({ events });
    expect(await read(text.trimEnd())).toEqual({ events });
    expect(await read(["", "\ufeff", text])).toEqual({ events });
  });

  testInCI("an event of many megabytes is split into lines within the limit, whether it is one text or many values", async () => {
    const events = [
      say([{ type: "image", mediaType: "image/png", data: "A".repeat(40_000_000) }]),
      answer(
        "c",
        Array.from({ length: 300_000 }, (_, index) => `value ${index} \u0000`),
      ),
      say("😀".repeat(3_000_000)),
    ];
    const lines = await write(events);
    expect(lines.every((line) => line.length < 32 * 1024 * 1024)).toBe(true);
    expect(await read(lines)).toEqual({ events });
  });
});

describe("which texts are stored as bodies", () => {
  test.each([
    ["1,023 bytes", "x".repeat(1_023), true],
    ["1,024 bytes", "x".repeat(1_024), false],
    ["1,023 bytes of two each", `x${"é".repeat(511)}`, true],
    ["1,024 bytes of two each", "é".repeat(512), false],
  ])("F4.31 text of %s", async (_, text, inline) => {
    const [, ...rest] = await writeFields([say(text)]);
    const said = { event: say(text) };
    const referred = { event: { type: "message-add", ...FACT, message: { role: "user", content: { $body: hash("sha256", text) } } } };
    expect(rest).toEqual([...(inline ? [said] : [{ body: hash("sha256", text), text }, referred]), { end: { events: 1 } }]);
  });

  test("F4.31 the text of a system message is a body, however short", async () => {
    expect(await writeFields([say("be kind", "system"), say([{ type: "text", text: "be kind" }], "system")])).toEqual([
      FIRST,
      { body: hash("sha256", "be kind"), text: "be kind" },
      { event: { type: "message-add", ...FACT, message: { role: "system", content: { $body: hash("sha256", "be kind") } } } },
      {
        event: {
          type: "message-add",
          ...FACT,
          message: { role: "system", content: [{ type: "text", text: { $body: hash("sha256", "be kind") } }] },
        },
      },
      { end: { events: 2 } },
    ]);
  });

  test("F4.30 F4.31 images and audio are bodies, each stored once under the SHA-256 of its base64", async () => {
    const parts = [
      { type: "image", mediaType: "image/png", data: "iVBORw==" },
      { type: "audio", mediaType: "audio/wav", data: "iVBORw==" },
    ] as const;
    const lines = await writeFields([say(parts)]);
    expect(lines.slice(1, -1)).toEqual([
      { body: hash("sha256", "iVBORw=="), text: "iVBORw==" },
      {
        event: {
          type: "message-add",
          ...FACT,
          message: { role: "user", content: parts.map((part) => ({ ...part, data: { $body: hash("sha256", "iVBORw==") } })) },
        },
      },
    ]);
  });

  test("a long text in an output, an input and a call is written once", async () => {
    const text = "long ".repeat(400);
    const events: readonly SessionEvent[] = [
      { type: "call-start", ...FACT, callId: "c", turnId: "t", call: { name: "a::b", input: { text } } },
      { ...answer("c", { nested: [text] }), input: { text } } as SessionEvent,
    ];
    const lines = await writeFields(events);
    expect(lines.filter((line) => Object.hasOwn(Object(line), "body"))).toEqual([{ body: hash("sha256", text), text }]);
    expect(await read(await write(events))).toEqual({ events });
  });

  test("C09 data that looks like a reference is escaped, and round-trips", async () => {
    const output = { $body: hash("sha256", "x"), list: [{ $body: 5 }, { $$body: null, $$$body: { $body: "y" } }], body: 1, $: 2 };
    const lines = await writeFields([answer("c", output)]);
    expect(lines[1]).toMatchObject({
      event: {
        result: {
          output: { $$body: hash("sha256", "x"), list: [{ $$body: 5 }, { $$$body: null, $$$$body: { $$body: "y" } }], body: 1, $: 2 },
        },
      },
    });
    expect(await read(await write([answer("c", output)]))).toEqual({ events: [answer("c", output)] });
  });

  test("a lone surrogate has its own hash, whatever text looks like it", async () => {
    const odd = `\ud800${"x".repeat(2_000)}`;
    const events = [say(odd), say(JSON.stringify(odd)), say(odd.toWellFormed())];
    const bodies = (await writeFields(events)).filter((line) => Object.hasOwn(Object(line), "body"));
    expect(new Set(bodies.map((line) => Reflect.get(Object(line), "body"))).size).toBe(3);
    expect(await read(await write(events))).toEqual({ events });
  });

  testInCI("a text that recurs after many others is written again, so that a reader need not hold everything", async () => {
    const texts = Array.from({ length: 20 }, (_, index) => `${index} ${"x".repeat(2_000_000)}`);
    const events = [...texts, texts[19], texts[0]].map((text) => say(text ?? ""));
    const bodies = (await writeFields(events)).filter((line) => Object.hasOwn(Object(line), "body"));
    expect(bodies.map((line) => Number(String(Reflect.get(Object(line), "text")).slice(0, 2)))).toEqual([...texts.keys(), 0]);
    expect(await read(await write(events))).toEqual({ events });
  });
});

describe("the source", () => {
  test("is closed when the reader leaves early, and when the first line is invalid", async () => {
    const closed: string[] = [];
    async function* source(name: string, lines: readonly string[]): AsyncGenerator<string> {
      try {
        yield* lines;
      } finally {
        closed.push(name);
      }
    }
    const recording = await readRecording(source("left", await write([say("one"), say("two")])));
    for await (const event of recording.events) {
      expect(event).toEqual(say("one"));
      break;
    }
    await expect(readRecording(source("refused", ["{}\n"]))).rejects.toMatchObject({ code: "corrupt_record" });
    expect(closed).toEqual(["left", "refused"]);
  });

  test("that fails ends the reading with its own error", async () => {
    const lines = await write([say("one")]);
    async function* source(): AsyncGenerator<string> {
      yield lines.slice(0, 2).join("");
      throw new Error("the disk is gone");
    }
    const recording = await readRecording(source());
    await expect(collect(recording.events)).rejects.toThrow("the disk is gone");
  });
});

test("an event that could not be read back is not written", async () => {
  const event: unknown = { type: "call-start", ...FACT, callId: "", turnId: "t", call: { name: "a" } };
  await expect(write([say("one"), event as SessionEvent])).rejects.toMatchObject({
    code: "corrupt_record",
    message: 'event 2: $.callId is ""; expected a string of 1 to 1024 characters.',
  });
});

function* piecesOf(text: string, lengths: readonly number[]): Generator<string> {
  for (let at = 0, piece = 0; at < text.length; piece++) {
    const length = lengths[piece % lengths.length] ?? 1;
    yield text.slice(at, at + length);
    at += length;
  }
}

test("issue 20 a reference to a long text is recognized with an escaped dollar sign too", async () => {
  const event = say("long ".repeat(400));
  const lines = await write([event]);
  let sum = "";
  const spelled = lines.map((line) => {
    const open = line.replace(/,"sum":"[0-9a-f]{64}"\}\n$/u, "").replace('"$body"', String.raw`"\u0024body"`);
    sum = hash("sha256", sum + open);
    return `${open},"sum":"${sum}"}\n`;
  });
  expect(spelled.some((line) => line.includes(String.raw`\u0024body`))).toBe(true);
  expect(parseRecording(spelled.join("")).events).toEqual([event]);
});
