/** Every kind of file that the command line reads, damaged at random: it is read, or refused in words, and never changed. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { repeated } from "../ci.ts";
import { internalsIn, mutatedFile } from "./mutated-file.ts";
import { PATIENCE_MS, PROJECT, folderWith, haft, type Finished } from "./run-haft.ts";

const example = (name: string): string => readFileSync(fileURLToPath(new URL(`../../examples/config/${name}`, import.meta.url)), "utf8");
const examples = (...names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, example(name)]));
const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
const lines = (...values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");

interface Kind {
  /** The file that is damaged. */
  readonly file: string;
  /** All files of the project, this one among them. */
  readonly files: Readonly<Record<string, string>>;
  /** Commands that read it, each of which exits with 0 while it is whole. */
  readonly commands: readonly (readonly string[])[];
  /** A command that makes the file. */
  readonly before?: readonly string[];
}

const CALL = { id: "a", name: "math::add", input: { a: 1, b: 2 } };
const PET = { $ref: "#/components/schemas/Pet" };
const DESCRIPTORS = ["descriptors/pantry.toml", "descriptors/code.ts", "descriptors/pantry/take.toml"] as const;
const KITCHEN = {
  ...examples("kitchen.yaml", "recipes.jsonl", "stubs.yaml", ...DESCRIPTORS),
  "haft.toml": `${example("tool-files.toml")}\n[runtime]\ntimeoutMs = 1_000\n[permission]\nallow = ["*"]\n[retry]\nfactor = 2\n`,
};
const FIND = ["call", "kitchen::find_recipe", '{"words":"porridge"}'] as const;
const API = {
  openapi: "3.1.0",
  info: { title: "Pets", version: "1.2.3" },
  servers: [{ url: "https://pets.example.com/v1" }],
  paths: {
    "/pets/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer", format: "int64" } }],
      get: { operationId: "getPet", responses: { 200: { content: { "application/json": { schema: PET } } } } },
    },
    "/pets": { post: { operationId: "addPet", requestBody: { content: { "application/json": { schema: PET } } } } },
  },
  components: { schemas: { Pet: { type: "object", properties: { name: { type: "string", pattern: "^[a-z]+$" }, parent: PET } } } },
};
const API_IN_YAML = `openapi: 3.1.0
info: { title: Pets, version: 1.0.0 }
servers:
  - url: https://pets.example.com
paths:
  /pets:
    get: &get
      operationId: pets
      responses:
        200: { description: ok }
    post:
      operationId: add
      responses: {}
`;
const openApi = (document: string): string => `[toolsets.pets]\ntype = "openapi"\ndocument = "./${document}"\n`;
const PETS = { "haft.toml": openApi("pets.json"), "pets.json": json(API) };

