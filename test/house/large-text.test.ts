import { setFlagsFromString } from "node:v8";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fitLines, toOneLine, safeText, wrap, wrapAfter } from "../../src/cli/terminal/terminal-text.ts";
import { copyJson } from "../../src/core/base/json.ts";
import { findJsonProblem } from "../../src/core/base/json-problem.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import { readEvent } from "../../src/core/recording/read-event.ts";
import { isToolError } from "../../src/core/error.ts";
import { stripControlCharacters } from "../../src/processes/stderr-tail.ts";
import { parseMessage } from "../../src/engine/mcp/message-lines.ts";
import { excerpt } from "../../src/engine/rest/answer-text.ts";
import { readBase64 } from "../../src/engine/rest/base64.ts";
import { messageBytes } from "../../src/history/message-bytes.ts";
import { extractDataUrls } from "../../src/policy/results/extract-data-urls.ts";
import { LargeResultStore } from "../../src/policy/results/large-result-store.ts";
import { suspiciousText } from "../../src/trust/suspicious-text.ts";
import { truncateResult } from "../../src/policy/results/truncate-result.ts";
import { escapeInvisibleJson } from "../../src/core/base/escape-invisible.ts";
import { estimateJsonBytes } from "../../src/policy/results/estimate-bytes.ts";
import { coerceText, foldKey, findSimilarMember } from "../../src/schema/repair/coerce.ts";
import { fixJsonText } from "../../src/schema/repair/fix-json-text.ts";
import { mendJsonText } from "../../src/schema/json-text/mend-json-text.ts";
import { readPartialJson } from "../../src/schema/repair/partial-json.ts";
import { splitLines } from "../../src/toolsets/notebook/notebook-file.ts";
import { parseJsonPath } from "../../src/toolsets/files/json-path.ts";
import { readLiteral } from "../../src/wire/text/literal.ts";
import { guessValue } from "../../src/wire/text/typed-value.ts";
import { inCI } from "../ci.ts";

/** V8's patterns overflow from about 5.6 million characters on. */
const CHARS = 6 * 1024 * 1024;

/** Text that goes on for megabytes, each in a way that some pattern repeats. */
const TEXTS: Readonly<Record<string, string>> = {
  letters: "A".repeat(CHARS),
  digits: `1${"0".repeat(CHARS)}`,
  "digits with dots": "1.".repeat(CHARS / 2),
  spaces: `${" ".repeat(CHARS)}x`,
  "line ends": "\n".repeat(CHARS),
  backslashes: "\\".repeat(CHARS),
  quotes: '"'.repeat(CHARS),
  "an open string": `"${"a".repeat(CHARS)}`,
  "a string of escapes": `"${String.raw`\u0061`.repeat(CHARS / 8)}"`,
  brackets: "[".repeat(CHARS),
  "brackets and quotes": '["'.repeat(CHARS / 2),
  "open tags": "<a".repeat(CHARS / 2),
  colons: "a:".repeat(CHARS / 2),
  "escape sequences": "\u001b[0;".repeat(CHARS / 8),
  "an image": `data:image/jpeg;base64,/9j/${"A".repeat(CHARS)}`,
  "many images": "data:image/png;base64,iVBORw0KGgoAAAAA ".repeat(CHARS / 64),
  "half images": "data:image/png;base64,".repeat(CHARS / 32),
  "a JSON Pointer": `/${"a".repeat(CHARS)}`,
  "a path": `$["${"a".repeat(CHARS)}"]`,
  "an open link": `\u001b]8${";a".repeat(CHARS / 2)}`,
  accents: "\u0301".repeat(CHARS),
  emoji: "😀".repeat(CHARS / 2),
};

const STATE_CHANGE = { type: "state-change", sessionId: "s", turnId: "t", callId: "c", at: 0, toolset: "notes", key: "k" };
const kept = new LargeResultStore({});
const handle = kept.store("session", "call", { a: 1 }, undefined);

