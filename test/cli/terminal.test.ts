import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import type { Ask } from "../../src/cli/command.ts";
import { COMMANDS, loadCommand } from "../../src/cli/commands.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import { PROJECT, folderWith, masked } from "./run-haft.ts";

const folder = folderWith({ ...PROJECT, "notes/long.md": Array.from({ length: 12 }, (_, index) => `line ${index + 1}\n`).join("") });

interface TerminalOptions {
  readonly ask?: Ask;
  readonly columns?: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** The words of each command, of those in groups as well; the program itself has none. */
async function everyCommand(): Promise<readonly (readonly string[])[]> {
  const commands = await Promise.all(Object.keys(COMMANDS).map((name) => loadCommand(name)));
  const named = commands.flatMap((command) => {
    if (command === undefined) return [];
    const inner = "commands" in command ? command.commands : (command.subcommands ?? []);
    return [command, ...inner].map(({ name }) => name.split(" "));
  });
  return [[], ...named];
}

/** Runs the command line in this process, as if at a terminal; standard error is a terminal too. */
async function atTerminal(args: readonly string[], { ask, columns, environment = {}, input = "" }: TerminalOptions = {}) {
  const output = { exitCode: 0, stdout: "", stderr: "" };
  const screen = (name: "stdout" | "stderr") => ({
    write: (text: string) => void (output[name] += text),
    isTTY: true,
    ...(columns === undefined ? {} : { columns }),
  });
  output.exitCode = await runCli([...args, "--config", join(folder, "haft.toml")], {
    stdout: screen("stdout"),
    stderr: screen("stderr"),
    stdin: Readable.from([Buffer.from(input)]),
    ask,
    environment,
    signal: new AbortController().signal,
  });
  return output;
}

/** A person who types these lines, one for each question, and what was asked. */
function person(...answers: readonly string[]): { readonly ask: Ask; readonly asked: () => number } {
  let count = 0;
  return { ask: async () => answers[count++] ?? "", asked: () => count };
}

const conversation = (...calls: readonly unknown[]): string => JSON.stringify({ role: "assistant", calls });

describe("colours and width", () => {
  test("D04 a terminal gets colours, lines that fit, and no control characters from third-party text", async () => {
    expect(await atTerminal(["list", "math"], { columns: 44 })).toEqual({
      exitCode: 0,
      stdout: [
        "\u001b[1mmath::add\u001b[22m     \u001b[36mpure       \u001b[39m  Adds two whole n…\n",
        "\u001b[1mmath::fail\u001b[22m    \u001b[36mreads      \u001b[39m  Always fails.\\u{…\n",
        "\u001b[1mmath::forget\u001b[22m  \u001b[36mdestructive\u001b[39m  Forgets everythi…\n",
        "\u001b[1mmath::hang\u001b[22m    \u001b[36mreads      \u001b[39m  Never answers.\n",
        "\u001b[2m4 tools\u001b[22m\n",
      ].join(""),
      stderr: "",
    });
  });

  test.for([{ NO_COLOR: "1" }, { TERM: "dumb" }])("no colours with %j", async (environment) => {
    const { stdout, stderr } = await atTerminal(["call", "ad"], { environment });
    expect(stdout + stderr).toBe('haft: not_found: No tool "ad". Did you mean "math::add"?\n');
  });

  test("a long result is cut to eight lines, and a long single line to the width", async () => {
    const input = conversation({ name: "files::read", input: { path: "long.md" } }, { name: "files::list", input: { path: "." } });
    const { stdout } = await atTerminal(["run", "-"], { columns: 60, input, environment: { NO_COLOR: "1" } });
    expect(masked(stdout)).toContain("✓ #1  files::read # ms\n        1  line 1\n        2  line 2\n");
    expect(stdout).toContain("\n        8  line 8\n        … and 4 more lines\n");
    expect(stdout.split("\n").filter((line) => line.length > 60)).toEqual([]);
  });

  test("every help page fits 80 columns", async () => {
    for (const command of await everyCommand()) {
      const { exitCode, stdout } = await atTerminal(["help", ...command]);
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/^Usage: haft .* \[options\]\n[^]*\nOptions:\n[^]*\nExamples:\n {2}\S/mu);
      expect(stdout.split("\n").filter((line) => line.length > 90 || (line.length > 80 && !line.includes('{"role"')))).toEqual([]);
    }
  });
});

describe("approval at the terminal", () => {
  test("shows the whole input, accepts y as yes and asks again after anything else", async () => {
    const { ask, asked } = person("what?", " Y ");
    const output = await atTerminal(["call", "forget", '{"from": "\\u001b[8mhidden\\u202e"}'], { ask, environment: { NO_COLOR: "1" } });
    expect([output, asked()]).toEqual([
      {
        exitCode: 0,
        stdout: "forgotten\n",
        stderr:
          '\n  ? May math::forget run? math::forget may destroy something.\n    Forgets everything.\n    {\n      "from": "\\u001b[8mhidden\\u202e"\n    }\n  Type y, n, i for this input in this session, or a for always in this session.\n',
      },
      2,
    ]);
  });

  test.for(["", "n", "No"])("%j means no", async (answer) => {
    const { exitCode, stdout } = await atTerminal(["call", "forget"], person(answer));
    expect({ exitCode, stdout }).toEqual({ exitCode: 6, stdout: "" });
  });

  test("always also allows the other calls of the same tool in the batch and later", async () => {
    const { ask, asked } = person("a");
    const calls = [{ name: "forget" }, { name: "forget" }];
    const { stdout } = await atTerminal(["run", "-"], {
      ask,
      input: `${conversation(...calls)}\n${conversation(...calls)}`,
      environment: { NO_COLOR: "1" },
    });
    expect(asked()).toBe(1);
    expect(stdout).toContain("  ? #1  you answered allow-always\n");
    expect(stdout).toContain("  calls        4  4 ok\n  attempts     4\n  repairs      0\n  approvals    1  1 allowed\n");
  });

  test("--yes allows calls without asking, and the run says so", async () => {
    const { ask, asked } = person("n");
    const { stdout } = await atTerminal(["run", "-", "--yes"], {
      ask,
      input: conversation({ name: "forget" }),
      environment: { NO_COLOR: "1" },
    });
    expect([asked(), masked(stdout)]).toEqual([
      0,
      expect.stringContaining("  ? #1  is allowed by --yes\n  ✓ #1  math::forget # ms  forgotten\n"),
    ]);
  });
});
