/** The declarations that are shipped, under the versions of TypeScript that programs use: what fits compiles, and what is misspelt does not. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUNDLE } from "../bundled-program.ts";
import { IN_CI, inCI } from "../ci.ts";
import { builtDeclarations } from "./declarations.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

const HEAD = `
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { createRuntime, defineHook, defineTool } from "haft";
import * as v from "valibot";
import { z } from "zod";
import { z as zod3 } from "zod/v3";
const base = { name: "take", description: "Takes." };
const literal = { type: "object", properties: { item: { type: "string" }, n: { type: "integer" } }, required: ["item"] } as const;
const zod = z.object({ item: z.string() });
const valibot = toStandardJsonSchema(v.object({ item: v.string() }));
const ark = type({ item: "string" });
`.trimStart();

const GOOD = `${HEAD}
const a = defineTool({
  ...base,
  inputSchema: literal,
  effects: { reads: "stock:{item}", writes: ({ item }) => item.toUpperCase(), undo: ({ input }) => void input.item.length },
  validate: ({ n }) => ((n ?? 0) > 9 ? ["no"] : []),
  execute: ({ item }) => item.length,
});
const b = defineTool({ ...base, inputSchema: zod, effects: { writes: ({ item }) => [item.trim()] }, validate: ({ item }) => [item.trim()] });
const c = defineTool({ ...base, inputSchema: valibot, effects: { writes: ({ item }) => [item.trim()] }, execute: ({ item }) => item.length });
const d = defineTool({ ...base, inputSchema: ark, effects: { writes: ({ item }) => [item.trim()] }, execute: ({ item }) => item.length });
const hook = defineHook({ tool: b, name: "h", beforeCall: ({ input }) => (input.item === "" ? { veto: "No." } : undefined) });
const runtime = createRuntime({ tools: [a, b, c, d], hooks: [hook] });
const { output } = await runtime.loop({ model: "anthropic/x" }).run("?", { output: z.object({ city: z.string() }) });
export const city: string | undefined = output?.city;
`;

/** One a line, each a mistake. */
const MISTAKES = [
  "defineTool({ ...base, inputSchema: literal, effects: { writes: ({ itme }) => [itme] } });",
  "defineTool({ ...base, inputSchema: literal, validate: ({ itme }) => [itme] });",
  "defineTool({ ...base, inputSchema: zod, effects: { writes: ({ itme }) => [itme] } });",
  "defineTool({ ...base, inputSchema: zod, validate: ({ itme }) => [itme] });",
  "defineTool({ ...base, inputSchema: valibot, effects: { writes: ({ itme }) => [itme] } });",
  "defineTool({ ...base, inputSchema: ark, effects: { writes: ({ itme }) => [itme] } });",
  'defineHook({ tool: defineTool({ ...base, inputSchema: zod }), name: "h", beforeCall: ({ input }) => (input.itme === "" ? undefined : undefined) });',
  'void createRuntime().loop({ model: "x/y" }).run("?", { output: zod }).then(({ output }) => output?.itme);',
  "defineTool({ ...base, inputSchema: literal, efects: {} });",
  "createRuntime({ toolz: [] });",
  "defineTool({ ...base, inputSchema: v.object({ item: v.string() }) });",
  "defineTool({ ...base, inputSchema: zod3.object({ item: zod3.string() }) });",
  "defineTool({ ...base, outputSchema: zod3.object({ item: zod3.string() }), execute: () => ({ item: '' }) });",
];

/** The message for each of the last three. */
const WAY_OUT = /use zod 4\.2 or newer, .+ is missing in type '(?:Standard)?Props<.+ but required in type 'WritesJsonSchema'/u;

interface Compilation {
  readonly version: string;
  readonly resolution: string;
  readonly files: readonly string[];
  /** Without skipLibCheck and exactOptionalPropertyTypes. @default false */
  readonly isWhole?: boolean;
}

