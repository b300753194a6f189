import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import type { ModelMessage } from "../../../src/core/message.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { redactConversation } from "../../../src/generate/conversations/recorded/redact-conversation.ts";
import { REDACTED_KINDS, type Redaction } from "../../../src/generate/conversations/recorded/redaction.ts";
import { inCI } from "../../ci.ts";
import { findEmails, isSecretName, findPhones, findSecrets } from "../../../src/trust/sensitive-text.ts";

const MANY = inCI ? 10_000 : 1_000;
const user = (content: string): ModelMessage => ({ role: "user", at: 0, content });
const call = (input: JsonObject): ModelMessage => ({
  role: "call",
  at: 0,
  callId: "call_1",
  turnId: "t",
  call: { name: "a::b", input, reasoning: "thinking of hunter22x" },
});

function redacted(messages: readonly ModelMessage[], redact: Redaction = REDACTED_KINDS): string {
  return JSON.stringify(redactConversation(messages, { redact, random: seededRandom(1) }).messages);
}

const found = (text: string): readonly string[] => findSecrets(text).map(({ start, end }) => text.slice(start, end));

describe("issue 16.4 redaction", () => {
  test.each([
    ["sk-proj-abcdefghij0123456789ABCD", "an API key"],
    ["ghp_abcdefghij0123456789ABCDEFGHIJ", "a GitHub token"],
    ["AKIAABCDEFGHIJKLMNOP", "an AWS key"],
    ["xoxb-123456789012-abcdefGHIJKL", "a Slack token"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123", "a JSON web token"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE+abc=\n-----END RSA PRIVATE KEY-----", "a private key"],
    ["4111 1111 1111 1111", "a card number"],
  ])("%j is found as %2$s in the middle of a text", (secret) => {
    expect(found(`Use ${secret} for it`)).toContain(secret);
  });

  test.each([
    ["password=hunter22x;", "hunter22x"],
    ['{\\"client_secret\\": \\"s3cr3tvalue\\"}', "s3cr3tvalue"],
    ["Authorization: Bearer abcdef123456", "abcdef123456"],
    ["https://me:hunter22x@example.org/", "hunter22x"],
    ["my password is hunter22x", "hunter22x"],
    ["[it](https://files.example.org/a?token=hunter22x), then", "hunter22x"],
    ["https://files.example.org/a?token=hunt,er22x;yz(1)2, then", "hunt,er22x;yz(1)2"],
    ['<a href="https://files.example.org/a?b=1&amp;X-Amz-Signature=hunter22x&amp;c=2">', "hunter22x"],
    ['{"url":"https://files.example.org/a?b=1\\u0026sig=hunter22x"}', "hunter22x"],
    ["https://maps.example.org/a?key=Kd83hfKQ02nfmLqP7 and on", "Kd83hfKQ02nfmLqP7"],
    ["https://files.example.org/a?b=1&auth=hunter22x", "hunter22x"],
    ["https://files.example.org/a?user_token=hunter22x", "hunter22x"],
  ])("in %j only the secret itself is found", (text, secret) => {
    expect(found(text)).toEqual([secret]);
  });

  test("plain words, ids, dates, masked values and page tokens are not secrets", () => {
    for (const text of [
      "task-manager is a password manager",
      "order 1234567890123456",
      "2026-01-01T00:00:00Z",
      "password: ****",
      "token: <your token>",
      "sk-8",
    ])
      expect([text, found(text)]).toEqual([text, []]);
    for (const name of ["next_page_token", "max_tokens", "keyboard", "primary_key", "tokens"])
      expect([name, isSecretName(name)]).toEqual([name, false]);
    for (const name of ["password", "apiKey", "access_token", "clientSecret", "Authorization", "cvv"])
      expect([name, isSecretName(name)]).toEqual([name, true]);
  });

  test("addresses and numbers reserved for examples are not personal data", () => {
    expect([findEmails("ada@example.com"), findPhones("+1-555-0123"), findPhones("2026-01-01 10:00 192.168.10.12")]).toEqual([[], [], []]);
    expect([findEmails("ada@firm.co.uk").length, findPhones("+49 170 1234567").length, findPhones("(212) 456-7890").length]).toEqual([
      1, 1, 1,
    ]);
  });

  test("an id is not replaced inside longer ids or numbers, and keeps its format", () => {
    const text = redacted([
      call({ order_id: "ORD-1234", note: "ORD-1234, ORD-12345 and XORD-1234", count: 12345, invoice_id: 98765 }),
      user("98765 of 98765.50"),
    ]);
    const { call: made } = JSON.parse(text)[0];
    expect(made.input.order_id).toMatch(/^ORD-[1-9]\d{3}$/u);
    expect(made.input.note).toBe(`${made.input.order_id}, ORD-12345 and XORD-1234`);
    expect(made.input.count).toBe(12345);
    expect(JSON.parse(text)[1].content).toBe(`${made.input.invoice_id} of 98765.50`);
  });

  test("UUIDs stay UUIDs, ids of one conversation stay distinct, and keys of objects follow", () => {
    const ids = Array.from({ length: 300 }, (_, at) => `K${String(at).padStart(3, "0")}`);
    const uuid = "123e4567-e89b-42d3-a456-426614174000";
    const [made] = JSON.parse(redacted([call({ uuid, ids, table: { K001: 1 } })]));
    const { input } = made.call;
    expect(input.uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/u);
    expect(input.uuid).not.toBe(uuid);
    expect(new Set(input.ids).size).toBe(300);
    expect(Object.keys(input.table)).toEqual([input.ids[1]]);
  });

  test("values in JSON within a text are found by their keys too, and reasoning is left out", () => {
    const text = redacted([
      user('{"customer": {"name": "Grace Hopper", "email": "g@navy.mil"}, "password": "hunter22x"}'),
      call({ a: "hunter22x", by: "Grace" }),
    ]);
    expect(text).not.toMatch(/Grace|Hopper|navy|hunter22x|reasoning/u);
  });

  test("images and audio are left out when anything is redacted", () => {
    const image = { role: "user", at: 0, content: [{ type: "image", mediaType: "image/png", data: "AAAA" }] } as const;
    expect(redacted([image])).not.toContain("AAAA");
    expect(redacted([image], "none")).toContain("AAAA");
  });

  test("hostile names and values are handled safely, and time is linear in the length of the text", () => {
    const hostile = JSON.parse('{"__proto__": {"password": "hunter22x"}, "constructor": "toString", "id": "__proto__1", "email": "a@b"}');
    const before = Object.getOwnPropertyNames(Object.prototype).length;
    const text = redacted([call(hostile), user("__proto__1 $& $1 \\")]);
    expect(text).not.toContain("hunter22x");
    expect(text).toContain("$& $1");
    expect(Object.getOwnPropertyNames(Object.prototype)).toHaveLength(before);
    for (const piece of ["a.", "1-", "password ", "-----BEGIN ", "eyJ", "sk-", "a@", "+1 (", "://a:", '"', "Ada "])
      redacted([user(piece.repeat(50_000))]);
    let deep: JsonObject = { password: "hunter22x" };
    for (let depth = 0; depth < 500; depth++) deep = { deep };
    expect(redacted([call(deep)])).not.toContain("hunter22x");
  });

  test(`${MANY} names and ids in one conversation are replaced`, () => {
    const items = Array.from({ length: MANY }, (_, at) => ({
      customer_id: `cus_${100_000 + at}`,
      customer_name: `Grace N${Array.from(String(at), (digit) => "abcdefghij".charAt(Number(digit))).join("")}`,
    }));
    expect(redacted([call({ items })])).not.toMatch(/"cus_10000\d"|Grace/u);
  });
});
