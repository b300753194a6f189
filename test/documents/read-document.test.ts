import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readDocument, type DocumentFile } from "../../src/documents/read-document.ts";

const ENDINGS = [".toml", ".yaml", ".json"] as const;

function read(name: string, text: string, more: Pick<DocumentFile, "limits"> = {}): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), "haft-document-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, name), text);
  return readDocument({
    path: join(folder, name),
    what: "configuration",
    endings: ENDINGS,
    maxBytes: 1_000,
    hint: "Give a file.",
    ...more,
  });
}

test.each([
  ["a.toml", String.raw`root = "C:\Users\ada"`],
  ["a.yaml", String.raw`root: "C:\Users\ada"`],
  ["a.json", String.raw`{ "root": "C:\Users\ada" }`],
])("a Windows path with single backslashes is refused with the two spellings that work: %s", async (name, text) => {
  await expect(read(name, text)).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining(`${name}:1:`),
    hint: String.raw`In double quotes, a backslash is written twice. Write a path as "C:/folder" or "C:\\folder".`,
  });
});

test.each([
  ["a.toml", String.raw`root = "C:\\Users\\ada"`],
  ["a.toml", String.raw`root = 'C:\Users\ada'`],
  ["a.yaml", String.raw`root: C:\Users\ada`],
  ["a.json", String.raw`{ "root": "C:\\Users\\ada" }`],
])("a Windows path is read in every spelling that the format allows: %s %s", async (name, text) => {
  expect(await read(name, text)).toMatchObject({ value: { root: String.raw`C:\Users\ada` } });
});

test("other errors have no hint about paths", async () => {
  await expect(read("a.toml", `root = "C:/x"\nroot`)).rejects.toMatchObject({ code: "invalid_config", hint: undefined });
});

test.each([
  ["a.toml", "id = 9007199254740993"],
  ["a.toml", "id = 0x20000000000001"],
  ["a.yaml", "id: 9007199254740993"],
  ["a.yaml", "id: 0x20000000000001"],
  ["a.yaml", "id: &a -9007199254740993"],
  ["a.json", '{"id": 9007199254740993}'],
])("an integer that would lose digits is refused with its place, in every format: %s %s", async (name, text) => {
  await expect(read(name, text)).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringMatching(/a\.\w+:1:\d+: .*(?:would lose digits|cannot be represented losslessly)/u),
  });
});

test.each([
  ["a.toml", '[tool]\ntype = "integer"\nminimum = -9223372036854775808\nmaximum = 9223372036854775807\n'],
  ["a.yaml", "tool: {type: integer, minimum: -9223372036854775808, maximum: 9223372036854775807}"],
  ["a.json", '{"tool": {"type": ["integer", "null"], "minimum": -9223372036854775808, "maximum" : \n9223372036854775807}}'],
])("a bound of 64 bits is rounded where the reader wants it, and another integer is not: %s", async (name, text) => {
  const roundsBounds = { limits: { roundsBounds: true } };
  expect(await read(name, text, roundsBounds)).toMatchObject({ value: { tool: { minimum: -(2 ** 63), maximum: 2 ** 63 } } });
  await expect(read(name, text)).rejects.toMatchObject({ code: "invalid_config" });
  for (const other of ["id", "maxima", "xmaximum"])
    await expect(read(name, text.replace("maximum", other), roundsBounds)).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringMatching(/a\.\w+:\d+:\d+: .*(?:would lose digits|cannot be represented losslessly)/u),
    });
});

test.each([
  ["a.toml", "[send]\nmaximum = 9007199254740993\n"],
  ["a.toml", 'type = "object"\ndefault = {maximum = 9007199254740993}\n'],
  ["a.yaml", "send: {maximum: 9007199254740993}"],
  ["a.yaml", "{type: object, default: {maximum: 9007199254740993}}"],
  ["a.json", '{"send": {"maximum": 9007199254740993}}'],
  ["a.json", '{"type": "object", "default": {"maximum": 9007199254740993}}'],
])("a value of an object that is no schema is not rounded, whatever its name: %s, %s", async (name, text) => {
  await expect(read(name, text, { limits: { roundsBounds: true } })).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringMatching(/a\.\w+:[12]:\d+: .*(?:would lose digits|cannot be represented losslessly)/u),
  });
});

test("an integer that keeps its digits, a fraction, and a text of digits are read from YAML", async () => {
  const text = 'a: 9007199254740992\nb: 0x20000000000000\nc: 1e21\nd: 0.1234567890123456789\ne: "9007199254740993"\nf: -9007199254740991';
  expect(await read("a.yaml", text)).toMatchObject({
    value: { a: 2 ** 53, b: 2 ** 53, c: 1e21, d: 0.12345678901234568, e: "9007199254740993", f: Number.MIN_SAFE_INTEGER },
  });
});
