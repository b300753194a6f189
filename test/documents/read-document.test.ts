import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readDocument } from "../../src/documents/read-document.ts";

const ENDINGS = [".toml", ".yaml", ".json"] as const;

function read(name: string, text: string): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), "haft-document-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, name), text);
  return readDocument({ path: join(folder, name), what: "configuration", endings: ENDINGS, maxBytes: 1_000, hint: "Give a file." });
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
