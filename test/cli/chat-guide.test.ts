import { readFileSync, writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { blocksOf } from "../house/example-output.ts";
import { startProviderServer, type ServedAnswer } from "../model/provider-server.ts";
import { folderWith, masked } from "./run-haft.ts";

const guide = new Map([["chat-with-a-model.md", readFileSync("docs/guides/chat-with-a-model.md", "utf8")]]);
const config = blocksOf(guide, "toml")[0]?.text ?? "";
const sessions = blocksOf(guide, "sh-session").map(({ text }) => text);

const EDIT = { name: "notes__edit", input: { path: "plan.md", old: "- buy", new: "- [x] buy" } };
const WRITE = { name: "notes__write", input: { path: "plan.md", content: "# Plan\n" } };
const READ = { name: "notes__read", input: { path: "plan.md" } };

interface Scene {
  /** As the shell gives them. */
  readonly args: readonly string[];
  readonly script: readonly ServedAnswer[];
  /** What a person types at each question; left out = nobody is at the terminal. */
  readonly types?: readonly string[];
  readonly input?: string;
}

const SCENES: readonly Scene[] = [
  {
    args: ["chat"],
    script: [{ text: "I read the plan first.", calls: [READ] }, { calls: [EDIT] }, { text: "Done: the milk is bought." }],
    types: ["Mark the milk as bought.", "y", "/usage"],
  },
  {
    args: ["chat", "--session", "plan", "--store", "haft.db"],
    script: [{ calls: [EDIT] }],
    input: "Mark the milk as bought.\n",
  },
  {
    args: ["run", "--prompt", "Mark the milk as bought.", "--simulate"],
    script: [{ calls: [WRITE] }, { text: "Written." }],
  },
];

/** What stands on the screen when it is over, without what is left of the last prompt. */
async function shown({ args, script, types, input = "" }: Scene): Promise<string> {
  const server = await startProviderServer({ format: "anthropic-messages", script });
  writeFileSync("haft.toml", config.replace("[model]\n", `[model]\nbaseUrl = "${server.url}"\n`));
  let screen = "";
  const write = (text: string): void => void (screen += text);
  const terminal = types === undefined ? { write } : { write, isTTY: true, columns: 120 };
  const answers = [...(types ?? [])];
  await runCli(args, {
    stdout: terminal,
    stderr: terminal,
    stdin: Readable.from([Buffer.from(input)]),
    ask:
      types === undefined
        ? undefined
        : async (question) => {
            const answer = answers.shift();
            write(`${question}${answer ?? ""}\n`);
            return answer;
          },
    environment: { NO_COLOR: "1", ANTHROPIC_API_KEY: "k" },
    signal: new AbortController().signal,
  });
  await server.close();
  return timeless(screen.replace(/\nyou {5}\n$/u, ""));
}

function timeless(text: string): string {
  return masked(text)
    .replaceAll(/[ \t]+$/gmu, "")
    .trimEnd();
}

test("every session in the guide matches the actual output of the command line", async () => {
  const folder = folderWith({ "notes/plan.md": "# Plan\n\n- buy milk\n" });
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(folder);
  const screens: string[] = [];
  for (const scene of SCENES) screens.push((await shown(scene)).replaceAll(folder, "/home/ada"));
  expect(screens).toEqual(sessions.map((text) => timeless(text.slice(text.indexOf("\n") + 1))));
});
