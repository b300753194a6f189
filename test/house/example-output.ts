/** Runs examples and commands, and looks for what documents show of their output. */
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { SourceTree } from "./source-tree.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const IMPORT_BUNDLED = new URL("../fixtures/import-bundled.mjs", import.meta.url).href;

export interface Run {
  readonly exitCode: number | null;
  /** What a terminal would show: both streams, in the order in which they were written. */
  readonly shown: string;
}

/** Runs a program in a folder of the project, as its documents tell people to; "haft" is the bundled package. */
export function runFile(file: string, args: readonly string[] = [], folder = "."): Promise<Run> {
  return runNode([`--import=${IMPORT_BUNDLED}`, resolve(root, file), ...args], join(root, folder));
}

/** Runs Node in a folder. */
export async function runNode(args: readonly string[], cwd: string): Promise<Run> {
  const place = mkdtempSync(join(tmpdir(), "haft-example-"));
  const terminal = openSync(join(place, "terminal"), "a");
  try {
    const child = spawn(process.execPath, args, {
      cwd,
      stdio: ["ignore", terminal, terminal],
      env: { ...process.env, NO_COLOR: "1", HAFT_TRUST: "all" },
    });
    const exitCode = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
    return { exitCode, shown: readFileSync(join(place, "terminal"), "utf8").trimEnd() };
  } finally {
    closeSync(terminal);
    rmSync(place, { recursive: true });
  }
}

/** What an example says it prints, in its last lines; undefined when it does not say. */
export function promisedOutput(example: string): string | undefined {
  return /\n\/\* Prints:\n(.*)\n\*\/\n$/su.exec(example)?.[1];
}

export interface Block {
  /** `docs/guides/add-a-tool.md:12` */
  readonly place: string;
  readonly text: string;
}

/** The fenced blocks of a language, without the fences. */
export function blocksOf(documents: SourceTree, language: string): readonly Block[] {
  const fenced = new RegExp(`^\`\`\`${language}\\n(.*?)\\n?^\`\`\`$`, "gmsu");
  return [...documents].flatMap(([path, text]) =>
    [...text.matchAll(fenced)].map((match) => ({
      place: `${path}:${text.slice(0, match.index).split("\n").length}`,
      text: match[1] ?? "",
    })),
  );
}

/** The blocks that are not, as whole lines, part of one of the texts. */
export function foreignBlocks(blocks: readonly Block[], texts: readonly string[]): readonly string[] {
  return blocks
    .filter(({ text }) => !texts.some((whole) => `\n${whole.trimEnd()}\n`.includes(`\n${text.trimEnd()}\n`)))
    .map(({ place }) => place);
}

export interface Command {
  readonly place: string;
  readonly args: readonly string[];
  readonly output: string;
}

/** The `$ haft …` lines of console blocks, each with what follows it up to the next; words may stand in single quotes. */
export function haftCommands(blocks: readonly Block[]): readonly Command[] {
  return blocks.flatMap(({ place, text }) =>
    text
      .split(/^\$ /mu)
      .filter((part) => part.startsWith("haft "))
      .map((part) => {
        const [line = "", ...output] = part.split("\n");
        const words = [...line.matchAll(/'([^']*)'|(\S+)/gu)].map(([, quoted, plain]) => quoted ?? plain ?? "");
        return { place, args: words.slice(1), output: output.join("\n").trimEnd() };
      }),
  );
}
