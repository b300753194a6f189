import { expect, test } from "vitest";
import { blocksOf, foreignBlocks, haftCommands, promisedOutput, runFile } from "./example-output.ts";
import { readTree } from "./source-tree.ts";
import { HAFT } from "../bundled-program.ts";
import { inCI } from "../ci.ts";

/** The demo has a test of its own, and the page of the command line shows commands of the demo. */
const examples = new Map(
  [...readTree("examples/*.ts"), ...readTree("examples/guides/*.ts")].filter(([path]) => path !== "examples/demo.ts"),
);
const documents = new Map(
  [...readTree("*.md"), ...readTree("docs/**/*.md")].filter(
    ([path]) => path !== "docs/guides/command-line.md" && !path.startsWith("docs/reference/api/"),
  ),
);
const promises = [...examples.values()].map((text) => promisedOutput(text) ?? "");
const commands = haftCommands(blocksOf(documents, "console"));

/** All in CI, elsewhere some of them: each is a process of its own. */
const tried = [...examples].filter((_, index) => inCI || index % 24 === 0);
const triedCommands = commands.filter((_, index) => inCI || index % 18 === 0);

test.concurrent.each(tried)(
  "%s exits with 0 and prints what its last lines say",
  async (path, text) => {
    const { exitCode, shown } = await runFile(path);
    expect(exitCode, shown).toBe(0);
    expect(shown).toBe(promisedOutput(text));
  },
  60_000,
);

test("no example has more than 64 lines", () => {
  const long = [...examples].filter(([, text]) => text.trimEnd().split("\n").length > 64).map(([path]) => path);
  expect(long).toEqual([]);
});

test("every text block of the documents is printed by an example", () => {
  expect(foreignBlocks(blocksOf(documents, "text"), promises)).toEqual([]);
});

test.each(["toml", "yaml", "json"])("every %s block of the documents is found in a file of the examples", (language) => {
  const files = [...readTree(`examples/**/*.${language}`).values()];
  expect(foreignBlocks(blocksOf(documents, language), files)).toEqual([]);
});

test.concurrent.each(triedCommands)(
  "$place: haft $args prints the output shown below it, in the folder examples/config",
  async ({ args, output }) => {
    const { shown } = await runFile(HAFT, args, "examples/config");
    expect(shown).toBe(output);
  },
  60_000,
);

test("a block that no program prints is found, and one that is printed in part is not", () => {
  const page = "# Page\n\n```text\ntwo\nthree\n```\n\n```text\ntw\n```\n";
  expect(foreignBlocks(blocksOf(new Map([["page.md", page]]), "text"), ["one\ntwo\nthree\n"])).toEqual(["page.md:8"]);
});

test("a console block is parsed into commands with their output", () => {
  const page = "```console\n$ npm start\nHello\n$ haft call a::b '{\"c\": 1}'\n2\n\n3\n$ haft check\n```\n";
  expect(haftCommands(blocksOf(new Map([["page.md", page]]), "console"))).toEqual([
    { place: "page.md:1", args: ["call", "a::b", '{"c": 1}'], output: "2\n\n3" },
    { place: "page.md:1", args: ["check"], output: "" },
  ]);
});

test("an example that states no output is distinguished from one that prints nothing", () => {
  expect([promisedOutput("code();\n"), promisedOutput("code();\n\n/* Prints:\na\nb\n*/\n")]).toEqual([undefined, "a\nb"]);
});
