/** Messages and help say things in the words of the field: plain, literal, without riddles. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Each with what is written instead. */
const WORDS: readonly (readonly [found: RegExp, instead: string])[] = [
  [/\bstrangers?\b/iu, "third-party, or untrusted"],
  [/\bnobody is there\b|\bnobody (?:can be asked|to ask)\b/iu, "no approver is configured, there is no terminal"],
  [/\bladders?\b|\brungs?\b/iu, "fallback chain, source"],
  [/\bcalled off\b/iu, "cancelled"],
  [/\btold of\b/iu, "called with"],
  [/\btakes? no other\b|\btaking the others along\b/iu, "does not affect the others"],
  [/\bleft to the next\b/iu, "falls through to the next"],
  [/\bhas? no use (?:for|here|of)\b/iu, "is not supported, takes no"],
  [/\blast words\b/iu, "end of standard error"],
  [/\bof late\b/iu, "repeatedly, recently"],
  [/\bis another word for\b/iu, "duplicates"],
  [/\bis no usable\b|\bis no name for\b/iu, "is not a usable"],
  [/(?:^.|[.:] )(?:Whoever|Nobody|Whosoever)\b/u, "a sentence that begins with its subject"],
  [/\bsparing\b|\bhurried\b/iu, "throttled, virtual"],
  [/\bthat can never come\b|\bthat there is not\b/iu, "that does not exist"],
  [/\bseed \d{3}\b|\b[FB]\d{1,2}\.\d+\b/u, "the name of the real thing"],
];

/** Lines that are still to be rewritten, by file: no file may have more, and none that is not here may have any. */
const TO_REWRITE: Readonly<Record<string, number>> = {
  "src/cli/generate-command.ts": 1,
  "src/cli/run-cli.ts": 1,
  "src/cli/chat/chosen-model.ts": 1,
  "src/cli/chat/chat.ts": 1,
  "src/compose/taint.ts": 1,
  "src/config/build-answers.ts": 1,
  "src/config/engine-config.ts": 1,
  "src/config/lm-config.ts": 1,
  "src/core/error-codes.ts": 1,
  "src/engine/mcp/parameter-headers.ts": 1,
  "src/call/ask-approval.ts": 1,
  "src/call/attempt.ts": 1,
  "src/call/inject-fault.ts": 3,
  "src/call/fallback-chains.ts": 1,
  "src/call/rewrite-call.ts": 1,
  "src/runtime/run-calls.ts": 1,
  "src/runtime/resume-session.ts": 1,
  "src/server/mcp/exchange.ts": 1,
  "src/testing/engine-contract.ts": 2,
  "src/testing/model-contract.ts": 3,
  "src/wire/response-format.ts": 1,
  "src/wire/subset/schema-fitter.ts": 1,
};

test("no message or help text has a word of our own where the field has one", () => {
  const found = globSync("src/**/*.ts")
    .sort()
    .flatMap((file) => {
      const lines = dialectIn(readFileSync(file, "utf8")).map((line) => `${file}:${line}`);
      return lines.length > (TO_REWRITE[file] ?? 0) ? lines : [];
    });
  expect(found).toEqual([]);
});

test("a text is judged, and neither a comment nor a name", () => {
  const source =
    '/** Of strangers. */\nimport { strangers } from "./strangers.ts";\nthrow new Error("A stranger\'s word.");\ncall("stranger"); // a stranger\nwarn(`It was called off: ${strangers}.`);\n';
  expect(dialectIn(source)).toEqual([`3: "A stranger's word." (third-party, or untrusted)`, "5: `It was called off: .` (cancelled)"]);
});

/** The texts of a source with a word of the list, with their lines. */
function dialectIn(source: string): readonly string[] {
  return source.split("\n").flatMap((line, index) => {
    if (/^\s*(?:\/\*\*|\*|\/\/|import\b)/u.test(line)) return [];
    const texts = line.replaceAll(/\$\{[^}]*\}/gu, "").match(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/gu) ?? [];
    return texts
      .filter((text) => text.includes(" "))
      .flatMap((text) => WORDS.filter(([found]) => found.test(text)).map(([, instead]) => `${index + 1}: ${text} (${instead})`));
  });
}
