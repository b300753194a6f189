import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { blocksOf, haftCommands } from "../house/example-output.ts";
import { folderWith, masked } from "./run-haft.ts";

const guide = new Map([["command-line.md", readFileSync("docs/guides/command-line.md", "utf8")]]);
const [config = "", conversation = ""] = ["toml", "json"].map((language) => blocksOf(guide, language)[0]?.text ?? "");
const commands = haftCommands(blocksOf(guide, "console")).filter(({ args }) => !args.includes("|"));

/** What a terminal of a hundred columns shows, where somebody answers every question with y. */
async function shownAt(args: readonly string[]): Promise<string> {
  let shown = "";
  const write = (text: string): void => void (shown += text);
  const terminal = { write, isTTY: true, columns: 100 };
  await runCli(args, {
    stdout: terminal,
    stderr: terminal,
    stdin: Readable.from([]),
    ask: async (question) => {
      write(`${question}y\n`);
      return "y";
    },
    environment: { NO_COLOR: "1" },
    signal: new AbortController().signal,
  });
  return masked(shown)
    .replaceAll(/[ \t]+$/gmu, "")
    .trimEnd();
}

/** What differs from one machine and moment to another. */
function timeless(text: string): string {
  return masked(text)
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/gu, "<time>")
    .replaceAll(/\d+ events/gu, "# events");
}

/** Each command begins with the notes as the guide shows them. */
function resetNotes(folder: string): void {
  rmSync(join(folder, "notes"), { recursive: true });
  mkdirSync(join(folder, "notes"));
  writeFileSync(join(folder, "notes/plan.md"), "# Plan\n\n- buy milk\n- sleep\n");
}

test("every command in the guide prints the output that the guide shows", async () => {
  const folder = folderWith({ "haft.toml": config, "talk.jsonl": conversation, "notes/plan.md": "" });
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(folder);
  const shown: string[] = [];
  resetNotes(folder);
  await shownAt(["run", "talk.jsonl", "--session", "plan", "--store", "haft.db"]);
  for (const { args, output } of commands) {
    resetNotes(folder);
    const mistaken = output.startsWith("haft: invalid_config");
    writeFileSync(join(folder, "haft.toml"), mistaken ? config.replace("root =", "rot =") : config);
    shown.push(timeless((await shownAt(args)).replaceAll(folder, "/home/ada")));
  }
  expect(shown).toEqual(commands.map(({ output }) => timeless(output).replaceAll(/[ \t]+$/gmu, "")));
  expect(commands).toHaveLength(13);
});
