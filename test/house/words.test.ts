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
  [/\bWhat \w+ sent is\b/u, "The answer of … is"],
  [/\bthere are: /iu, "Known names: …, Expected one of: …"],
  [/\b(?:it|that|this|\}) is no (?:object|tool|reply|message|answer|name|list|key|function|event|file|string|number)\b/iu, "is not a"],
];

/** Of our own in any place: comments of the source and pages of the documentation too. */
const PROSE: readonly (readonly [found: RegExp, instead: string])[] = [
  [/\bstrangers?\b/iu, "third-party, or untrusted"],
  [/\bcalled off\b/iu, "cancelled"],
  [/\btold of\b/iu, "called with, shown"],
  [/\bwhoever\b|\bwhosoever\b/iu, "the caller, the operator, the listener"],
  [/\bladders?\b|\brungs?\b/iu, "fallback chain, answer source"],
  [/\blast words\b|\bof late\b|\bsparing\b|\bhurried\b/iu, "stderr tail, repeatedly, throttled, virtual"],
];

/** Of our own in comments and in the prose of pages; in code and in what a program prints they may be names and values. */
const DIALECT: typeof PROSE = [
  [/\b(?:nobody|somebody)\b(?!")/iu, "no one, no caller, another process, a person"],
  [/\bstands? (?:in|for|at|on|behind|before|beside|between|there|alone|under|together|twice)\b/iu, "is in, means, follows, is next to"],
  [/\b(?:goes|gone|went) on\b/iu, "continues, runs"],
  [/\banew\b/iu, "again"],
  [/\bpass(?:es|ed) over\b/iu, "ignored, skipped"],
  [/\bput aside\b/iu, "disabled"],
  [/\bbeside (?:it|its|the|those|that|their|a|an)\b/iu, "besides, next to, with"],
  [/\bis told\b|\bare told\b/iu, "gets, is notified, is sent, is shown"],
  [/\bin (?:our|its own) words\b/iu, "as text, in Haft's types"],
  [/\bcalled off\b|\bcomes? to nothing\b/iu, "cancelled, voided"],
];

/** A comment names its subject first. */
const RIDDLES: typeof PROSE = [
  [
    /^\s*(?:\/\*\*|\*|\/\/)\s*(?:What|Whatever|Whoever|Whose|Who|Nobody|Told)\b/u,
    "its subject first: The answer of …, Returns …, Options of …",
  ],
  [
    /^\s*(?:\/\*\*|\*|\/\/)\s*(?:Those|Of|So many|So|Undefined where|Set where|False where|True where)\b/u,
    "a noun or a verb first: The calls that …, Maximum number of …, Undefined if …",
  ],
  [/\bBy rejecting\b/u, "@throws …, as a rejection"],
];

/** Papers that nobody who has the package has: requirements, tickets, sources. */
const PAPERS: readonly (readonly [found: RegExp, instead: string])[] = [
  [/\bseed 00\d\b/iu, "the name of the real thing"],
  [/\b[BCFH]\d{1,2}\.\d{1,3}\b|\([A-Z]\d{2}(?:, [A-Z]\d{2})*\)/u, "no requirement number"],
  [/\bissue \d/iu, "no ticket number"],
];

/** Made by a command from comments. */
const UNREAD = ["docs/reference/api/**"];

test("messages and help texts use the field's terms instead of our own", () => {
  const found = globSync("src/**/*.{ts,tsx}")
    .sort()
    .flatMap((file) => dialectIn(readFileSync(file, "utf8")).map((line) => `${file}:${line}`));
  expect(found).toEqual([]);
});

test("comments and pages use the field's terms, and name no unpublished paper", () => {
  const pages = globSync("docs/**/*.md", { exclude: ["docs/reference/api/**"] }).flatMap((file) =>
    faultsOf(file, readFileSync(file, "utf8"), [...PROSE, ...PAPERS]),
  );
  const prose = globSync(["*.md", "docs/**/*.md"], { exclude: UNREAD }).flatMap((file) =>
    faultsOf(file, proseOf(readFileSync(file, "utf8")), DIALECT),
  );
  const sources = globSync("src/**/*.{ts,tsx}").flatMap((file) => {
    const text = readFileSync(file, "utf8");
    return [...faultsOf(file, commentsOf(text), [...PROSE, ...RIDDLES, ...DIALECT]), ...faultsOf(file, text, PAPERS)];
  });
  expect([...pages, ...prose, ...sources].sort()).toEqual([]);
});

test("string texts are checked, comments and names are not", () => {
  const source =
    '/** Of strangers. */\nimport { strangers } from "./strangers.ts";\nthrow new Error("A stranger\'s word.");\ncall("stranger"); // a stranger\nwarn(`It was called off: ${strangers}.`);\n';
  expect(dialectIn(source)).toEqual([`3: "A stranger's word." (third-party, or untrusted)`, "5: `It was called off: .` (cancelled)"]);
});

test("a comment that begins with its subject is accepted, and a riddle is reported with its line", () => {
  const source = "/** The options of a loop. */\n/** What a loop is made of. */\ncall(); // The rest.\n// What is left.\n";
  expect(faultsOf("a.ts", commentsOf(source), RIDDLES).map((fault) => fault.slice(0, 6))).toEqual(["a.ts:2", "a.ts:4"]);
});

test("the prose of a page is checked, and neither its code nor the output of programs", () => {
  const page = "It goes on.\n\n```text\nit goes on\n```\n\nCall `goes on`, then it goes on.\n";
  expect(faultsOf("a.md", proseOf(page), DIALECT).map((fault) => fault.slice(0, 6))).toEqual(["a.md:1", "a.md:7"]);
});

/** The page with its code left out, line by line. */
function proseOf(page: string): string {
  return page.replaceAll(/^```.*?^```$/gmsu, (block) => block.replaceAll(/[^\n]/gu, "")).replaceAll(/`[^`\n]*`|\]\([^)\n]*\)/gu, "");
}

/** The source with all but its comments left out, line by line. */
function commentsOf(source: string): string {
  return source
    .split("\n")
    .map((line) => (/^\s*(?:\/\*\*|\*)/u.test(line) ? line : (/(?:^|\s)\/\/ .*$/u.exec(line)?.[0] ?? "")))
    .join("\n");
}

function faultsOf(file: string, text: string, words: typeof PROSE): readonly string[] {
  return text
    .split("\n")
    .flatMap((line, index) =>
      words.filter(([found]) => found.test(line)).map(([, instead]) => `${file}:${index + 1}: ${line.trim()} (${instead})`),
    );
}

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
