import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readTree } from "./source-tree.ts";

const GUIDE = readFileSync("AGENTS.md", "utf8");
const QUOTED = [...GUIDE.matchAll(/`([^`\n]+)`/gu)].map((match) => match[1] ?? "");

test("every file and folder that AGENTS.md names exists", () => {
  const paths = QUOTED.filter((text) => /^[a-z][\w.-]*\/[\w./-]*$/u.test(text));

  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((path) => !existsSync(path) && !existsSync(`src/${path}`))).toEqual([]);
});

test("every table that AGENTS.md names is declared", () => {
  const sources = [...readTree("{src,test}/**/*.{ts,tsx}").values()].join("\n");
  const names = QUOTED.filter((text) => /^[A-Z][A-Z_]+$/u.test(text) && text !== "CI");

  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !new RegExp(`\\b(?:const|type) ${name}\\b`, "u").test(sources))).toEqual([]);
});
