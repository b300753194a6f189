/** The programs that the documents show: each is whole, so that it runs as it is pasted. */
import { hasBlock } from "./check-docs.ts";
import type { SourceTree } from "./source-tree.ts";

/**
 * What a block says of itself after the word `ts`: nothing for a program that runs as it is pasted, `key` for one that asks a real model
 * or a real server, `peer` for one of another framework, and `fragment` for lines of a program of its page.
 */
export type GuideBlockKind = "program" | "key" | "peer" | "fragment";

export interface GuideBlock {
  readonly page: string;
  /** `docs/guides/add-a-tool.md:12` */
  readonly place: string;
  readonly kind: GuideBlockKind;
  readonly code: string;
  /** The first `text` block after it, before the next TypeScript. */
  readonly output: string | undefined;
}

const KINDS: ReadonlyMap<string, GuideBlockKind> = new Map([
  ["", "program"],
  [" key", "key"],
  [" peer", "peer"],
  [" fragment", "fragment"],
]);

/** The TypeScript blocks of the documents, in order. */
export function guideBlocks(documents: SourceTree): readonly GuideBlock[] {
  return [...documents].flatMap(([page, text]) =>
    [...text.matchAll(/^```ts([^\n]*)\n(.*?)\n^```$/gmsu)].map((match) => {
      const [whole, label = "", code = ""] = match;
      const place = `${page}:${text.slice(0, match.index).split("\n").length}`;
      const kind = KINDS.get(label);
      if (kind === undefined) throw new Error(`${place}: no kind of block is called "ts${label}"`);
      return { page, place, kind, code, output: outputAfter(text.slice(match.index + whole.length)) };
    }),
  );
}

function outputAfter(rest: string): string | undefined {
  const [here = ""] = rest.split(/^```ts/mu);
  return /^```text\n(.*?)\n^```$/msu.exec(here)?.[1];
}

/**
 * What keeps a page from being whole: a program that does not import what it uses of the package, and a fragment of no program of the page.
 * `unfinished` are the pages that may still do so; one of them that no longer does is reported, too.
 */
export function unwholePages(blocks: readonly GuideBlock[], unfinished: ReadonlySet<string>): readonly string[] {
  const problems: string[] = [];
  for (const [page, own] of Map.groupBy(blocks, (block) => block.page)) {
    const found = pageProblems(own);
    if (!unfinished.has(page)) problems.push(...found);
    else if (found.length === 0) problems.push(`${page}: every block is whole; take the page off the list`);
  }
  const pages = new Set(blocks.map((block) => block.page));
  for (const page of unfinished) if (!pages.has(page)) problems.push(`${page}: is on the list and has no blocks`);
  return problems;
}

function pageProblems(blocks: readonly GuideBlock[]): readonly string[] {
  const programs = blocks.filter(({ kind }) => kind === "program");
  return blocks.flatMap(({ kind, code, place }) => {
    if (kind === "fragment")
      return programs.some((program) => hasBlock(program.code, code)) ? [] : [`${place}: a fragment of no program of the page`];
    return kind === "peer" || / from "haft(?:\/[\w-]+)?";$/mu.test(code) ? [] : [`${place}: a program without an import of the package`];
  });
}

/** The programs of finished pages, each once, under a file name that says where it stands. */
export function guidePrograms(blocks: readonly GuideBlock[], unfinished: ReadonlySet<string>): ReadonlyMap<string, GuideBlock> {
  const programs = new Map<string, GuideBlock>();
  for (const block of blocks) {
    if (block.kind === "fragment" || unfinished.has(block.page)) continue;
    programs.set(`${block.place.replace(/^docs\//u, "").replaceAll(/[^\w-]+/gu, "-")}.ts`, block);
  }
  return programs;
}
