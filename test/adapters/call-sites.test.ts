/** The call sites under the settings of a program that is only `strict`; `tsc -p .` compiles the same file under ours. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LanguageModel } from "ai";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { expect, onTestFinished, test } from "vitest";
import { adapterRuntime } from "./adapter-world.ts";
import { aiSdk, langChain, openAiAgents, typedAiSdk } from "./call-sites.ts";
import { testInCI } from "../test-in-ci.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Whose types this takes only where optional properties may be undefined: LangChain's own do not fit themselves otherwise. */
const PLAIN = `
export const direct = <Node>(runtime: Runtime, ToolNode: ToolNodeClass<Node>): Node => new ToolNode(toLangChainTools(runtime, langChainTool));
`;

testInCI(
  "Haft's tools type-check in each framework without a cast, in a program with only the option strict",
  { timeout: 180_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "haft-call-sites-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    for (const name of ["node_modules", "src", "package.json"]) symlinkSync(join(ROOT, name), join(folder, name));
    const source = readFileSync(join(ROOT, "test/adapters/call-sites.ts"), "utf8").replaceAll("../../src/", "./src/");
    writeFileSync(join(folder, "call-sites.ts"), source + PLAIN);
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      module: "nodenext",
      target: "es2024",
      types: ["node"],
      lib: ["es2024", "esnext.disposable", "esnext.iterator"],
      allowImportingTsExtensions: true,
      preserveSymlinks: true,
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["call-sites.ts"] }));
    const ended = Promise.withResolvers<number | null>();
    const child = spawn(join(ROOT, "node_modules/.bin/tsc"), ["--singleThreaded", "-p", folder], { stdio: ["ignore", "pipe", "inherit"] });
    child.once("close", (code) => ended.resolve(code));
    expect(
      (await text(child.stdout)).split("\n").filter((line) => line.startsWith("call-sites") || line.includes("call-sites.ts(")),
    ).toEqual([]);
    expect(await ended.promise).toBe(0);
  },
);

test("the call sites work as they compile", async () => {
  const noModel = { specificationVersion: "v0" } as unknown as LanguageModel; // refused before anything is asked
  await expect(aiSdk(adapterRuntime(), noModel)).rejects.toThrow("version");
  await expect(typedAiSdk(noModel)).rejects.toThrow("version");
  const nodes = langChain(adapterRuntime(), Set<StructuredToolInterface>);
  expect(nodes.map((tools) => [...tools].map(({ name }) => name))).toEqual([
    ["fail", "picture", "haft__read_result", "math__add"],
    ["math__add"],
  ]);
  expect(openAiAgents(adapterRuntime()).map(({ tools }) => tools.length)).toEqual([3, 4]);
});
