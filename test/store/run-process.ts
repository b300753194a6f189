/** Starts processes that use a store, and reads what they say. */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import { bundledProgram } from "../bundled-program.ts";

const PROGRAM = bundledProgram("store/store-process");

export interface StoreProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  readonly lines: AsyncIterator<string>;
  readonly ended: Promise<number | null>;
}

export function startProcess(action: string, path: string, ids: readonly string[]): StoreProcess {
  return startProgram(PROGRAM, [action, path, ...ids]);
}

export function startProgram(program: string, args: readonly string[]): StoreProcess {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  // One that was stopped (SIGSTOP) and left so by a test that failed would keep this process from ending.
  // The drill runs without a test as well, in scripts/crash-drill.mjs.
  if (process.env["VITEST"] !== undefined) onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, lines, ended: new Promise((resolve) => child.once("close", (code) => resolve(code))) };
}

/** The next line of its output, as JSON; undefined when it has ended. */
export async function readOutput({ lines }: StoreProcess): Promise<unknown> {
  const { value, done } = await lines.next();
  return done === true ? undefined : JSON.parse(value);
}

/** Lets processes that are ready continue, all at once. */
export async function startTogether(processes: readonly StoreProcess[]): Promise<void> {
  for (const one of processes) await readOutput(one);
  for (const { child } of processes) child.stdin.end("go\n");
}

/** The remaining lines of its output. */
export async function readAllOutput(one: StoreProcess): Promise<readonly unknown[]> {
  const said: unknown[] = [];
  for (let next = await readOutput(one); next !== undefined; next = await readOutput(one)) said.push(next);
  return said;
}
