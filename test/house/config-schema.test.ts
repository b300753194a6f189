import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { configSchemaFile } from "../../scripts/config-schema.ts";
import { readDocument } from "../../src/documents/read-document.ts";
import { compileSchema } from "../../src/schema/compile-schema.ts";

const file = readFileSync(new URL("../../haft.schema.json", import.meta.url), "utf8");
const validator = compileSchema(JSON.parse(file));

async function read(path: string): Promise<unknown> {
  const limits = { maxTokens: 1_000_000, maxDepth: 64, maxAliases: 1_000, maxNodes: 1_000_000, positionDepth: 4 };
  return (await readDocument({ path, what: "file", endings: [".toml", ".yaml", ".yml", ".json"], maxBytes: 1e7, hint: "", limits })).value;
}

const problems = (value: unknown): readonly unknown[] => validator.problems(value);

test("the JSON Schema of configurations matches their reference page; npm run docs writes it", () => {
  expect(file).toBe(configSchemaFile());
});

describe("the JSON Schema of configurations", () => {
  const whole = readdirSync(new URL("../../examples/config/", import.meta.url)).filter((name) =>
    /^(?!mistakes|weather\.yaml|kitchen|other-words|played|stubs).*\.(?:toml|ya?ml)$/u.test(name),
  );
  test.each(whole)("accepts examples/config/%s", async (name) => {
    expect(problems(await read(`examples/config/${name}`))).toEqual([]);
  });

  test.each([
    [{ runtime: { timeoutMS: 1 } }],
    [{ toolset: {} }],
    [{ toolsets: { a: { type: "files" } } }],
    [{ toolsets: { a: { type: "files", root: ".", guards: "off" } } }],
    [{ toolsets: { a: { type: "shell", root: ".", sandbox: 1 } } }],
    [{ toolsets: { a: { type: "http", baseUrl: "x", tools: [{ name: "a" }] } } }],
    [{ retry: { factor: "2" } }],
    [{ model: { name: "a/b", temperature: 3 } }],
    [{ triggers: [{ type: "timer", name: "a", interval: 1 }] }],
    [{ engines: { a: { type: "stub", stubs: [], seeds: 1 } } }],
  ])("rejects %j", (value) => {
    expect(problems(value)).not.toEqual([]);
  });
});
