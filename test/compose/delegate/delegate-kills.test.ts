/** Jobs of delegates whose process is killed again and again. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { bundledProgram } from "../../bundled-program.ts";
import { temporaryFile } from "../../store/temporary-file.ts";

const SLOW = { timeout: 120_000 };
const PROGRAM = bundledProgram("compose/delegate/delegate-process");

/** The lines that a process says until it ends; it is killed when it has said all of `last`. */
async function live(args: readonly string[], last: readonly string[] = ["never"]): Promise<readonly string[]> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exit = once(child, "exit");
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (last.every((one) => lines.includes(one))) child.kill("SIGKILL");
  }
  await exit;
  return lines;
}

const KILLS = 4;

test.each([
  ["a delegate", "help", "erase"],
  ["a delegate that calls a delegate", "chief", "help"],
  ["a chain that calls a delegate", "chained", "erase"],
])("a job whose process is killed whenever a call of its delegate waits for approval is not parked (%s)", SLOW, async (_, ...job) => {
  const path = temporaryFile();
  for (let kill = 0; kill < KILLS; kill++) expect(await live([path, ...job], ["asked"])).toEqual(["asked"]);
  expect(await live([path, ...job, "answer"])).toEqual(["asked", "ended done"]);
});

test.each([
  ["a delegate", "help", "erase look"],
  ["a delegate that calls a delegate", "chief", "help look"],
])(
  "a job whose process is killed while a call of its delegate waits is parked where another one ran each time (%s)",
  SLOW,
  async (_, ...job) => {
    const path = temporaryFile();
    expect((await live([path, ...job], ["asked", "looks"])).toSorted()).toEqual(["asked", "looks"]);
    for (let kill = 1; kill < 3; kill++) expect(await live([path, ...job], ["looks"])).toContain("looks");
    expect(await live([path, ...job])).toEqual(["ended parked"]);
  },
);

/** What a job's processes say that end by themselves. */
async function lives(job: readonly string[], path: string = temporaryFile()): Promise<readonly (readonly string[])[]> {
  const said: (readonly string[])[] = [];
  for (let life = 0; life <= KILLS && said.at(-1)?.includes("ended parked") !== true; life++) said.push(await live([path, ...job]));
  return said;
}

test.each(["help", "chief", "chained"])(
  "a job is parked where a call of its delegate was approved and ended its process (%s)",
  SLOW,
  async (tool) => {
    expect(await lives([tool, "die", "answer"])).toEqual([["asked"], [], [], ["ended parked"]]);
  },
);

test(
  "a handler that ends its process before it has its session back is parked, also while a call of that session waits for approval",
  SLOW,
  async () => {
    const path = temporaryFile();
    const job = ["hasty", "erase"];
    expect(await live([path, ...job], ["asked"])).toEqual(["asked"]);
    expect(await lives(job, path)).toEqual([[], [], [], ["ended parked"]]);
  },
);
