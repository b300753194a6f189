import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import { withCachedJsonText, findCachedJsonText } from "../../src/core/base/cached-json-text.ts";
import type { ContentPart } from "../../src/core/content.ts";
import { writeEvent } from "../../src/store/records/event-text.ts";
import { bytesOfPieces, joinPieces, maxCharsOf, splitOutputEvent } from "../../src/store/records/json-pieces.ts";

const LONG = `"quoted" \\ é € \u{1f600} \ud800 \u0000\n`.repeat(20_000);
const image: ContentPart = { type: "image", data: "aGk=", mediaType: "image/png" };

function keep(whole: { readonly output?: JsonValue; readonly content?: readonly ContentPart[] }): SessionEvent {
  return { type: "output-keep", callId: "c", sessionId: "s", turnId: "t", at: 1, toolName: "look", ...whole } as SessionEvent;
}

test.each<[string, SessionEvent]>([
  ["an answer that is a long text", keep({ output: LONG })],
  [
    "content with long texts between others",
    keep({ content: [{ type: "text", text: "a" }, { type: "text", text: LONG }, image, { type: "text", text: LONG }] }),
  ],
  ["a short answer with a long text as content", keep({ output: "short", content: [{ type: "text", text: LONG }] })],
  ["a long answer with content", keep({ output: LONG, content: [image] })],
])("%s is written in pieces that join to the JSON of its event", (_, event) => {
  const { body } = writeEvent(event);
  if (typeof body === "string") throw new Error("It was written in one piece.");
  const text = joinPieces(body);
  expect(JSON.parse(text)).toEqual(event);
  expect(text.length).toBeLessThanOrEqual(maxCharsOf(body));
  expect(bytesOfPieces(body)).toBeLessThanOrEqual(Buffer.byteLength(text));
});

test("an event is written in one piece if it has no long text, or might exceed the longest readable string", () => {
  expect(writeEvent(keep({ output: "short" })).body).toBe(JSON.stringify(keep({ output: "short" })));
  expect(typeof writeEvent(keep({ output: "x".repeat(23_000_000) })).body).toBe("string");
});

test("an answer whose JSON already exists is not serialized again, and only for that time is a separate piece", () => {
  const output = Object.freeze([Object.freeze({ "a\u2028": `"\ud800` }), 1]);
  const event = keep({ output, content: [image] });
  const { body } = withCachedJsonText(output, JSON.stringify(output), () => writeEvent(event));
  expect(body).toContainEqual({ json: JSON.stringify(output) });
  expect(JSON.parse(joinPieces(body))).toEqual(event);
  expect(writeEvent(event).body).toBe(JSON.stringify(event));
});

test("primitives have no stored JSON, and none is left after the work throws", () => {
  const output = [1];
  expect(withCachedJsonText(7, "7", () => findCachedJsonText(7))).toBeUndefined();
  expect(() =>
    withCachedJsonText(output, "[1]", () => {
      throw new Error("no");
    }),
  ).toThrow("no");
  expect(findCachedJsonText(output)).toBeUndefined();
});

test("a kept output with 200,000 parts is split into the pieces of its JSON text", () => {
  const content = Array.from({ length: 200_000 }, () => ({ type: "text", text: "x" }) as const);
  const event = keep({ output: "y".repeat(1_000_000), content });
  const text = joinPieces(splitOutputEvent(event) ?? []);
  expect(text.length).toBe(JSON.stringify(event).length);
  expect(JSON.parse(text)).toMatchObject({ content: { length: content.length } });
});