/** What reads text that models, tools, servers and files give, however long. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  extractDataUrls: (text) => extractDataUrls({ text }, undefined),
  truncateResult: (text) => truncateResult({ text }, undefined, 32_768, () => ""),
  weighJson: (text) => estimateJsonBytes({ text }),
  visibleJson: (text) => escapeInvisibleJson(text),
  messageBytes: (text) => messageBytes({ role: "user", content: text, at: 0 }),
  suspiciousText: (text) => suspiciousText({ name: "t", description: text.slice(0, CHARS / 16), inputSchema: {} }),
  copyJson: (text) => copyJson({ text }),
  parseJson: (text) => parseJson(text),
  findJsonFault: (text) => findJsonProblem(text),
  readEvent: (text) => readEvent({ ...STATE_CHANGE, patch: [{ op: "remove", path: text }] }, "it"),
  readPartialJson: (text) => readPartialJson(text),
  fixJsonText: (text) => fixJsonText(text),
  mendJsonText: (text) => mendJsonText(text),
  coerceText: (text) => coerceText(text, ["number", "integer", "boolean", "null"]),
  foldKey: (text) => foldKey(text),
  readLiteral: (text) => readLiteral(text),
  guessValue: (text) => guessValue(text),
  "linesOf a notebook": (text) => splitLines(text),
  parsePlace: (text) => parseJsonPath(text),
  readBase64: (text) => readBase64(text, "file"),
  "parseJson, with long integers": (text) => parseJson(`[1234567890123456789,${JSON.stringify(text)}]`, { longIntegers: "string" }),
  excerpt: (text) => excerpt(text, 200),
  printable: (text) => stripControlCharacters(text),
  parseMessage: (text) => parseMessage(text),
  safeText: (text) => safeText(text),
  oneLine: (text) => toOneLine(text, 80),
  nearestMember: (text) => findSimilarMember(text, ["a"]),
  fitLines: (text) => fitLines(text, 80),
  wrapAfter: (text) => wrapAfter("note: ", text, 80),
  wrap: (text) => wrap(text, 80),
  "read_result, its path": (text) => kept.read("session", handle, { path: text }),
};

/** These look at what a person takes for a character, and break lines by the same function: each gets a sixth of the texts whole, in CI; the others a third of them. */
const SLOW = ["fitLines", "wrapAfter", "wrap"];

/** As Node compiles patterns once it has compiled a megabyte of them: each repetition then remembers every step on the stack. */
beforeAll(() => setFlagsFromString("--no-regexp-optimization"));
afterAll(() => setFlagsFromString("--regexp-optimization"));

describe("F1.19 text of several megabytes is read, or refused", () => {
  test.each(Object.keys(READERS))("by %s, whatever its content", { timeout: 240_000 }, (reader) => {
    // In CI every reader is given every text, a third of them whole and 256 KB of the others; elsewhere each another one of them.
    const turn = Object.keys(READERS).indexOf(reader);
    const texts = Object.entries(TEXTS).filter((_, index) => inCI || (index + turn) % 22 === 0);
    const turnOfSlow = SLOW.indexOf(reader);
    const outcomes = texts.map(([name, text], index) => {
      const isWhole = turnOfSlow === -1 ? !inCI || (index + turn) % 3 === 0 : inCI && index % (2 * SLOW.length) === turnOfSlow;
      const given = isWhole ? text : text.slice(0, 256 * 1024);
      return `${name}: ${outcome(() => READERS[reader]?.(given))}`;
    });
    expect(outcomes.filter((line) => !/: (?:read|refused)$/u.test(line))).toEqual([]);
  });

  test("by extractDataUrls, with an image of 32 MB", () => {
    const data = `/9j/${"A".repeat(4 * CHARS - 4)}`;
    const lifted = extractDataUrls(`a photo: data:image/jpeg;base64,${data}.`, undefined);
    expect(lifted?.map((part) => (part.type === "image" ? part.data.length : part))).toEqual([
      { type: "text", text: "a photo: [image 1]." },
      data.length,
    ]);
  });
});

function outcome(read: () => unknown): string {
  try {
    read();
    return "read";
  } catch (thrown: unknown) {
    return isToolError(thrown) ? "refused" : `threw ${String(thrown)}`;
  }
}
