import { expect, test } from "vitest";
import { recordedText } from "../../src/telemetry/recorded-text.ts";

const LOGIN = { token: "abcdef123456", cookie: "sid=9f8e7d", pin: "4711", authorization: "Token zzzz9999", user: "ada" };
const HELD = /abcdef123456|9f8e7d|4711|zzzz9999/u;

test.each([
  ["a value", LOGIN],
  ["text", JSON.stringify(LOGIN)],
  ["text with white space", ` ${JSON.stringify([LOGIN], undefined, 2)}`],
  ["text with a long integer", `{"id":12345678901234567890,"token":"abcdef123456","user":"ada"}`],
  ["text in a value", { body: JSON.stringify(LOGIN) }],
  ["text in text", JSON.stringify([{ type: "text", text: JSON.stringify(LOGIN) }])],
])("secrets are struck out by the names of properties in %s", (_, value) => {
  const text = recordedText(value, undefined);
  expect(text).not.toMatch(HELD);
  expect(text).toContain("ada");
});

test.each([
  ["plain text", "The {weather} is fine.", "The {weather} is fine."],
  ["JSON that is damaged", '{"a": 1', '{"a": 1'],
  ["an empty text", "", ""],
])("%s stays as it is", (_, value, text) => {
  expect(recordedText(value, undefined)).toBe(text);
});

test.each([
  ["throws", () => expect.fail("redact failed")],
  ["answers with no text", () => undefined as unknown as string],
])("nothing is sent of a text that redact cannot redact: it %s", (_, redact) => {
  expect(recordedText({ user: "ada" }, redact)).toBe("[not redacted]");
});

test("a text has whole characters only, also where it is cut", () => {
  expect(recordedText(`a${"😀".repeat(10_000)}`, undefined).isWellFormed()).toBe(true);
  expect(recordedText("a\ud83d", undefined)).toBe("a\ufffd");
});

test("a text is at most 16,384 characters long with its ellipsis, and a text of that length is whole", () => {
  expect(recordedText("x".repeat(16_384), undefined)).toBe("x".repeat(16_384));
  expect(recordedText("x".repeat(16_385), undefined)).toBe(`${"x".repeat(16_383)}…`);
  expect(recordedText("x".repeat(20), undefined, 10)).toBe("xxxxxxxxx…");
});
