/** Text that parsers pass over although it is not what it seems. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseToml } from "../../src/documents/parse-toml.ts";
import { readDocument } from "../../src/documents/read-document.ts";

test.each([
  ["a = 2026-02-30", "haft.toml:1:5: not valid TOML: the date 2026-02-30 does not exist."],
  ["a = 2026-02-30T10:00:00Z", "haft.toml:1:5: not valid TOML: the date 2026-02-30 does not exist."],
  ["a = 2025-02-29 10:00:00", "haft.toml:1:5: not valid TOML: the date 2025-02-29 does not exist."],
  ["b = 1\na = [2026-04-30, 2026-04-31]", "haft.toml:2:18: not valid TOML: the date 2026-04-31 does not exist."],
])("a date that does not exist in the calendar is refused: %j", (text, message) => {
  expect(() => parseToml(text, "haft.toml")).toThrow(message);
});

test("a leap day is a valid date, and text that only looks like a date is not a date", () => {
  expect(parseToml('a = 2024-02-29\nb = "2026-02-30" # 2026-02-30', "haft.toml").value).toMatchObject({ b: "2026-02-30" });
});

test.each([".toml", ".yaml", ".json"] as const)("one byte order mark is skipped, and two are refused: %s", async (ending) => {
  const text = { ".toml": "a = 1", ".yaml": "a: 1", ".json": '{"a": 1}' }[ending];
  const path = join(mkdtempSync(join(tmpdir(), "haft-mark-")), `x${ending}`);
  const file = { path, what: "file", endings: [ending], maxBytes: 1_000, hint: "Name a file." };
  writeFileSync(path, `\ufeff${text}`);
  expect((await readDocument(file)).value).toEqual({ a: 1 });
  writeFileSync(path, `\ufeff\ufeff${text}`);
  await expect(readDocument(file)).rejects.toThrow(`${path}:1:1: there is more than one byte order mark.`);
});