const KINDS: Readonly<Record<string, Kind>> = {
  "configuration in TOML": { file: "haft.toml", files: KITCHEN, commands: [["list"], ["check"]] },
  "configuration in JSON": {
    file: "haft.json",
    files: {
      "haft.json": json({
        runtime: { timeoutMs: 1000 },
        permission: { allow: ["*"], deny: ["*::delete"] },
        simulation: { seed: 7, sources: { "*": "example" }, faults: [{ type: "network_error", probability: 0.5 }] },
        toolsets: { notes: { type: "files", root: "." }, skills: { type: "skills", folder: "." } },
      }),
    },
    commands: [["list"]],
  },
  "servers of another client": {
    file: ".mcp.json",
    files: {
      ".mcp.json": json({
        mcpServers: {
          git: { command: "npx", args: ["-y", "git-server@1.0.0"], env: { TOKEN: "${TOKEN:-none}" } },
          web: { type: "http", url: "https://example.com/mcp", headers: { A: "b" } },
        },
      }),
    },
    commands: [["import", ".mcp.json"]],
  },
  "tool file": { file: "kitchen.yaml", files: KITCHEN, commands: [["list"], FIND] },
  descriptor: { file: "descriptors/pantry/take.toml", files: KITCHEN, commands: [["list"]] },
  "array of descriptors": { file: "descriptors/pantry.toml", files: KITCHEN, commands: [["list"]] },
  "search corpus": { file: "recipes.jsonl", files: KITCHEN, commands: [FIND] },
  stubs: {
    file: "stubs.yaml",
    files: {
      ...KITCHEN,
      "haft.toml": KITCHEN["haft.toml"].replace(/type = "search"\ndocuments.*/u, 'type = "stub"\nstubs = "./stubs.yaml"'),
    },
    commands: [FIND],
  },
  chains: { file: "haft.toml", files: { "haft.toml": example("chains.toml") }, commands: [["chain", "check"]] },
  "OpenAPI document": { file: "pets.json", files: PETS, commands: [["list"], ["info", "pets::getPet"]] },
  "OpenAPI document in YAML": {
    file: "pets.yaml",
    files: { "haft.toml": openApi("pets.yaml"), "pets.yaml": API_IN_YAML },
    commands: [["list"]],
  },
  lock: { file: "haft.lock", files: PETS, before: ["lock", "--yes"], commands: [["list"], ["lock", "--check"]] },
  conversation: {
    file: "talk.jsonl",
    files: { ...PROJECT, "talk.jsonl": lines({ role: "user", content: "Add." }, { role: "assistant", content: "Adding.", calls: [CALL] }) },
    commands: [["run", "talk.jsonl"]],
  },
  recording: {
    file: "recipes.recording.jsonl",
    files: examples("recipes.recording.jsonl"),
    commands: [
      ["replay", "recipes.recording.jsonl"],
      ["sessions", "import", "recipes.recording.jsonl", "--store", "new.db"],
    ],
  },
  templates: {
    file: "in.jsonl",
    files: {
      ...PROJECT,
      "in.jsonl": lines({
        id: "one",
        system: "Be brief.",
        messages: [
          { role: "user", content: "Add." },
          { role: "assistant", calls: [CALL] },
        ],
      }),
    },
    commands: [["generate", "in.jsonl", "--out", "made.jsonl", "--overwrite"]],
  },
  skill: {
    file: "skills/bake/SKILL.md",
    files: {
      "haft.toml": '[toolsets.skills]\ntype = "skills"\nfolder = "skills"\n',
      "skills/bake/SKILL.md": "---\nname: bake\ndescription: Bakes bread.\n---\n\n# Bake\n",
    },
    commands: [["list"]],
  },
};

const MAX_OUTPUT = 40_000;
const MAX_MS = 30_000;

function complaintOf(finished: Finished, durationMs: number): string | undefined {
  if (finished.stderr.length > MAX_OUTPUT) return `${finished.stderr.length} characters of messages`;
  if (durationMs > MAX_MS) return `it took ${durationMs} ms`;
  if (Object.hasOwn(Object.prototype, "polluted")) return "the prototype of objects was changed";
  return internalsIn(finished);
}

describe("J06 a damaged file is read or refused quickly, with a readable message, and left unchanged", { timeout: 5 * PATIENCE_MS }, () => {
  test.each(Object.entries(KINDS))("%s", async (_kind, { file, files, commands, before }) => {
    const folder = folderWith(files);
    for (const args of before === undefined ? commands : [before, ...commands])
      expect({ args, ...(await haft(args, { folder })) }).toMatchObject({ exitCode: 0 });
    const path = join(folder, file);
    const whole = readFileSync(path, "utf8");
    const complaints: object[] = [];
    for (let seed = 0; seed < repeated(20); seed++) {
      const damaged = mutatedFile(whole, seed);
      writeFileSync(path, damaged);
      for (const args of commands) {
        const start = performance.now();
        const finished = await haft(args, { folder });
        const complaint = complaintOf(finished, performance.now() - start);
        if (complaint !== undefined) complaints.push({ seed, args, complaint, ...finished });
        if (!readFileSync(path).equals(damaged)) complaints.push({ seed, args, complaint: "the file was changed" });
      }
    }
    expect(complaints).toEqual([]);
  });
});
