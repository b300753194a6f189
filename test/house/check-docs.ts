/** What makes documents lie: code that no example runs, links that lead nowhere. */
import { resolvePath, type SourceTree } from "./source-tree.ts";

/** Every ```ts block of `documents` that stands in no file of `examples`, line for line, whatever its indentation there. */
export function untestedBlocks(documents: SourceTree, examples: SourceTree): readonly string[] {
  const tested = [...examples.values()].map((text) => text.split("\n"));
  const problems: string[] = [];
  for (const [path, text] of documents) {
    for (const block of codeBlocks(text)) {
      const lines = dedent(block.code.split("\n"));
      if (!tested.some((example) => contains(example, lines))) problems.push(`${path}:${block.line}: no file in examples/ has this block`);
    }
  }
  return problems;
}

/** The same for source files: the blocks of their doc comments, and every `@example` that has none. */
export function untestedExamples(sources: SourceTree, examples: SourceTree): readonly string[] {
  const comments = new Map([...sources].map(([path, text]) => [path, commentText(text)]));
  const bare = [...comments].flatMap(([path, text]) =>
    [...text.matchAll(/@example(?!\s*```ts\n)/gu)].map(({ index }) => `${path}:${lineAt(text, index)}: @example without a \`\`\`ts block`),
  );
  return [...bare, ...untestedBlocks(comments, examples)];
}

/** Every relative link to a file or heading that is not there. */
export function brokenLinks(documents: SourceTree, exists: (path: string) => boolean): readonly string[] {
  const problems: string[] = [];
  for (const [path, text] of documents) {
    for (const [, target = ""] of withoutCode(text).matchAll(/\]\(([^()\s]+)\)/gu)) {
      if (/^[a-z]+:/u.test(target)) continue;
      const [file = "", heading] = target.split("#");
      const resolved = file === "" ? path : resolvePath(path, file);
      if (!exists(resolved)) problems.push(`${path}: the link ${target} leads to no file`);
      else if (heading !== undefined && !headings(documents.get(resolved) ?? "").includes(heading)) {
        problems.push(`${path}: the link ${target} leads to no heading`);
      }
    }
  }
  return problems;
}

interface CodeBlock {
  readonly line: number;
  readonly code: string;
}

function codeBlocks(text: string): readonly CodeBlock[] {
  return [...text.matchAll(/^[ \t]*```ts(?: key| fragment)?\n(.*?)\n?^[ \t]*```$/gmsu)].map((match) => ({
    line: lineAt(text, match.index),
    code: match[1] ?? "",
  }));
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

/** Doc comments without their stars; every other line empty, so that line numbers stay. */
function commentText(source: string): string {
  return source
    .split("\n")
    .map((line) => /^\s*(?:\/\*)?\*(?!\/) ?(.*)$/u.exec(line)?.[1] ?? "")
    .join("\n");
}

function dedent(lines: readonly string[]): readonly string[] {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/u));
  const least = Math.min(...indents);
  return lines.map((line) => line.slice(least).trimEnd());
}

function contains(file: readonly string[], lines: readonly string[]): boolean {
  return file.some((_, start) => {
    const window = file.slice(start, start + lines.length);
    return window.length === lines.length && dedent(window).join("\n") === lines.join("\n");
  });
}

function withoutCode(text: string): string {
  return withoutFences(text).replaceAll(/`[^`\n]*`/gu, "");
}

function withoutFences(text: string): string {
  return text.replaceAll(/^[ \t]*```.*?^[ \t]*```$/gmsu, "");
}

/** The anchors that GitHub makes of headings. */
function headings(text: string): readonly string[] {
  const titles = [...withoutFences(text).matchAll(/^#+ (.+)$/gmu)].map((match) => match[1] ?? "");
  return titles.map((title) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
