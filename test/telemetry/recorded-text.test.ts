import { expect, test } from "vitest";
import { toRecordedText, shortenText } from "../../src/telemetry/recorded-text.ts";

const LOGIN = { token: "abcdef123456", cookie: "sid=9f8e7d", pin: "4711", authorization: "Token zzzz9999", user: "ada" };
const HELD = /abcdef123456|9f8e7d|4711|zzzz9999/u;

test.each([
  ["a value", LOGIN],
  ["text", JSON.stringify(LOGIN)],
  ["text with white space", ` ${JSON.stringify([LOGIN], undefined, 2)}`],
  ["text with a long integer", `{"id":12345678901234567890,"token":"abcdef123456","user":"ada"}`],
  ["a string in JSON", JSON.stringify(JSON.stringify(LOGIN))],
  ["a string in a string in JSON", JSON.stringify(JSON.stringify(` ${JSON.stringify([LOGIN])}`))],
  ["lines of JSON", `${JSON.stringify(LOGIN)}\n${JSON.stringify(LOGIN)}\n`],
  ["lines of JSON in a value", { body: `${JSON.stringify([1])}\r\n${JSON.stringify(LOGIN)}` }],
  ["text in a value", { body: JSON.stringify(LOGIN) }],
  ["text in text", JSON.stringify([{ type: "text", text: JSON.stringify(LOGIN) }])],
])("secrets are redacted by property name in %s", (_, value) => {
  const text = toRecordedText(value, undefined);
  expect(text).not.toMatch(HELD);
  expect(text).toContain("ada");
});

test.each([
  ["plain text", "The {weather} is fine.", "The {weather} is fine."],
  ["JSON that is damaged", '{"a": 1', '{"a": 1'],
  ["an empty text", "", ""],
  ["a quoted text", '"{" is a brace', '"{" is a brace'],
  ["JSON that is damaged, in lines", '{"a": 1,\n  "b": [\n', '{"a": 1,\n  "b": [\n'],
])("%s is recorded unchanged", (_, value, text) => {
  expect(toRecordedText(value, undefined)).toBe(text);
});

test.each([
  ["throws", () => expect.fail("redact failed")],
  ["answers with no text", () => undefined as unknown as string],
])("a text is not recorded if redact fails on it: it %s", (_, redact) => {
  expect(toRecordedText({ user: "ada" }, redact)).toBe("[not redacted]");
});

test("a value is not recorded if one of its properties throws, because it cannot be searched for secrets", () => {
  const value = {
    get user(): string {
      throw new Error("It throws.");
    },
  };
  expect(toRecordedText(value, undefined)).toBe("[not redacted]");
});

test("a word of several million characters is truncated like any text", () => {
  expect(toRecordedText({ image: "a".repeat(8_000_000) }, undefined)).toMatch(/^\{"image":"a{16000}a*…$/u);
});

test("a text has no half characters, even where it is truncated", () => {
  expect(toRecordedText(`a${"😀".repeat(10_000)}`, undefined).isWellFormed()).toBe(true);
  expect(toRecordedText("a\ud83d", undefined)).toBe("a\ufffd");
});

test("a text has at most 16,384 characters including its ellipsis, and a text of exactly that length is whole", () => {
  expect(toRecordedText("x".repeat(16_384), undefined)).toBe("x".repeat(16_384));
  expect(toRecordedText("x".repeat(16_385), undefined)).toBe(`${"x".repeat(16_383)}…`);
  expect(shortenText("x".repeat(20), 10)).toBe("xxxxxxxxx…");
});

const KEY = `-----BEGIN PRIVATE KEY-----\n${"MIIEvQIBADANBgkqhkiG9w0BAQ\n".repeat(4_000)}-----END PRIVATE KEY-----`;
const ENCODED = Buffer.from(`${"words ".repeat(3_000)} password: hunter2222`).toString("base64");
const words = (count: number): string => "some words, 12 of them; ".repeat(count);

/** JSON in JSON, as text. */
function nested(value: unknown, depth: number): string {
  return JSON.stringify(depth === 0 ? value : [nested(value, depth - 1)]);
}

/** Around the length to which a text is looked at, which is four times what is kept. */
const AT = Array.from({ length: 60 }, (_, index) => 4 * 16_384 - 30 + index);
/** Of what is looked at, as much is secret here as leaves just more than is kept. */
const LONG_SECRET = `sk-${"a".repeat(49_151)} `;

const LONG: readonly (readonly [string, unknown])[] = [
  ["words", words(10_000)],
  ["one word", "x".repeat(200_000)],
  ["a long key first", `${KEY} ${words(10_000)}`],
  ["a long key further on", `${words(500)}${KEY} ${words(10_000)}`],
  ["nothing but keys", { keys: Array.from({ length: 20 }, () => ({ KEY })), last: "end" }],
  ["encoded secrets", `${words(500)}${ENCODED} ${words(10_000)}`],
  ["encoded secrets at the end of what is looked at", `${words(2_500)}${ENCODED} ${words(10_000)}`],
  ["secrets by name in JSON", { items: Array.from({ length: 20_000 }, (_, id) => ({ id, password: `secret ${id}`, note: "a note" })) }],
  ["text in text in text", { held: nested({ text: words(500) }, 7), last: "end" }],
  [
    "long text in text in text",
    {
      held: nested(
        Array.from({ length: 9_000 }, (_, id) => ({ id })),
        4,
      ),
      last: "end",
    },
  ],
  ["many values that are small", Array.from({ length: 300_000 }, () => [])],
  ["JSON that is damaged", `[${words(10_000)}`],
  ...AT.map((at) => [`a secret at ${at}`, `${"x ".repeat(at / 2)}password: hunter2222 ${words(10_000)}`] as const),
  ...AT.map((at) => {
    const between = "x".repeat(at - LONG_SECRET.length - 1);
    return [`a secret at ${at} behind a long one`, `${LONG_SECRET}${between} sk-abcdefghijklmnop1234 ${words(10_000)}`] as const;
  }),
];

test("redaction finds as much in a long text as when redact is passed the whole", () => {
  for (const [title, value] of LONG) {
    const whole = toRecordedText(value, (text) => text);
    expect({ title, text: toRecordedText(value, undefined) }).toEqual({ title, text: whole });
  }
});

test("values after those that are kept are not read", () => {
  let looked = 0;
  const items = Array.from({ length: 100_000 }, () => ({
    get note() {
      looked += 1;
      return "a note of some length";
    },
  }));
  toRecordedText(items, undefined);
  expect(looked).toBeLessThan(5_000);
});