/** A fault in the declarations of another package. */
function ofOthers(line: string): boolean {
  return /node_modules\/(?!haft\/)/u.test(line);
}

describe.runIf(inCI)(`the type declarations of the package compile ${IN_CI}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "haft-typescript-"));
  const compilers: Record<string, string> = { "7": join(ROOT, "node_modules/.bin/tsc") };

  beforeAll(async () => {
    await builtDeclarations();
    cpSync(join(BUNDLE, "dist"), join(folder, "node_modules/haft/dist"), {
      recursive: true,
      filter: (path) => statSync(path).isDirectory() || path.endsWith(".d.ts"),
    });
    writeFileSync(join(folder, "node_modules/haft/package.json"), readFileSync(join(ROOT, "package.json")));
    for (const name of readdirSync(join(ROOT, "node_modules")))
      if (!name.startsWith(".") && name !== "typescript") symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
    const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      readonly exports: Readonly<Record<string, unknown>>;
    };
    const entries = Object.keys(exports).filter((entry) => !entry.endsWith(".json"));
    await writeLibraries(exports);
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "good.ts"), GOOD);
    writeFileSync(join(folder, "bad.ts"), HEAD + MISTAKES.join("\n"));
    writeFileSync(join(folder, "all.ts"), entries.map((entry, at) => `export * as e${at} from "haft${entry.slice(1)}";`).join("\n"));
    mkdirSync(join(folder, "compilers"));
    writeFileSync(join(folder, "compilers/package.json"), "{}");
    const versions = ["5.4", "5.9", "6"];
    await run("npm", ["install", "--no-audit", "--no-fund", ...versions.map((version) => `v${version}@npm:typescript@${version}`)], {
      cwd: join(folder, "compilers"),
    });
    for (const version of versions) compilers[version] = join(folder, "compilers/node_modules", `v${version}`, "bin/tsc");
  }, 300_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Writes a module for each entry, which imports this entry alone, and exports what each function returns. Its types are inferred. */
  async function writeLibraries(exports: Readonly<Record<string, unknown>>): Promise<void> {
    mkdirSync(join(folder, "libraries"));
    for (const [entry, paths] of Object.entries(exports)) {
      if (typeof paths !== "object" || paths === null) continue;
      const source = String(Reflect.get(paths, "haft-source"));
      const module = (await import(pathToFileURL(join(ROOT, source)).href)) as Readonly<Record<string, unknown>>;
      const lines = Object.entries(module).flatMap(([name, value]) => {
        if (typeof value !== "function") return [];
        const made = String(value).startsWith("class") ? "InstanceType" : "ReturnType";
        return `declare const made_${name}: Awaited<${made}<typeof e.${name}>>;\nexport const ${name}_ = made_${name};`;
      });
      if (entry === "./client") lines.push("export const execute = () => createClient_.call('execute', { body: { calls: [] } });");
      if (entry === ".") lines.push("export const { approvals, jobs, sessions } = createRuntime_;");
      const text = [`import * as e from "haft${entry.slice(1)}";`, ...lines].join("\n");
      writeFileSync(join(folder, "libraries", `${entry.slice(2).replaceAll("/", "-") || "haft"}.ts`), text);
    }
  }

  test(
    "in a library that imports one entry, with the types of what its functions return in declarations",
    { timeout: 240_000 },
    async () => {
      const out = ["--declaration", "--emitDeclarationOnly", "--outDir", "declared", "--singleThreaded"];
      const settings = ["--strict", "--target", "es2022", "--lib", "es2022,esnext.disposable,dom", "--types", "node", "--skipLibCheck"];
      const resolution = ["--module", "nodenext", "--moduleResolution", "nodenext"];
      const found: string[] = [];
      for (const file of readdirSync(join(folder, "libraries"))) {
        const output = await run(compilers["7"] ?? "", [...out, ...settings, ...resolution, `libraries/${file}`], { cwd: folder }).then(
          ({ stdout }) => stdout,
          (error: { readonly stdout: string }) => error.stdout,
        );
        found.push(...output.split("\n").filter((line) => line.includes("error")));
      }
      expect(found).toEqual([]);
    },
  );

  /** The lines of files, as one program, that do not compile. */
  async function faults(compilation: Compilation): Promise<readonly string[]> {
    return (await messages(compilation)).filter((line) => line.includes("error") && !ofOthers(line));
  }

  /** All lines that the compiler prints for files, as one program. */
  async function messages({ version, resolution, files, isWhole = false }: Compilation): Promise<readonly string[]> {
    const module = resolution === "nodenext" ? "nodenext" : "esnext";
    const settings = [
      "--noEmit",
      "--strict",
      ...(isWhole ? [] : ["--exactOptionalPropertyTypes"]),
      "--target",
      "es2022",
      "--lib",
      "es2022,esnext.disposable,dom",
    ];
    const more = ["--skipLibCheck", String(!isWhole), "--types", "node", "--module", module, "--moduleResolution", resolution, ...files];
    const compiler = compilers[version] ?? "";
    const [command, first] = version === "7" ? [compiler, ["--singleThreaded"]] : [process.execPath, [compiler]];
    const output = await run(command, [...first, ...settings, ...more], { cwd: folder }).then(
      ({ stdout }) => stdout,
      (error: { readonly stdout: string }) => error.stdout,
    );
    return output.split("\n");
  }

  // Each version, the oldest and the newest among them, and each of both ways to resolve imports with two of them.
  const cases = [
    ["5.4", "nodenext"],
    ["5.9", "bundler"],
    ["6", "nodenext"],
    ["7", "bundler"],
  ] as const;
  test.each(cases)("with TypeScript %s, %s", { timeout: 240_000 }, async (version, resolution) => {
    const printed = await messages({ version, resolution, files: ["good.ts", "bad.ts", "all.ts"] });
    expect(printed.filter((line) => WAY_OUT.test(line))).toHaveLength(3);
    const all = printed.filter((line) => line.includes("error") && !ofOthers(line));
    expect(all.filter((line) => !line.startsWith("bad.ts("))).toEqual([]);
    const lines = new Set(all.map((line) => Number(/bad\.ts\((\d+),/u.exec(line)?.[1])));
    const first = HEAD.split("\n").length;
    expect([...lines].toSorted((one, other) => one - other)).toEqual(MISTAKES.map((_, at) => first + at));
  });

  test("with the examples, in a program with only the option strict", { timeout: 240_000 }, async () => {
    cpSync(join(ROOT, "examples"), join(folder, "examples"), { recursive: true });
    const settings = {
      target: "es2024",
      module: "nodenext",
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      types: ["node"],
    };
    const ofRepository = ["examples/demo.ts"]; // imports files of the repository
    const project = { compilerOptions: settings, include: ["examples/**/*.ts"], exclude: ofRepository };
    writeFileSync(join(folder, "examples.json"), JSON.stringify(project)); // a tsconfig.json would be one of the other programs too
    const output = await run(compilers["7"] ?? "", ["--singleThreaded", "-p", "examples.json"], { cwd: folder }).then(
      ({ stdout }) => stdout,
      (error: { readonly stdout: string }) => error.stdout,
    );
    expect(output.split("\n").filter((line) => line.includes("error TS") && !ofOthers(line))).toEqual([]);
  });

  // By the newest alone, which takes a third of the time. With exactOptionalPropertyTypes scripts/type-package.mjs compiles them, and what a type extends
  // must be right in both.
  test("completely, in a program without skipLibCheck and exactOptionalPropertyTypes", { timeout: 240_000 }, async () => {
    expect(await faults({ version: "7", resolution: "nodenext", files: ["all.ts"], isWhole: true })).toEqual([]);
  });
});
