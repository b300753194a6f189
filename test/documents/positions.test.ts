import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJsonFile } from "../../src/documents/parse-json-file.ts";
import { parseToml } from "../../src/documents/parse-toml.ts";
import { parseYaml } from "../../src/documents/parse-yaml.ts";
import type { KeyPath, ParsedFile } from "../../src/documents/key-positions.ts";

/** `line:column` of a place. */
function at({ positions }: ParsedFile, ...path: KeyPath): string {
  const { line, column } = positions.get(path);
  return `${line}:${column}`;
}

test("JSON keys and items are located even after strings that look like structure", () => {
  const parsed = parseJsonFile('{\n\t"a\\"}": ["x]", {"\\u0062": 1}, -1.5e3,\n {}, []],\n "c\\\\" : {"d": null}}', "f.json");

  expect(parsed.value).toEqual({ 'a"}': ["x]", { b: 1 }, -1500, {}, []], "c\\": { d: null } });
  expect(at(parsed, 'a"}')).toBe("2:2");
  expect(at(parsed, 'a"}', 1)).toBe("2:17");
  expect(at(parsed, 'a"}', 1, "b")).toBe("2:18");
  expect(at(parsed, 'a"}', 2)).toBe("2:32");
  expect(at(parsed, 'a"}', 3)).toBe("3:2");
  expect(at(parsed, "c\\", "d")).toBe("4:11");
});

test("positions in JSON equal those in YAML for the same text, for any document", () => {
  const key = fc.string({ unit: fc.constantFrom("a", "b", '"', "\\", "{", "]", ":", "é", " ") });
  const document = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, fc.integer(), key, fc.constant(null), fc.dictionary(key, tie("value")), fc.array(tie("value"))),
  })).value;
  fc.assert(
    fc.property(document, fc.integer({ min: 0, max: 3 }), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const [json, yaml] = [parseJsonFile(text, "f"), parseYaml(text, "f")];
      for (const path of pathsOf(value)) expect(at(json, ...path)).toBe(at(yaml, ...path));
    }),
  );
});

function pathsOf(value: unknown, path: KeyPath = []): readonly KeyPath[] {
  if (typeof value !== "object" || value === null) return [path];
  const keys: readonly (string | number)[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...keys.flatMap((key) => pathsOf(Reflect.get(value, key), [...path, key]))];
}

test("arrays of tables in TOML have a position each, and what follows belongs to the last table", () => {
  const parsed = parseToml(
    "[[a]]\nx = 1\n[a.b]\ny = 1\n[[a]]\nx = 2\n[[a.c]]\nz = 1\n[[ a . c ]]\nz = 2\n[a.b.d]\nw = 1\n[[a]]\n",
    "f.toml",
  );

  expect(parsed.value).toEqual({ a: [{ x: 1, b: { y: 1 } }, { x: 2, c: [{ z: 1 }, { z: 2 }], b: { d: { w: 1 } } }, {}] });
  expect([at(parsed, "a", 0), at(parsed, "a", 0, "x"), at(parsed, "a", 0, "b", "y")]).toEqual(["1:3", "2:1", "4:1"]);
  expect([at(parsed, "a", 1), at(parsed, "a", 1, "x"), at(parsed, "a", 1, "c", 0, "z")]).toEqual(["5:3", "6:1", "8:1"]);
  expect([at(parsed, "a", 1, "c", 1), at(parsed, "a", 1, "c", 1, "z"), at(parsed, "a", 1, "b", "d", "w")]).toEqual(["9:4", "10:1", "12:1"]);
  expect(at(parsed, "a", 2)).toBe("13:3");
});

test("values below the recorded depth have the position of their nearest parent", () => {
  const limits = { maxTokens: 100, maxDepth: 9, maxAliases: 1, maxNodes: 100, positionDepth: 1 };
  const text = '{"a": {\n"b": 1}}';

  expect(at(parseYaml(text, "f", limits), "a", "b")).toBe("1:2");
  expect(at(parseJsonFile(text, "f", limits), "a", "b")).toBe("1:2");
});
