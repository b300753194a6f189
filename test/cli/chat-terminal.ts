/** A command in a pseudo-terminal, whose keys are typed when its screen shows what they answer. */
import { spawn, spawnSync } from "node:child_process";
import { expect } from "vitest";
import { CANARY, type ChatProject } from "./chat-project.ts";
import { PATIENCE_MS, PROGRAM } from "./run-haft.ts";
import { TerminalScreen } from "./terminal-screen.ts";

/** Whether `script` can give a program a terminal here. */
export const hasTerminals = String(spawnSync("script", ["--version"]).stdout).includes("util-linux");

export interface Step {
  /** The screen shows this before the keys are typed. */
  readonly when: string | RegExp;
  readonly keys?: string;
  readonly act?: () => void;
  /** Closes the terminal, as a person closes its window. */
  readonly closes?: true;
}

interface Screens {
  /** With the exit code. */
  readonly end: string;
  /** Those before each step. */
  readonly screens: readonly string[];
}

/** Runs a chat in a terminal of its own. `more` is added to its command line. */
export function chatAt(project: ChatProject, columns: number, steps: readonly Step[], more = ""): Promise<Screens> {
  return runAt(project.folder, `chat ${more}`, { columns, steps });
}

/** Runs a command line of haft in a terminal of its own. */
export async function runAt(
  folder: string,
  line: string,
  { columns, steps }: { readonly columns: number; readonly steps: readonly Step[] },
): Promise<Screens> {
  // A job of the shell, as people start it: the shell owns the terminal, and is told first that it is closed.
  const command = `set -m; stty cols ${columns}; ${process.execPath} --conditions=haft-source ${PROGRAM} ${line}; exit $?`;
  const child = spawn("script", ["-qefc", command, "/dev/null"], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HAFT_TRUST: "all", NO_COLOR: "1", TERM: "xterm", MODEL_KEY: CANARY },
    timeout: PATIENCE_MS / 2, // so that the screen is shown where a step is left
  });
  const screen = new TerminalScreen(columns);
  const left = [...steps];
  const screens: string[] = [];
  const type = (): void => {
    for (let [step] = left; step !== undefined; [step] = left) {
      const isThere = typeof step.when === "string" ? screen.text.includes(step.when) : step.when.test(screen.text);
      if (!isThere) return;
      left.shift();
      screens.push(screen.text);
      step.act?.();
      if (step.keys !== undefined) child.stdin.write(step.keys);
      if (step.closes) child.kill("SIGKILL");
    }
  };
  type();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen.write(text);
    type();
  });
  const exitCode = await new Promise<number | null>((resolve) => child.on("close", resolve));
  expect([left, left.length === 0 ? "" : screen.text]).toEqual([[], ""]);
  return { end: `${screen.text.trimEnd()}\nexit ${exitCode}`, screens };
}
