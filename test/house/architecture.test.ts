import { describe, expect, test } from "vitest";
import { checkArchitecture, type HouseRules } from "./check-architecture.ts";
import { importsOf, readTree, resolvePath } from "./source-tree.ts";

const RULES: HouseRules = {
  floors: {
    core: 1,
    schema: 2,
    store: 2,
    documents: 2,
    net: 2,
    processes: 2,
    policy: 3,
    trust: 3,
    history: 3,
    wire: 3,
    engine: 3,
    registry: 4,
    session: 4,
    call: 5,
    triggers: 5,
    runtime: 6,
    model: 6,
    compose: 7,
    toolsets: 7,
    adapters: 7,
    telemetry: 7,
    testing: 7,
    generate: 8,
    config: 9,
    server: 9,
    public: 9,
    "index.ts": 9,
    "server.ts": 10,
    client: 10,
    cli: 11,
    dashboard: 11,
  },
  folderFloors: {
    store: { records: 1, sql: 2, memory: 3, database: 3, sqlite: 4, postgres: 4, ".": 5, upkeep: 6 },
    policy: { attempts: 1, results: 1, locks: 1, cache: 2, ".": 2, approval: 3, faults: 3 },
  },
  worldly: [
    "store",
    "documents",
    "net",
    "processes",
    "engine",
    "toolsets",
    "src/generate/enrichment-cache.ts",
    "src/generate/conversations/trajectory-file.ts",
    "config",
    "server",
    "cli",
    "src/core/system/system-ports.ts",
    "src/core/base/sync-file.ts",
    "src/core/system/rename-file.ts",
    "src/core/system/make-folder.ts",
  ],
  late: [
    "jose",
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/server",
    "kysely",
    "pg",
    "pg-boss",
    "croner",
    "defuddle",
    "unpdf",
    "cross-spawn",
    "quickjs-emscripten",
    "@opentelemetry/api",
    "@opentelemetry/sdk-node",
    "hono",
  ],
  maxLines: 400,
  maxFiles: 45,
};

test("the source follows the architecture rules", () => {
  expect(checkArchitecture(readTree("src/**/*.{ts,tsx}"), RULES)).toEqual([]);
});

test("issue 20.1 the dashboard uses the server only through the client, reads files with core's readers, and imports no Node module", () => {
  const outside = [...readTree("src/dashboard/**/*.{ts,tsx}")].flatMap(([path, text]) =>
    importsOf(text)
      .map(({ specifier }) => (specifier.startsWith(".") ? resolvePath(path, specifier) : specifier))
      .filter((target) => target.startsWith("node:") || (target.startsWith("src/") && !target.startsWith("src/dashboard/"))),
  );
  const core = [
    "base/json.ts",
    "base/parse-json.ts",
    "collections/push-all.ts",
    "error.ts",
    "recording/decoder.ts",
    "recording/line-splitter.ts",
  ].map((name) => `src/core/${name}`);
  expect(new Set(outside)).toEqual(new Set(["src/client/client.ts", ...core]));
});

