/** The programs that the documents show: each is whole, so that it runs as it is pasted. */
import type { SourceTree } from "./source-tree.ts";

/**
 * The word after `ts`: none for a program that runs as it is pasted, `key` for one that asks a real model or a real server, and `peer`
 * for one of another framework.
 */
export type GuideBlockKind = "program" | "key" | "peer";

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

/** The places of programs that do not import what they use of the package: parts of programs, which do not run as they are pasted. */
export function partsOfPrograms(blocks: readonly GuideBlock[]): readonly string[] {
  return blocks.filter(({ kind, code }) => kind !== "peer" && !/ from "haft(?:\/[\w-]+)?";$/mu.test(code)).map(({ place }) => place);
}

/** The programs of the documents, each under a file name that says where it stands. */
export function guidePrograms(blocks: readonly GuideBlock[]): ReadonlyMap<string, GuideBlock> {
  return new Map(blocks.map((block) => [`${block.place.replace(/^docs\//u, "").replaceAll(/[^\w-]+/gu, "-")}.ts`, block]));
}
