import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUNDLE } from "../bundled-program.ts";
import { inCI } from "../ci.ts";
import { promisedOutput, runNode } from "./example-output.ts";
import { guideBlocks, guidePrograms, unwholePages } from "./guide-programs.ts";
import { readTree } from "./source-tree.ts";

/** Pages whose blocks are not whole programs yet. The list only shrinks. */
const UNFINISHED = new Set([
  "docs/guides/choose-tools-for-generated-data.md",
  "docs/guides/configure-with-a-file.md",
  "docs/guides/record-and-replay.md",
  "docs/guides/simulate-tools.md",
  "docs/guides/take-tools-from-files.md",
]);

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Those of the API show signatures, which are no programs. */
const documents = new Map(
  [...readTree("README.md"), ...readTree("docs/**/*.md")].filter(([path]) => !path.startsWith("docs/reference/api/")),
);
const blocks = guideBlocks(documents);
const programs = guidePrograms(blocks, UNFINISHED);
/** Examples without their first comment and their output: what a test runs already. */
const examples = new Set([...readTree("examples/**/*.ts").values()].map(programOfExample));
const runnable = [...programs].filter(([, { kind, code }]) => kind === "program" && (inCI || !examples.has(code)));

/** What a program of the documents may import beside the package and Node. */
const PACKAGES = [
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/server-everything",
  "@types/node",
  "@langchain/core",
  "@openai/agents",
  "@valibot/to-json-schema",
  "ai",
  "arktype",
  "valibot",
  "zod",
];
/** What their programs import that a migration starts from, and only the benchmark installs. */
const PEERS = ["@mastra/core", "@langchain/langgraph"];
/** The one class of LangChain's package for Anthropic, which nothing here installs. */
const CHAT_ANTHROPIC = `declare module "@langchain/anthropic" {
  import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
  export const ChatAnthropic: new (options: { model: string }) => BaseChatModel;
}
`;
/** What a user's project checks its programs with. */
const COMPILER = { target: "es2024", module: "nodenext", strict: true, skipLibCheck: true, noEmit: true, types: ["node"] };

let project = "";

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "haft-guides-")); // Node runs no TypeScript below node_modules
  writeFileSync(join(project, "package.json"), '{ "type": "module", "private": true }');
  link("haft", BUNDLE);
  for (const name of PACKAGES) link(name, join(root, "node_modules", name));
  writeFileSync(join(project, "chat-anthropic.d.ts"), CHAT_ANTHROPIC);
  for (const name of PEERS.filter(isInstalled)) link(name, join(root, "bench/node_modules", name));
  for (const [file, { code }] of [...programs].filter(([, { code }]) => canBeChecked(code)))
    writeFileSync(join(project, file), `${code}\n`);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

test("every TypeScript block of a finished page is a whole program, or a part of one on its page", () => {
  expect(unwholePages(blocks, UNFINISHED)).toEqual([]);
});

test("the programs of the documents type-check in a project that has the package", () => {
  if (inCI) compile("-p", join(root, "tsconfig.build.json"), "--outDir", join(BUNDLE, "dist"), "--declarationMap", "false");
  // Where the declarations are not built the source stands for them, which is written for the options of this project.
  const compiler = inCI
    ? { compilerOptions: COMPILER }
    : { extends: join(root, "tsconfig.json"), compilerOptions: { paths: sourcePaths() } };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ ...compiler, include: ["*.ts"] }));
  compile("-p", join(project, "tsconfig.json"));
}, 300_000);

describe.skipIf(runnable.length === 0)(`the programs of the documents, as pasted`, () => {
  test.concurrent.each(runnable)(
    "%s runs and prints what is shown below it",
    async (file, { output }) => {
      const { exitCode, shown } = await runNode([file], project);
      expect(exitCode, shown).toBe(0);
      if (output !== undefined) expect(`\n${shown}\n`).toContain(`\n${output}\n`);
    },
    60_000,
  );
});

test("a program without imports, a fragment of no program, a page that is done and one that is gone are found", () => {
  const whole = '```ts\nimport { a } from "haft/b";\n```\n';
  const pages = { "a.md": `${whole}\n\`\`\`ts key\na();\n\`\`\`\n`, "b.md": "```ts fragment\na();\n```\n", "c.md": whole };
  expect(unwholePages(guideBlocks(new Map(Object.entries(pages))), new Set(["c.md", "d.md"]))).toEqual([
    "a.md:5: a program without an import of the package",
    "b.md:1: a fragment of no program of the page",
    "c.md: every block is whole; take the page off the list",
    "d.md: is on the list and has no blocks",
  ]);
});

test("the output of a block is the first text below it, up to the next TypeScript", () => {
  const page = "```ts\na\n```\n\nText.\n\n```text\nb\n```\n\n```ts\nc\n```\n\n```ts\nd\n```\n\n```text\ne\n```\n";
  expect(guideBlocks(new Map([["a.md", page]])).map(({ code, output }) => [code, output])).toEqual([
    ["a", "b"],
    ["c", undefined],
    ["d", "e"],
  ]);
});

function isInstalled(peer: string): boolean {
  return existsSync(join(root, "bench/node_modules", peer));
}

function canBeChecked(code: string): boolean {
  return PEERS.every((peer) => isInstalled(peer) || !code.includes(`from "${peer}`));
}

function link(name: string, target: string): void {
  const place = join(project, "node_modules", name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(target, place, "junction");
}

/** The entries of the package, by the names that a program imports them by. */
function sourcePaths(): Record<string, readonly string[]> {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const paths: Record<string, readonly string[]> = {};
  for (const [entry, target] of Object.entries<Record<string, string>>(exports)) {
    const file = target["haft-source"];
    if (file !== undefined) paths[entry.replace(".", "haft")] = [join(root, file)];
  }
  return paths;
}

function compile(...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync("tsc", args, { cwd: root, encoding: "utf8", shell: process.platform === "win32" });
  expect(status, `${stdout}${stderr}`).toBe(0);
}

function programOfExample(text: string): string {
  const program = text.replace(/^\/\*\*(?:[^*]|\*(?!\/))*\*\/\n/u, "");
  return (promisedOutput(program) === undefined ? program : program.slice(0, program.lastIndexOf("\n/* Prints:\n"))).trimEnd();
}
