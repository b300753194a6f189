import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/core/base/json.ts";
import { frameReader } from "../../../src/wire/framing/frame-reader.ts";
import type { Framing } from "../../../src/wire/wire-format.ts";
import { allPieces, eventStreamMessage } from "../recorded-cases.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const read = (framing: Framing, text: string): readonly JsonValue[] => allPieces(framing, [bytesOf(text)]);
const event = (type: string, payload: string): Uint8Array => eventStreamMessage({ ":event-type": type, ":message-type": "event" }, payload);

test.each(["csv", "", "toString", "__proto__", undefined])(
  "an unknown framing throws, and the error lists the known ones: %s",
  (framing) => {
    expect(() => frameReader(framing as Framing)).toThrow(
      // what plain JavaScript may pass
      expect.objectContaining({ code: "invalid_argument", hint: "Framings: sse, json-lines, event-stream." }),
    );
  },
);

describe("H07 any split of the bytes gives the same frames", () => {
  const values = fc.array(fc.dictionary(fc.string(), fc.string({ unit: "grapheme" })), { maxLength: 5 });
  const cuts = fc.array(fc.nat(400), { maxLength: 60 });
  const cut = (bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] => {
    const ends = [...places.filter((place) => place < bytes.length).toSorted((one, other) => one - other), bytes.length];
    return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
  };

  test.each(["\n", "\r\n", "\r"])("server-sent events with lines that end in %j", (end) => {
    fc.assert(
      fc.property(values, cuts, fc.boolean(), (pieces, places, marked) => {
        const events = pieces.map((piece) => `: beat${end}event: x${end}data: ${JSON.stringify(piece)}${end}${end}`);
        const bytes = bytesOf(`${marked ? "\u{feff}" : ""}${events.join("")}`);
        expect(allPieces("sse", cut(bytes, places))).toEqual(pieces.map((piece) => JSON.parse(JSON.stringify(piece)) as JsonValue));
      }),
    );
  });

  test("JSON lines", () => {
    fc.assert(
      fc.property(values, cuts, fc.constantFrom("\n", "\r\n"), (pieces, places, end) => {
        const bytes = bytesOf(pieces.map((piece) => JSON.stringify(piece)).join(end));
        expect(allPieces("json-lines", cut(bytes, places))).toEqual(pieces.map((piece) => JSON.parse(JSON.stringify(piece)) as JsonValue));
      }),
    );
  });

  test("AWS event stream", () => {
    fc.assert(
      fc.property(values, cuts, (pieces, places) => {
        const bytes = Buffer.concat(pieces.map((piece) => event("delta", JSON.stringify(piece))));
        const expected = pieces.map((piece) => ({ delta: JSON.parse(JSON.stringify(piece)) as JsonValue }));
        expect(allPieces("event-stream", cut(bytes, places))).toEqual(expected);
      }),
    );
  });
});

describe("H07 server-sent events", () => {
  test("data of several lines is one frame, and data that is not JSON is text", () => {
    expect(read("sse", 'data: {"a":\ndata:1}\n\ndata: [DONE]\n\ndata: not json\n\n')).toEqual([{ a: 1 }, "[DONE]", "not json"]);
  });
  test("a last event without an empty line is read, and a truncated one is dropped", () => {
    expect(read("sse", 'data: {"a":1}\n\ndata: {"b":2}')).toEqual([{ a: 1 }, { b: 2 }]);
    expect(read("sse", 'data: {"a":1}\n\ndata: {"b":')).toEqual([{ a: 1 }]);
  });
  test("comments, other fields, empty data and fields that only begin with data give no frame", () => {
    expect(read("sse", ": OPENROUTER PROCESSING\n\nid: 4\nretry: 10\n\ndata\n\ndata:\n\ndatabase: {}\n\n")).toEqual([]);
  });
  test("an event name before or after the data is ignored", () => {
    expect(read("sse", 'event: ping\ndata: {"type":"ping"}\n\ndata: {"type":"pong"}\nevent: pong\n\n')).toEqual([
      { type: "ping" },
      { type: "pong" },
    ]);
  });
  test("A06 an endless line and an endless event throw too_large", () => {
    const piece = bytesOf("x".repeat(1 << 20));
    const endless = frameReader("sse");
    expect(() => Array.from({ length: 17 }, () => endless.push(piece))).toThrow(expect.objectContaining({ code: "too_large" }));
    const lines = frameReader("sse");
    const line = bytesOf(`data: ${"x".repeat(1 << 20)}\n`);
    expect(() => Array.from({ length: 17 }, () => lines.push(line))).toThrow(expect.objectContaining({ code: "too_large" }));
  });
});

describe("H07 JSON frames", () => {
  test("an integer that would lose digits is read as text, and the last of duplicate keys wins", () => {
    expect(read("json-lines", '{"id":12345678901234567890,"a":1,"a":2}\n')).toEqual([{ id: "12345678901234567890", a: 2 }]);
    expect(read("json-lines", '{"a":9007199254740993.0,"b":9.007199254740993e15,"c":1e21,"d":0.12345678901234567}\n')).toEqual([
      { a: "9007199254740993.0", b: "9.007199254740993e15", c: 1e21, d: 0.12345678901234567 },
    ]);
  });
  test("A05 JSON that is nested too deeply throws too_large", () => {
    expect(() => read("json-lines", `${"[".repeat(300)}\n`)).toThrow(expect.objectContaining({ code: "too_large" }));
  });
  test("a line that is not JSON is text, and a truncated one is dropped", () => {
    expect(read("json-lines", 'oops\n\n{"a":1}\n{"b":')).toEqual(["oops", { a: 1 }]);
  });
});

describe("H07 AWS event stream", () => {
  test("an exception and an error are read as an object with their type as key", () => {
    const exception = eventStreamMessage({ ":message-type": "exception", ":exception-type": "throttlingException" }, '{"message":"slow"}');
    const error = eventStreamMessage({ ":message-type": "error", ":error-code": "500", ":error-message": "broken" }, "");
    expect(allPieces("event-stream", [exception, error])).toEqual([
      { throttlingException: { message: "slow" } },
      { "500": { message: "broken" } },
    ]);
  });
  test("a truncated message is dropped", () => {
    const whole = event("messageStop", '{"stopReason":"end_turn"}');
    expect(allPieces("event-stream", [whole, whole.subarray(0, 20)])).toEqual([{ messageStop: { stopReason: "end_turn" } }]);
  });
  test.each([
    ["its prelude", 9],
    ["its payload", -8],
  ])("a message with damage in %s throws", (_, at) => {
    const bytes = Uint8Array.from(event("messageStop", '{"stopReason":"end_turn"}'));
    const place = at < 0 ? bytes.length + at : at;
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    expect(() => frameReader("event-stream").push(bytes)).toThrow(expect.objectContaining({ code: "model_failed" }));
  });
  test("headers that are not text are ignored", () => {
    const plain = event("x", "{}");
    // the header `n` of type 4 (a number of four bytes) before the others, lengths and checksums made anew
    const head = Buffer.concat([Buffer.from([1, 0x6e, 4, 0, 0, 0, 7]), plain.subarray(12, plain.length - 6)]);
    expect(allPieces("event-stream", [eventStreamMessage(head, "{}")])).toEqual([{ x: {} }]);
    expect(() => frameReader("event-stream").push(eventStreamMessage(Buffer.from([1, 0x6e, 99]), "{}"))).toThrow(/unknown type 99/u);
    expect(() => frameReader("event-stream").push(eventStreamMessage(Buffer.from([1, 0x6e, 7, 0, 50, 1]), "{}"))).toThrow(/cut off/u);
  });
});
