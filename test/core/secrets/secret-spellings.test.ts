import { expect, test } from "vitest";
import { createRedactor } from "../../../src/core/secrets/redact.ts";
import { inProcessorTime } from "../../processor-time.ts";

const SECRET = `p"w\\x+y/z = <&'é> 9k`;
const KEY = [
  "-----BEGIN PRIVATE KEY-----",
  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
  "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
  "Zm9vYmE9",
  "-----END PRIVATE KEY-----",
  "",
].join("\n");
const redact = createRedactor({ TOKEN: SECRET, SHORT: "a1b2c3d" });
const redactKey = createRedactor({ KEY });

function escapeUnicode(text: string, characters: RegExp, write: (hex: string) => string = (hex) => hex): string {
  return text.replaceAll(characters, (character) => `\\u${write(character.charCodeAt(0).toString(16).padStart(4, "0"))}`);
}

function inUrl(write: (url: URL) => void): string {
  const url = new URL("http://h.example/");
  write(url);
  return url.href;
}

const json = JSON.stringify(SECRET);
const html = SECRET.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

test.each([
  ["as it is", SECRET],
  ["JSON", json],
  ["JSON with escaped slashes", json.replaceAll("/", "\\/")],
  ["JSON in JSON", JSON.stringify(json)],
  ["JSON in ASCII", escapeUnicode(json, /[\u007f-\uffff]/gu)],
  ["JSON as Go writes it", escapeUnicode(json, /[<>&]/gu)],
  ["JSON as C# writes it", escapeUnicode(SECRET.replaceAll("\\", "\\\\"), /["&'+<>\u007f-\uffff]/gu, (hex) => hex.toUpperCase())],
  ["a component of an address", encodeURIComponent(SECRET)],
  ["one with small digits", encodeURIComponent(SECRET).replaceAll(/%../gu, (octet) => octet.toLowerCase())],
  ["one encoded twice", encodeURIComponent(encodeURIComponent(SECRET))],
  ["a whole address", encodeURI(SECRET)],
  ["a form", String(new URLSearchParams({ q: SECRET }))],
  ["the query of a URL", inUrl((url) => (url.search = SECRET))],
  ["the path of a URL", inUrl((url) => (url.pathname = SECRET))],
  ["the password of a URL", inUrl((url) => ([url.username, url.password] = ["a", SECRET]))],
  ["HTML", html.replaceAll('"', "&quot;").replaceAll("'", "&#39;")],
  ["HTML of Python", html.replaceAll('"', "&quot;").replaceAll("'", "&#x27;")],
  ["HTML of PHP", html.replaceAll('"', "&#34;").replaceAll("'", "&#039;")],
  ["words of a shell", SECRET.replaceAll(/[^\w.]/gu, String.raw`\$&`)],
  ["one line of several", SECRET.replaceAll(" ", "\n  ")],
])("E12 a secret is found as it is written in %s", (_, text) => {
  const redacted = redact(`before ${text} after`);
  expect(redacted).toMatch(/^before .*\[TOKEN\].* after$/u);
  expect(redacted).not.toMatch(/9k/u);
});

test.each(["", "u", "us", "ann:", "Authorization: token "])(
  "E12 a secret is found in the base64 of a text that begins with %j",
  (before) => {
    for (const after of ["", ":", "::", "\n and more"])
      for (const encoding of ["base64", "base64url"] as const) {
        const encoded = Buffer.from(before + SECRET + after).toString(encoding);
        const redacted = redact(`x ${encoded} x ${encodeURIComponent(encoded)}`).split(" ");
        const decoded = [redacted[1], decodeURIComponent(redacted[3] ?? "")].map((text) =>
          Buffer.from(text ?? "", encoding).toString("latin1"),
        );
        const stars = "*".repeat(Buffer.byteLength(SECRET) - 2);
        for (const text of decoded) {
          expect(text.startsWith(before) && text.endsWith(after) && text.includes(stars)).toBe(true);
          expect(text).toHaveLength(before.length + Buffer.byteLength(SECRET) + after.length);
        }
      }
  },
);

test("base64 of a short secret also occurs elsewhere, and is kept", () => {
  const encoded = Buffer.from("a1b2c3d").toString("base64");
  expect(redact(`a1b2c3d ${encoded}`)).toBe(`[SHORT] ${encoded}`);
});

test("E12 each long line of a private key is found alone, and the key also in one line, without its last line break or cut", () => {
  const [, first = "", second = "", last = ""] = KEY.split("\n");
  expect(redactKey(`1: ${first}\n2: ${second}\n3: ${last}`)).toBe("1: [KEY]\n2: [KEY]\n3: [KEY]");
  expect(redactKey(`${KEY.replaceAll("\n", " ").trim()}.`)).toBe("[KEY].");
  expect(redactKey(`cat: ${KEY.trim()}; end`)).toBe("cat: [KEY]; end");
  expect(redactKey(`${first.slice(0, 20)}…`)).toBe("[KEY]…");
  expect(redactKey("-----BEGIN PRIVATE KEY-----")).toBe("-----BEGIN PRIVATE KEY-----");
});

test("words that have some characters of a secret are kept", () => {
  const text = 'p"w, y/z and 9k; x+y = z; MIIEvQIBAD';
  expect([redact(text), redactKey(text)]).toEqual([text, text]);
});

test("E12 a secret with escapes and white space side by side is found in each spelling", () => {
  const secrets = [String.raw`{\"a\":\"b c\"}9k`, String.raw`a\ \ + \n /&\"%20 9k`, "a + \t/\\ é 9k", String.raw`\ + 9k`];
  const spellings = [
    (text: string) => JSON.stringify(text).slice(1, -1),
    encodeURIComponent,
    (text: string) => String(new URLSearchParams({ "": text })).slice(1),
    (text: string) => text.replaceAll(/[^\w.]/gu, String.raw`\$&`),
    (text: string) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;"),
    (text: string) => text.replaceAll(/\s+/gu, " "),
  ];
  for (const secret of secrets)
    for (const spell of [(text: string) => text, ...spellings]) {
      const redacted = createRedactor({ KEY: secret })(`before:${spell(secret)}:after`);
      expect(redacted).toMatch(/^before:[\\% +250C]*\[KEY\]:after$/u);
    }
});

test("E12 a secret of signs and white space alone is found as it is, and white space is kept", () => {
  const redactSigns = createRedactor({ SIGNS: "/ + / + /" });
  expect(redactSigns("a / + / + / b            c //////////")).toBe("a [SIGNS] b            c //////////");
});

test("a text that nearly matches a secret with many escapes is searched in linear time", () => {
  const escaped = JSON.stringify(JSON.stringify({ one: "1", two: "2", three: "3", four: "4", five: "5", six: "abcdefgh" })).slice(1, -1);
  const secrets = [escaped, `${String.raw`\ `.repeat(20)}end9`, `x${" +".repeat(20)} end9`, `x${String.raw` \n`.repeat(20)} end9`];
  inProcessorTime(6_000, () => {
    for (const secret of secrets) {
      const redactOne = createRedactor({ SECRET: secret });
      for (const spelling of [secret, JSON.stringify(secret), encodeURIComponent(secret), `x${"+".repeat(100_000)}`]) {
        const text = `${spelling.replace(/(?:fgh|9)/u, "")} abcdefgh end9`;
        expect(redactOne(text)).toBe(text);
      }
    }
  });
});

test("secrets are looked for in linear time, also in text of what they consist of", () => {
  const redactAll = createRedactor({
    SIGNS: `${"\\".repeat(6)}a${"\\".repeat(5)}b""""''''++  ==  c`,
    SPACES: "a    b    c",
    TOKEN: SECRET,
    KEY,
  });
  const units = ["\\", '"', "'", " ", "+", "…", "%25", "a ", 'a\\\\"', "p", '\\"', "-----BEGIN PRIVATE KEY-----\n"];
  inProcessorTime(6_000, () => {
    for (const unit of units) {
      const text = unit.repeat(500_000 / unit.length);
      expect(redactAll(`${text} abc MIIEvQIBADANBgkqhkiG9w0BAQEFAASC`)).toContain("abc [KEY]");
    }
  });
});
