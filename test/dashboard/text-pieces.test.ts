/** Issue 20, E10: what others wrote is shown as it is, cut, and with what would be invisible made visible. */
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { toCurl, toTypeScript } from "../../src/dashboard/call/copy-as.ts";
import { ApiError } from "../../src/client/api-error.ts";
import { diffJsonLines } from "../../src/dashboard/diff/json-diff.ts";
import { describeFailure } from "../../src/dashboard/server/describe-failure.ts";
import { textPieces, showHiddenCharacters } from "../../src/dashboard/show/text-pieces.ts";
import { jsonTokens } from "../../src/dashboard/show/json-tokens.ts";
import { SessionLog } from "../../src/dashboard/timeline/session-log.ts";
import { formatSessionMarkdown } from "../../src/dashboard/timeline/session-markdown.ts";

describe("E10 hostile text", () => {
  const cases: readonly (readonly [what: string, text: string, shown: string])[] = [
    ["escapes of a terminal", "\u001b[31mred\u001b[0m", "␛[31mred␛[0m"],
    ["marks of direction", "a\u202egpj.exe", "a⟨202E⟩gpj.exe"],
    ["isolates", "\u2066x\u2069", "⟨2066⟩x⟨2069⟩"],
    ["invisible characters", "pay\u200bpal\u00ad", "pay⟨200B⟩pal⟨00AD⟩"],
    ["tags", "a\u{e0041}b", "a⟨E0041⟩b"],
    ["variation selectors in a row", "a\ufe01\ufe02b\u{e0101}c ✌\ufe0f", "a⟨FE01⟩⟨FE02⟩b⟨E0101⟩c ✌\ufe0f"],
    ["controls", "a\u0000b\u0008c\u007f", "a␀b␈c⟨7F⟩".replace("⟨7F⟩", "⟨007F⟩")],
    ["halves of surrogate pairs", "a\ud800b\udc00", "a⟨D800⟩b⟨DC00⟩"],
    ["line ends of every kind", "a\r\nb\rc\u2028d", "a\nb␍c⟨2028⟩d"],
    ["spaces alone", " \u00a0\u3000", "␣␣␣"],
    ["whole characters beyond the first plane", "🦊 naïve שלום", "🦊 naïve שלום"],
  ];
  test.each(cases)("%s", (_, text, shown) => {
    expect(
      textPieces(text)
        .map((piece) => piece.text)
        .join(""),
    ).toBe(shown);
  });

  test("is truncated when it is long", () => {
    expect(showHiddenCharacters("x".repeat(10_000_000), 10)).toBe(`${"x".repeat(10)}…`);
  });

  test("is not truncated within a character", () => {
    expect([9, 10, 11].map((length) => showHiddenCharacters(`${"x".repeat(9)}😀${"y".repeat(9)}`, length))).toEqual([
      "xxxxxxxxx…",
      "xxxxxxxxx…",
      "xxxxxxxxx😀…",
    ]);
  });
});

test("E10 hostile text in an error message is escaped too", () => {
  const { text, isGone } = describeFailure(new ApiError('There is no session "a\u202egpj.exe".', { status: 404 }));
  expect([text, isGone]).toEqual(['There is no session "a⟨202E⟩gpj.exe".', true]);
});

describe("E10 JSON", () => {
  const text = (value: unknown, budget = 1_000): string =>
    jsonTokens(value, budget)
      .tokens.map((token) => token.text)
      .join("");

  test("is shown as JSON.stringify would write it", () => {
    const value = { a: [1, -0.5, 'x"y', null, true, {}, []], ["__proto__"]: { b: "</script>" }, c: { d: [[]] } };
    expect(text(value)).toBe(JSON.stringify(value, undefined, 2));
  });

  test("of 10 MB takes only as much work as is shown of it", () => {
    const { tokens, isCut } = jsonTokens({ text: "y".repeat(10_000_000), list: Array.from({ length: 1_000_000 }, () => 1) }, 20_000);
    expect([isCut, tokens.length < 100, tokens.reduce((sum, token) => sum + token.text.length, 0) < 21_000]).toEqual([true, true, true]);
  });

  test("nested very deeply is truncated", () => {
    let value: unknown = "end";
    for (let depth = 0; depth < 50_000; depth++) value = [value];
    expect(text(value, 2_000_000)).toContain("[…]");
  });
});

describe("E10 truncated text contains no half of a surrogate pair", () => {
  const half = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\\ud[89a-f]/iu;
  const written = (value: unknown, budget: number): string =>
    jsonTokens(value, budget)
      .tokens.map((token) => token.text)
      .join("");

  test("in JSON, at any length", () => {
    const all = Array.from({ length: 40 }, (_, budget) => written({ "a😀b": "😀😀", "😀": ["x😀y"] }, budget));
    expect(all.filter((text) => half.test(text))).toEqual([]);
    expect(new Set(all).size).toBeGreaterThan(15);
  });

  test("in titles, saved texts and comparisons", () => {
    // Whether the first place is odd or even, one of the two texts is cut within a character.
    const found = ["😀".repeat(30_000), `x${"😀".repeat(30_000)}`].flatMap((text) => {
      const log = new SessionLog({ maxText: 30_001 });
      log.add({ type: "message-add", sessionId: "s", at: 0, message: { role: "user", content: text } });
      const call = { callId: "c", sessionId: "s", turnId: "t", at: 0 };
      log.add({ ...call, type: "call-start", call: { name: "a::b", input: { text } } });
      return [log.title, formatSessionMarkdown("s", log), JSON.stringify(diffJsonLines({ text }, { text: "" }, 100).rows)];
    });
    expect(found.map((text) => [text.includes("😀"), half.test(text)])).toEqual(found.map(() => [true, false]));
  });
});

describe("issue 20.6 a call as text that reproduces it", () => {
  const hostile = {
    url: "http://127.0.0.1:1",
    sessionId: "it's; $(id)",
    name: "a::b",
    input: { text: "it's `id` $HOME \u202e \n \u001b[2J", back: "\\" },
  };

  test("a shell parses the command as the same call, and runs nothing else", () => {
    const command = toCurl(hostile)
      .replace(/^curl -s/u, "printf '%s\\0'")
      .replace("$HAFT_TOKEN", "key");
    const words = execFileSync("sh", ["-c", command], { encoding: "utf8" }).split("\0");
    expect(words[0]).toBe("http://127.0.0.1:1/v1/sessions/it's%3B%20%24(id)/execute");
    expect(words.slice(1, 5)).toEqual(["-H", "Authorization: Bearer key", "-H", "Content-Type: application/json"]);
    expect(JSON.parse(words[6] ?? "")).toEqual({ calls: [{ name: hostile.name, input: hostile.input }] });
    expect(command.includes("\u202e")).toBe(false);
  });

  test("the program contains the call as literals", () => {
    const program = toTypeScript(hostile);
    const input = /input: (\{.*\}) \}\] \},\n\}\);/su.exec(program)?.[1] ?? "";
    expect(JSON.parse(input)).toEqual(hostile.input);
    expect(program).toContain(`params: { sessionId: ${JSON.stringify(hostile.sessionId)} }`);
    expect(program.includes("\u202e")).toBe(false);
  });
});
