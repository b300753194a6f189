import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("A20 no source file evaluates text as code: no eval, no Function constructor, no node:vm", () => {
  const suspicious = /\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\(|["']node:vm["']/u;
  const found = globSync("src/**/*.ts").filter((file) => suspicious.test(readFileSync(file, "utf8")));
  expect(found).toEqual([]);
});