describe("the checker finds", () => {
  const cases: readonly { readonly what: string; readonly files: Readonly<Record<string, string>>; readonly problem: string }[] = [
    {
      what: "a room that imports a higher floor",
      files: { "src/core/a.ts": 'import { b } from "../runtime/b.ts";\n', "src/runtime/b.ts": "" },
      problem: "src/core/a.ts: core (floor 1) may not import src/runtime/b.ts (floor 6)",
    },
    {
      what: "a type imported from a room on the same floor",
      files: { "src/policy/a.ts": 'import type {\n  B,\n} from "../engine/b.ts";\n', "src/engine/b.ts": "" },
      problem: "src/policy/a.ts: policy (floor 3) may not import src/engine/b.ts (floor 3)",
    },
    {
      what: "a re-export of a higher floor",
      files: { "src/core/a.ts": 'export { b } from "../schema/b.ts";\n', "src/schema/b.ts": "" },
      problem: "src/core/a.ts: core (floor 1) may not import src/schema/b.ts (floor 2)",
    },
    {
      what: "a late import of a higher floor",
      files: { "src/core/a.ts": 'const b = await import("../schema/b.ts");\n', "src/schema/b.ts": "" },
      problem: "src/core/a.ts: core (floor 1) may not import src/schema/b.ts (floor 2)",
    },
    {
      what: "a room on no floor",
      files: { "src/attic/a.ts": "" },
      problem: "src/attic/a.ts: the room attic is on no floor",
    },
    {
      what: "the import of an index",
      files: { "src/cli/a.ts": 'import { b } from "../index.ts";\n', "src/index.ts": "" },
      problem: "src/cli/a.ts: imports an index, src/index.ts",
    },
    {
      what: "a folder of a room that imports one above it",
      files: { "src/store/sql/a.ts": 'import { b } from "../sqlite/b.ts";\n', "src/store/sqlite/b.ts": "" },
      problem: "src/store/sql/a.ts: the folder sql (floor 2) may not import src/store/sqlite/b.ts (floor 4)",
    },
    {
      what: "a folder that such a room does not know",
      files: { "src/policy/a.ts": 'import { b } from "./attic/b.ts";\n', "src/policy/attic/b.ts": "" },
      problem: "src/policy/a.ts: the folder . (floor 2) may not import src/policy/attic/b.ts (floor undefined)",
    },
    {
      what: "a folder with too many files",
      files: Object.fromEntries(Array.from({ length: 46 }, (_, index) => [`src/net/a${index}.ts`, ""])),
      problem: "src/net: 46 files; with more than 45, folders say where to look",
    },
    {
      what: "an import without extension",
      files: { "src/core/a.ts": 'import { b } from "./b";\n', "src/core/b.ts": "" },
      problem: 'src/core/a.ts: import "./b" lacks its extension .ts',
    },
    {
      what: "an import of nothing",
      files: { "src/core/a.ts": 'import { b } from "./b.ts";\n' },
      problem: 'src/core/a.ts: import "./b.ts" leads to no file',
    },
    {
      what: "a file that is too long",
      files: { "src/core/a.ts": "\n".repeat(401) },
      problem: "src/core/a.ts: 401 lines; 400 is the limit",
    },
    {
      what: "the current target of an event outside a page",
      files: { "src/core/a.ts": "const signal = event.currentTarget;\n", "src/dashboard/a.ts": "event.currentTarget.focus();\n" },
      problem: "src/core/a.ts: Node.js sets currentTarget for the first listener alone; read target",
    },
    {
      what: "a vague name",
      files: { "src/core/helpers.ts": "" },
      problem: 'src/core/helpers.ts: "helpers" says nothing about what is inside',
    },
    {
      what: "a name in camel case",
      files: { "src/core/parseJson.ts": "" },
      problem: 'src/core/parseJson.ts: "parseJson" is not kebab-case',
    },
    {
      what: "the file system in a room that has no business with it",
      files: { "src/policy/a.ts": 'import { readFile } from "node:fs/promises";\n' },
      problem:
        "src/policy/a.ts: node:fs/promises reaches the outside world; only store, documents, net, processes, engine, toolsets, src/generate/enrichment-cache.ts, src/generate/conversations/trajectory-file.ts, config, server, cli, src/core/system/system-ports.ts, src/core/base/sync-file.ts, src/core/system/rename-file.ts, src/core/system/make-folder.ts may",
    },
    {
      what: "a heavy package loaded with the main entry",
      files: {
        "src/index.ts": 'export { b } from "./engine/b.ts";\n',
        "src/engine/b.ts": 'import { Client } from "@modelcontextprotocol/client/stdio";\n',
      },
      problem: "src/engine/b.ts: @modelcontextprotocol/client/stdio is loaded by src/index.ts; import it where it is used",
    },
    {
      what: "a circle, through a type import as well",
      files: {
        "src/core/a.ts": 'import { b } from "./b.ts";\n',
        "src/core/b.ts": 'import { c } from "./c.ts";\n',
        "src/core/c.ts": 'import type { A } from "./a.ts";\n',
      },
      problem: "circle: src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts",
    },
  ];
  test.each(cases)("$what", ({ files, problem }) => {
    expect(checkArchitecture(new Map(Object.entries(files)), RULES)).toEqual([problem]);
  });
});

test("the checker accepts code that follows the rules", () => {
  const files = {
    "src/core/a.ts": '/** import { z } from "../cli/z.ts"; */\n// import "../cli/z.ts";\nexport const a = "from";\n',
    "src/core/system/system-ports.ts": 'import { readFileSync } from "node:fs";\nimport { a } from "../a.ts";\n',
    "src/engine/mcp.ts":
      'const client = await import("@modelcontextprotocol/client");\nimport type { Client } from "@modelcontextprotocol/client";\n',
    "src/index.ts": 'export { mcp } from "./engine/mcp.ts";\n',
  };
  expect(checkArchitecture(new Map(Object.entries(files)), RULES)).toEqual([]);
});
