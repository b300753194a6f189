import { join } from "node:path";
import { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { fitLines, toOneLine, wrap } from "../../src/cli/terminal/terminal-text.ts";
import { countColumns } from "../../src/cli/terminal/text-width.ts";
import { folderWith } from "./run-haft.ts";
import { lines } from "./session-project.ts";
import { IN_CI, inCI } from "../ci.ts";

const WIDE = "天気を調べて、結果を短い文で返します。".repeat(4);

const SHOP = `
const tool = (name, effects, execute, more = {}) => ({ name, description: ${JSON.stringify(WIDE)}, inputSchema: { type: "object" }, effects, execute, ...more });
export const a = tool("a_name_that_is_far_longer_than_the_column_for_names", { reads: [], writes: [] }, () => "answer ".repeat(40), {
  inputSchema: { type: "object", properties: { city: { type: "string", description: ${JSON.stringify(WIDE)} }, "単位と書式": { enum: ["celsius", "fahrenheit"] } } },
  outputSchema: { type: "array", items: { type: "object", properties: { temperature: { type: "number", description: "degrees ".repeat(20) } } } },
});
export const weather = tool("weather", { reads: ["sky:all"] }, () => ${JSON.stringify(WIDE)});
export const wipe = tool("wipe", { writes: ["shelf:all"], destructive: true }, () => "wiped");
export const careless = { name: "careless", description: "Declares nothing.", inputSchema: { type: "object" }, execute: () => ({ rows: [1, 2, 3], note: "x".repeat(300) }) };
export const fails = tool("fails", { reads: [] }, () => { throw new Error("The server of the weather office did not answer in the time that it was given: ${WIDE}"); });
`;

const TALK = lines(
  { role: "user", content: WIDE },
  {
    role: "assistant",
    content: "I look at the sky, and at much else besides, before I say anything about it at all.",
    calls: [
      { name: "shop::weather", input: { city: "名古屋市とその周辺の地域".repeat(5) } },
      { name: "shop::a_name_that_is_far_longer_than_the_column_for_names", input: { city: "x".repeat(200) } },
      { name: "shop::wipe" },
      { name: "shop::careless" },
      { name: "shop::careless" },
      { name: "shop::fails" },
      { name: "shop::waether" },
    ],
  },
  { role: "approver", answer: "deny" },
);

const folder = folderWith({
  "haft.toml": `[store]\npath = "haft.db"\n\n[toolsets.shop]\ntype = "module"\npath = "./shop.mjs"\n\n[toolsets.gone]\ntype = "file"\npath = "./${"deep/".repeat(20)}missing.yaml"\n`,
  "shop.mjs": SHOP,
  "talk.jsonl": TALK,
  "bad.jsonl": `{"role": "user", "content": 1, "note": "${"x".repeat(100)}"}\n`,
});

/** What a terminal shows of one command line; every question is answered with "y". */
async function shownAt(columns: number, args: readonly string[]): Promise<string> {
  let shown = "";
  const terminal = { write: (text: string) => void (shown += text), isTTY: true, columns };
  await runCli([...args, ...(args[0] === "--help" ? [] : ["--config", join(folder, "haft.toml")])], {
    stdout: terminal,
    stderr: terminal,
    stdin: Readable.from([]),
    ask: async () => "y",
    environment: {},
    signal: new AbortController().signal,
  });
  return shown;
}

const LONG = "shop::a_name_that_is_far_longer_than_the_column_for_names";
const COMMANDS: readonly (readonly string[])[] = [
  ["list"],
  ["search", "name", "weather"],
  ["info", LONG],
  ["info", "shop::nothing_of_the_kind"],
  ["check"],
  ["call", LONG, '{"city": 3, "unknown": true}'],
  ["call", "shop::fails"],
  ["run", join(folder, "talk.jsonl")],
  ["run", join(folder, "talk.jsonl"), "--simulate"],
  ["run", join(folder, "talk.jsonl"), "--session", "a-session-with-a-name-that-is-wider-than-a-terminal-of-forty-columns"],
  ["run", join(folder, "bad.jsonl")],
  ["sessions", "list"],
  ["sessions", "check"],
  ["sessions", "show", "a-session-with-a-name-that-is-wider-than-a-terminal-of-forty-columns"],
  ["lock"],
  ["--help"],
  ["list", "--no-such-option-as-this-one-has-ever-been-given-to-any-command-line"],
];

describe.runIf(inCI)(`no line of any command is wider than the terminal ${IN_CI}`, () => {
  test.each([40, 60, 83])("at %i columns", async (columns) => {
    const tooWide: string[] = [];
    for (const args of COMMANDS) {
      const shown = stripVTControlCharacters(await shownAt(columns, args));
      expect(shown, args.join(" ")).not.toBe("");
      for (const line of shown.split(/[\n\r]/u)) if (columnsByTable(line) > columns) tooWide.push(`${args.join(" ")}: ${line}`);
    }
    expect(tooWide).toEqual([]);
  });

  test("warnings about a tool are printed in full, and a word is split only if it cannot be moved to the next line", async () => {
    const shown = stripVTControlCharacters(await shownAt(60, ["run", join(folder, "talk.jsonl")]));
    expect(shown.replaceAll(/\s+/gu, " ")).toContain("declares no effects.");
    expect(shown.split("\n").filter((line) => /^\s*(?:Declare|Decl|what|wh)$/u.test(line))).toEqual([]);
  });
});

describe("columns of text", () => {
  test.each([
    ["plain", 5],
    ["天気", 4],
    ["e\u0301", 1],
    ["\u{1f468}\u200d\u{1f469}\u200d\u{1f467}", 2],
    ["\u{1f1e9}\u{1f1ea}", 2],
    ["❤\ufe0f", 2],
    ["\u001b[31mred\u001b[39m", 3],
    ["한국어", 6],
    ["ｶﾅ", 2],
    ["", 0],
  ])("%j takes %i", (text, columns) => {
    expect(countColumns(text)).toBe(columns);
  });

  test("lines are wrapped and cut by columns, not by characters", () => {
    expect(wrap("天気 is fine", 6)).toEqual(["天気", "is", "fine"]);
    expect(wrap("天気予報", 5)).toEqual(["天気", "予報"]);
    expect(toOneLine("天気予報", 6)).toBe("天気…");
  });

  test("continuation lines are indented below the first, after its mark, and keep its colour", () => {
    expect(fitLines("  ? #1  May the tool run now", 16)).toBe("  ? #1  May the\n        tool run\n        now");
    expect(fitLines("\u001b[31mone two\u001b[39m", 4)).toBe("\u001b[31mone\ntwo\u001b[39m");
  });

  test("a word of very many characters is wrapped in linear time", () => {
    const count = inCI ? 1_000_000 : 100_000;
    expect(wrap("天".repeat(count), 60)).toHaveLength(Math.ceil(count / 30));
  });
});

/** Counted without the code under test; every wide character of these tests is in the table. */
function columnsByTable(line: string): number {
  return Array.from(line).reduce((sum, character) => sum + (/[\u3000-\u9fff\uff01-\uff60]/u.test(character) ? 2 : 1), 0);
}
