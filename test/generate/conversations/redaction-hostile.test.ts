/** Secrets and personal data that hide from redaction (issue 16, point 4, and "a recording with secrets"). */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { ContentPart } from "../../../src/core/content.ts";
import type { ModelMessage } from "../../../src/core/message.ts";
import { redactConversation } from "../../../src/generate/conversations/recorded/redact-conversation.ts";
import { REDACTED_KINDS } from "../../../src/generate/conversations/recorded/redaction.ts";
import { isSecretName } from "../../../src/trust/sensitive-text.ts";

const KEY = "sk-live-Zq8vT2mX7bNc4LpR9wKd";
const MAIL = "ingrid.solberg@fjordbank.no";
const user = (content: string | readonly ContentPart[]): ModelMessage => ({ role: "user", at: 0, content });
const call = (input: JsonObject, name = "a::b"): ModelMessage => ({ role: "call", at: 0, callId: "c", turnId: "t", call: { name, input } });
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const wide = (text: string): string => text.replaceAll(/[!-~]/gu, (sign) => String.fromCodePoint((sign.codePointAt(0) ?? 0) + 0xfee0));
const nested = (value: unknown, times: number): string => (times === 0 ? JSON.stringify(value) : JSON.stringify(nested(value, times - 1)));

function both(messages: readonly ModelMessage[]) {
  const random = seededRandom(5);
  const asked = redactConversation(messages, { redact: undefined, random });
  const redacted = JSON.stringify(redactConversation(messages, { redact: REDACTED_KINDS, random }).messages);
  return { kinds: [...new Set(asked.unredacted.map(({ kind }) => kind))], redacted };
}

describe("issue 16.4 hidden values are rejected without a redact setting, and replaced with one", () => {
  test.each<readonly [place: string, messages: readonly ModelMessage[], gone: string, kind: string]>([
    ["a key of an object", [call({ [MAIL]: 1 })], MAIL, "emails"],
    ["a tool's name", [call({}, `mail::send_to_${MAIL}`)], MAIL, "emails"],
    ["a key in a tool's name", [call({}, `x::${KEY}`)], KEY, "secrets"],
    ["JSON in JSON in JSON", [user(nested({ pin: "81724469" }, 3))], "81724469", "secrets"],
    ["a value of a named secret", [call({ password: { value: "hunter22x" } })], "hunter22x", "secrets"],
    ["a list of named secrets", [call({ api_keys: ["plainlooking"] })], "plainlooking", "secrets"],
    ["base64", [user(`see ${base64(`{"k":"${KEY}"}`)} there`)], base64(`{"k":"${KEY}"}`), "secrets"],
    ["base64 of an address", [call({ blob: base64(`mail ${MAIL} soon`) })], base64(`mail ${MAIL} soon`), "secrets"],
    ["invisible characters", [user(`write to ingrid.sol\u200Bberg@fjord\u2060bank.no`)], "fjord", "emails"],
    ["wide characters", [user(`key ${wide(KEY)}`)], wide(KEY), "secrets"],
    ["a title", [{ role: "assistant", at: 0, content: "Done.", title: `Mail to ${MAIL}` }], MAIL, "emails"],
  ])("in %s", (_place, messages, gone, kind) => {
    const { kinds, redacted } = both(messages);
    expect(kinds).toContain(kind);
    expect(redacted).not.toContain(gone);
  });

  test("split over two parts of one text", () => {
    const parts = [`Use ${KEY.slice(0, 9)}`, `${KEY.slice(9)} now`].map((text): ContentPart => ({ type: "text", text }));
    const { kinds, redacted } = both([user(parts)]);
    expect(kinds).toEqual(["secrets"]);
    expect(redacted).toContain("Use [secret 1] now");
  });
});

test("a redacted tool name stays a valid name, and is the same in a call and its result", () => {
  const name = `x::send_${KEY}`;
  const shared = { origin: "live", attempts: 1, durationMs: 1, repairs: [], warnings: [] } as const;
  const result: ModelMessage = {
    role: "result",
    at: 0,
    callId: "c",
    result: { ...shared, callId: "c", name, status: "ok", output: 1 },
  };
  const { messages } = redactConversation([call({}, name), result], { redact: REDACTED_KINDS, random: seededRandom(5) });
  const names = messages.map((message) =>
    message.role === "call" ? message.call.name : message.role === "result" ? message.result.name : "",
  );
  expect(names[0]).toMatch(/^[\w:.-]+$/u);
  expect(names[1]).toBe(names[0]);
});

test("no replacement equals a value that is already in the conversation", () => {
  const first = redactConversation([user(`Write to ${MAIL}, password=hunter22x`)], { redact: REDACTED_KINDS, random: seededRandom(5) });
  const drawn = /\S+@example\.com/u.exec(JSON.stringify(first.messages))?.[0].replace(/,$/u, "") ?? "";
  const text = `Write to ${MAIL} and ${drawn}, [secret 1] and password=hunter22x`;
  const [message] = redactConversation([user(text)], { redact: REDACTED_KINDS, random: seededRandom(5) }).messages;
  const content = message?.role === "user" && typeof message.content === "string" ? message.content : "";
  const addresses = content.match(/[\w.]+@example\.com/gu) ?? [];
  expect(addresses).toHaveLength(2);
  expect(new Set(addresses).size).toBe(2);
  expect(content).toContain("[secret 1] and password=[secret 2]");
});

test("a value that is both a secret and an id is replaced as a secret everywhere", () => {
  const { messages } = redactConversation([call({ api_key: "k4471-abc", order_id: "k4471-abc" }), user("It is k4471-abc.")], {
    redact: REDACTED_KINDS,
    random: seededRandom(5),
  });
  expect(JSON.stringify(messages).split("[secret 1]")).toHaveLength(4);
});

test("words, ids and hashes are not encoded secrets, and emoji and plain arrays stay unchanged", () => {
  const parts = ["One 👩‍👩‍👧 ", "two"].map((text): ContentPart => ({ type: "text", text }));
  const texts = [
    "d41d8cd98f00b204e9800998ecf8427e",
    "internationalization",
    base64("a plain sentence, nothing else"),
    "ＷＩＤＥ　ＷＯＲＤＳ",
  ];
  const messages = [user(parts), ...texts.map((text) => user(text))];
  const { kinds, redacted } = both(messages);
  expect(kinds).toEqual([]);
  expect(JSON.parse(redacted)).toEqual(messages);
  for (const name of ["tokens", "max_tokens", "keys", "pins_per_page", "next_page_tokens"])
    expect([name, isSecretName(name)]).toEqual([name, false]);
});
