import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUNDLE } from "../bundled-program.ts";
import { testInCI } from "../test-in-ci.ts";
import { builtDeclarations } from "./declarations.ts";
import { promisedOutput, runNode } from "./example-output.ts";
import { guideBlocks, guidePrograms, partsOfPrograms } from "./guide-programs.ts";
import { readTree } from "./source-tree.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Those of the API show signatures, which are no programs. */
const documents = new Map(
  [...readTree("README.md"), ...readTree("docs/**/*.md")].filter(([path]) => !path.startsWith("docs/reference/api/")),
);
const blocks = guideBlocks(documents);
const programs = guidePrograms(blocks);
/** Examples without their first comment and their output: what a test runs already. */
const examples = new Set([...readTree("examples/**/*.ts").values()].map(programOfExample));
const runnable = [...programs].filter(([, { kind, code }]) => kind === "program" && !examples.has(code));

/** What a program of the documents may import beside the package and Node. */
const PACKAGES = [
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/sdk", // which the reference servers bring
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/server-everything",
  "@opentelemetry/sdk-node",
  "@types/node",
  "@langchain/core",
  "@openai/agents",
  "@valibot/to-json-schema",
  "ai",
  "arktype",
  "valibot",
  "zod",
];
/** What an entry of Haft needs beside it. */
const NEEDED: ReadonlyMap<string, string> = new Map([
  ["haft/mcp", "@modelcontextprotocol/client"],
  ["haft/mcp-server", "@modelcontextprotocol/server"],
  ["haft/server", "hono"],
  ["haft/postgres", "pg"],
  ["haft/program", "quickjs-emscripten"],
  ["haft/telemetry", "@opentelemetry/api"],
]);
/** What their programs import that a migration starts from, and only the benchmark installs. */
const PEERS = ["@mastra/core", "@langchain/langgraph"];
/** The names that those programs import from packages that nothing here installs. */
const NOT_INSTALLED = `declare module "@langchain/anthropic" {
  import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
  export const ChatAnthropic: new (options: { model: string }) => BaseChatModel;
}
declare module "@langchain/langgraph-checkpoint-sqlite" {
  import type { BaseCheckpointSaver } from "@langchain/langgraph";
  export const SqliteSaver: { fromConnString(path: string): BaseCheckpointSaver };
}
declare module "@mastra/libsql" {
  export const LibSQLStore: new (options: { id: string; url: string }) => object;
}
declare module "@mastra/memory" {
  import type { MastraMemory } from "@mastra/core/memory";
  export const Memory: new (options: { storage: object }) => MastraMemory;
}
declare module "p-retry" {
  export default function pRetry<Value>(run: () => Promise<Value>, options: { retries: number }): Promise<Value>;
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
  writeFileSync(join(project, "not-installed.d.ts"), NOT_INSTALLED);
  for (const name of PEERS.filter(isInstalled)) link(name, join(root, "bench/node_modules", name));
  for (const [file, { code }] of [...programs].filter(([, { code }]) => canBeChecked(code)))
    writeFileSync(join(project, file), `${code}\n`);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

test("every TypeScript block of the documents is a whole program", () => {
  expect(partsOfPrograms(blocks)).toEqual([]);
});

testInCI("the programs of the documents type-check in a project with the package installed", { timeout: 300_000 }, async () => {
  await builtDeclarations();
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER, include: ["*.ts"] }));
  compile("--singleThreaded", "-p", join(project, "tsconfig.json"));
});

describe.skipIf(runnable.length === 0)(`the programs of the documents, as pasted`, () => {
  test.concurrent.each(runnable)(
    "%s runs and prints the output shown below it",
    async (file, { output }) => {
      const { exitCode, shown } = await runNode([file], project);
      expect(exitCode, shown).toBe(0);
      if (output !== undefined) expect(`\n${shown}\n`).toContain(`\n${output}\n`);
    },
    60_000,
  );
});

test("a guide has the install command for each package that its programs import or need", () => {
  const missing = [...documents]
    .filter(([page]) => page.startsWith("docs/guides/"))
    .flatMap(([page, text]) => {
      const programsOfPage = blocks.filter((block) => block.page === page && block.kind !== "peer");
      const said = new Set([...text.matchAll(/npm install ([^`\n]+)/gu)].flatMap(([, names = ""]) => names.split(" ")));
      return [...new Set(programsOfPage.flatMap(({ code }) => neededPackages(code)))]
        .filter((name) => !said.has(name))
        .map((name) => `${page}: npm install ${name}`);
    });
  expect(missing).toEqual([]);
});

test("the packages that a program needs are found", () => {
  const code =
    'import { a } from "haft/mcp";\nimport b from "node:fs";\nimport type { c } from "@x/y/z";\nimport { d } from "haft";\nimport "q";';
  expect(neededPackages(code)).toEqual(["@modelcontextprotocol/client", "@x/y"]);
});

test("a part of a program is recognized by a missing import; a program of another framework is ignored", () => {
  const page = '```ts\nimport { a } from "haft/b";\n```\n\n```ts key\na();\n```\n\n```ts peer\na();\n```\n';
  expect(partsOfPrograms(guideBlocks(new Map([["a.md", page]])))).toEqual(["a.md:5"]);
});

test("a block of an unknown kind is reported with its place", () => {
  expect(() => guideBlocks(new Map([["a.md", "```ts fragment\na();\n```\n"]]))).toThrow('a.md:1: no kind of block is called "ts fragment"');
});

test("the output of a block is the first text block below it, up to the next TypeScript block", () => {
  const page = "```ts\na\n```\n\nText.\n\n```text\nb\n```\n\n```ts\nc\n```\n\n```ts\nd\n```\n\n```text\ne\n```\n";
  expect(guideBlocks(new Map([["a.md", page]])).map(({ code, output }) => [code, output])).toEqual([
    ["a", "b"],
    ["c", undefined],
    ["d", "e"],
  ]);
});

/** What `from` imports, but for Node and Haft: of an entry of Haft the package that it needs. */
function neededPackages(code: string): readonly string[] {
  return [...code.matchAll(/ from "([^".][^"]*)";$/gmu)].flatMap(([, name = ""]) => {
    if (name.startsWith("node:")) return [];
    if (/^haft(?:\/|$)/u.test(name)) return NEEDED.get(name) ?? [];
    return name.split("/", name.startsWith("@") ? 2 : 1).join("/");
  });
}

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

function compile(...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync("tsc", args, { cwd: root, encoding: "utf8", shell: process.platform === "win32" });
  expect(status, `${stdout}${stderr}`).toBe(0);
}

function programOfExample(text: string): string {
  const program = text.replace(/^\/\*\*(?:[^*]|\*(?!\/))*\*\/\n/u, "");
  return (promisedOutput(program) === undefined ? program : program.slice(0, program.lastIndexOf("\n/* Prints:\n"))).trimEnd();
}
