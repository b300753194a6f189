import { expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { checkPromptTemplate, fillPromptTemplate } from "../../src/triggers/prompt-template.ts";

const message = (content: string, metadata: JsonObject = {}) => ({
  id: "m1",
  channel: "news",
  sender: "Ann",
  senderId: "s1",
  content,
  metadata,
  at: 0,
});

test("F1.61 placeholders are filled, metadata by path, and inserted text is not filled again", () => {
  const metadata = { topic: "rain", where: { city: "Bonn" }, "a.b": 1, list: [1] };
  const template =
    "{channel} {sender} {message_id} {metadata.topic} {metadata.where.city} {metadata.a.b} {metadata.list} {metadata.none} {content}";
  expect(fillPromptTemplate(template, message("{sender} $& {{content}}", metadata))).toBe(
    "news Ann m1 rain Bonn 1 [1]  {sender} $& {{content}}",
  );
  expect(fillPromptTemplate("[{metadata.constructor}{metadata.__proto__}{metadata.where.toString}]", message("", metadata))).toBe("[]");
});

test("F1.61 other braces stay, and doubled braces become single ones", () => {
  const template = 'Reply as {"a": 1} or {} or { content } for {{content}}';
  checkPromptTemplate(template);
  expect(fillPromptTemplate(template, message("x"))).toBe('Reply as {"a": 1} or {} or { content } for {content}');
});

test.each(["{contents}", "a {metadata} b", "{metadata.}", "{constructor}", "{__proto__}", "{sender.name}"])(
  "F1.61 the template %j has an unknown placeholder and is rejected",
  (template) => {
    expect(() => checkPromptTemplate(template)).toThrow(
      expect.objectContaining({ code: "invalid_argument", key: "prompt", hint: expect.stringContaining("{metadata.<key>}") }),
    );
  },
);

test("F1.61 a hostile template takes linear time", () => {
  const template = "{".repeat(200_000) + "a".repeat(200_000);
  checkPromptTemplate(template);
  expect(fillPromptTemplate(template, message("x"))).toBe(template);
});

test("F1.61 a template that repeats a large message is filled up to a limit, and the rest is left out", () => {
  const large = message("x".repeat(8 * 1024 * 1024), { large: "y".repeat(1024 * 1024) });
  const filled = fillPromptTemplate("{content}".repeat(2_000) + "{metadata.large}".repeat(20), large);
  expect(filled.length).toBe(16 * 1024 * 1024 + 2_018);
  expect(filled.slice(-3)).toBe("………");
});
