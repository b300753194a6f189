import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorsPage } from "../../scripts/generate-errors.ts";
import { brokenLinks, untestedBlocks, untestedExamples } from "./check-docs.ts";
import { readTree } from "./source-tree.ts";

/** Made from the comments of the source, whose examples are checked there. */
const GENERATED = /^docs\/reference\/api\/haft/u;
const documents = new Map([...readTree("*.md"), ...readTree("docs/**/*.md")].filter(([path]) => !GENERATED.test(path)));
const examples = readTree("examples/**/*.ts");

test("every TypeScript block of the documents runs in an example", () => {
  expect(untestedBlocks(documents, examples)).toEqual([]);
});

test("every @example of the source runs in an example", () => {
  expect(untestedExamples(readTree("src/**/*.ts"), examples)).toEqual([]);
});

test("every relative link in the documents resolves", () => {
  expect(brokenLinks(documents, (path) => existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
});

test("every guide, concept, reference page and decision is linked from the index of the documents", () => {
  const index = documents.get("docs/README.md") ?? "";
  const pages = [...documents.keys()].filter((path) => /^docs\/.+\.md$/u.test(path) && path !== "docs/README.md");
  expect(pages.filter((path) => !index.includes(`](${path.slice("docs/".length)})`))).toEqual([]);
});

/** To be replaced before its provider retires it; `DEPRECATED_MODELS` of `@anthropic-ai/sdk` has the dates. */
const CLAUDE = "claude-sonnet-5";

test("the documents, the examples and the help texts name one Claude model, which is not about to be retired", () => {
  const texts = [...documents, ...examples, ...readTree("examples/config/**/*.toml"), ...readTree("src/{cli,config}/**/*.ts")];
  const named = texts
    .filter(([path]) => !path.startsWith("docs/decisions/"))
    .flatMap(([path, text]) =>
      [...text.matchAll(/\bclaude-[a-z]+-\d[\w.-]*/gu)].map(([name]) => ({ path, name: name.replace(/[.-]$/u, "") })),
    );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(({ name }) => name !== CLAUDE)).toEqual([]);
});

test("the README describes the purpose of each import of the package", () => {
  const { exports } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const imports = Object.keys(exports).filter((path) => !path.endsWith(".json"));
  const readme = documents.get("README.md") ?? "";
  expect(imports.length).toBeGreaterThan(20);
  expect(imports.filter((path) => !readme.includes(`\`haft${path.slice(1)}\``))).toEqual([]);
});

test("the page of error codes matches what `npm run docs` generates from the table", () => {
  expect(readFileSync(new URL("../../docs/reference/errors.md", import.meta.url), "utf8")).toBe(errorsPage());
});

test("a block that differs from its example is found, and one that is indented there is accepted", () => {
  const guide = "Text.\n\n```ts\nif (a) {\n  b();\n}\n```\n\n```ts\nif (a) {\n  c();\n}\n```\n\n```sh\nnpm start\n```\n";
  const example = "function main() {\n  if (a) {\n    b();\n  }\n}\n";
  expect(untestedBlocks(new Map([["guide.md", guide]]), new Map([["example.ts", example]]))).toEqual([
    "guide.md:9: no file in examples/ has this block",
  ]);
});

test("an @example without a block, or missing from all examples, is found", () => {
  const source = "/**\n * Adds.\n *\n * @example\n * add(1, 2)\n */\n/**\n * @example\n * ```ts\n * add(1);\n * ```\n */\n";
  expect(untestedExamples(new Map([["add.ts", source]]), new Map())).toEqual([
    "add.ts:4: @example without a ```ts block",
    "add.ts:9: no file in examples/ has this block",
  ]);
});

test("links to missing files and headings are found; URLs and code are ignored", () => {
  const page = "# The `one` page\n[a](b.md) [b](#the-one-page) [c](#two) [d](https://example.com) `[e](f.md)`\n\n```\n[g](h.md)\n```\n";
  expect(brokenLinks(new Map([["docs/a.md", page]]), (path) => path === "docs/a.md")).toEqual([
    "docs/a.md: the link b.md leads to no file",
    "docs/a.md: the link #two leads to no heading",
  ]);
});
