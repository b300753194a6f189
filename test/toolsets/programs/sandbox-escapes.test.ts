import { heapBytes } from "../../../scripts/exact-accounting.ts";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ToolResult } from "../../../src/core/result.ts";
import { resultText } from "../../../src/core/result.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import type { ShellOptions } from "../../../src/toolsets/shell.ts";
import { FILE_ESCAPES, GREEDY, NETWORK_ESCAPES, PROCESS_ESCAPES, SURVIVORS, type Escape } from "./escapes.ts";
import { HAS_PYTHON, HAS_SANDBOX, SANDBOX, bash, folderWith, isRunning, openedRuntime } from "./program-room.ts";

const inCI = process.env["CI"] !== undefined;
const IN_CI = inCI ? "" : " (some of them; all where CI is set)";
const SECONDS = 1_000;

interface Room {
  readonly runtime: Runtime;
  readonly root: string;
  readonly mark: string;
  /** What the host has of it, which must be as before. */
  readonly changed: () => readonly string[];
}

async function listen(server: Server, at: { readonly path: string } | { readonly port: number; readonly host: string }): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(at, resolve));
  onTestFinished(() => void server.close());
  return server;
}

async function room(options: Partial<ShellOptions> = {}): Promise<Room> {
  const outside = folderWith({ "secret.txt": "the secret" }, "/var/tmp");
  const root = folderWith(
    { ".env": "KEY=1", "nested/.npmrc": "token", ".git/hooks/x": "", ".git/config": "", "haft.toml": "#", "own/tools.ts": "//" },
    "/var/tmp",
  );
  const mark = `haft-mark-${process.pid}-${Math.floor(performance.now() * 1000)}`;
  const tcp = await listen(createServer(), { port: 0, host: "127.0.0.1" });
  await listen(createServer(), { path: join(outside, "socket") });
  await listen(createServer(), { path: `\0${mark}` });
  const victim = spawn("sh", ["-c", "sleep 600; true", mark], { stdio: "ignore" });
  onTestFinished(() => void victim.kill("SIGKILL"));
  const address = tcp.address();
  const out = join(outside, "out");
  mkdirSync(out);
  const env = {
    SECRET: join(outside, "secret.txt"),
    OUT: out,
    SOCKET: join(outside, "socket"),
    PORT: String(typeof address === "object" ? address?.port : ""),
    VICTIM: String(victim.pid),
    MARK: mark,
  };
  const runtime = await openedRuntime({ root, env, protect: [join(root, "own/tools.ts")], ...options }, { python: true });
  const changed = (): readonly string[] => [
    ...(readFileSync(env.SECRET, "utf8") === "the secret" ? [] : ["the secret"]),
    ...[join(out, "x"), join(outside, mark), `/dev/shm/${mark}`, `/usr/bin/${mark}`, `/usr/local/bin/${mark}`].filter((path) =>
      existsSync(path),
    ),
    ...(victim.exitCode === null && victim.signalCode === null ? [] : ["the victim"]),
    ...(readFileSync(join(root, "haft.toml"), "utf8") === "#" ? [] : ["haft.toml"]),
    ...(readFileSync(join(root, "own/tools.ts"), "utf8") === "//" ? [] : ["own/tools.ts"]),
    ...(existsSync(join(root, ".git/hooks/pre-commit")) ? [".git/hooks/pre-commit"] : []),
  ];
  return { runtime, root, mark, changed };
}

async function attempt(runtime: Runtime, { program }: Escape, timeout = 15): Promise<ToolResult> {
  if (!program.startsWith("python:")) return await bash(runtime, program, timeout);
  return await runtime.execute({ name: "python::python", input: { code: program.slice("python:".length), timeout } });
}

const usable = (escapes: readonly Escape[]): readonly Escape[] =>
  escapes.filter(({ program }) => HAS_PYTHON || !program.startsWith("python:"));
const ESCAPES = usable([...FILE_ESCAPES, ...NETWORK_ESCAPES, ...PROCESS_ESCAPES]);
const TRIED = inCI ? ESCAPES : ESCAPES.filter((_, index) => index % 12 === 0);

test("at least 60 escapes are tried", () => {
  expect(FILE_ESCAPES.length + NETWORK_ESCAPES.length + PROCESS_ESCAPES.length + GREEDY.length + SURVIVORS.length).toBeGreaterThanOrEqual(
    60,
  );
});

describe.skipIf(!HAS_SANDBOX)(`F4.40 the sandbox${SANDBOX}`, () => {
  test(`resists every escape${IN_CI}`, { timeout: 180 * SECONDS }, async () => {
    process.env["CANARY_OF_HOST"] = "1";
    const { runtime, changed } = await room();
    const escaped: string[] = [];
    for (const escape of TRIED) {
      const result = await attempt(runtime, escape);
      const isRun = result.exitCode !== undefined && !resultText(result).includes("sandbox could not be created");
      if (!isRun || resultText(result).includes("ESCAPED") || changed().length > 0)
        escaped.push(`${escape.what}: ${resultText(result).slice(0, 500)} ${changed().join()}`);
    }
    expect(escaped).toEqual([]);
  });

  test.skipIf(!inCI)(
    "G08 limits programs that exhaust resources, at a cost of less than 150 MB to the host",
    { timeout: 240 * SECONDS },
    async () => {
      const { runtime } = await room({ maxMemoryBytes: 256 * 1024 * 1024, maxProcesses: 20 });
      const before = heapBytes();
      const escaped: string[] = [];
      for (const escape of usable(GREEDY)) {
        const result = await attempt(runtime, escape, 3);
        if (result.exitCode === undefined || resultText(result).includes("ESCAPED"))
          escaped.push(`${escape.what}: ${resultText(result).slice(0, 500)}`);
      }
      expect(escaped).toEqual([]);
      expect((heapBytes() - before) / 1024 ** 2).toBeLessThan(150);
    },
  );
});

describe("G07 no process of a command outlives it", () => {
  const kinds = [...(HAS_SANDBOX ? (["bubblewrap"] as const) : []), ...(process.platform === "linux" ? (["none"] as const) : [])];
  test.each(inCI ? kinds : kinds.slice(0, 1))(
    `F1.64 with the sandbox %s: background processes, new sessions and double forks${SANDBOX}`,
    { timeout: 60 * SECONDS },
    async (sandbox) => {
      const runtime = await openedRuntime({ root: folderWith(), sandbox, overlap: true });
      const base = (process.pid % 100_000) * 1_000 + 100_000_000 + (sandbox === "none" ? 500 : 0);
      const left = await Promise.all(
        SURVIVORS.map(async ([what, command], index) => {
          const seconds = String(base + index);
          const { status } = await bash(runtime, command(seconds));
          return isRunning(`sleep ${seconds}`) || status !== "ok" ? [what, status] : [];
        }),
      );
      expect(left.flat()).toEqual([]);
    },
  );

  test.skipIf(!inCI).each(kinds)(
    "F1.26 with the sandbox %s: the same processes, when the command times out",
    { timeout: 60 * SECONDS },
    async (sandbox) => {
      const runtime = await openedRuntime({ root: folderWith(), sandbox, overlap: true });
      const base = (process.pid % 100_000) * 1_000 + 200_000_000 + (sandbox === "none" ? 500 : 0);
      const results = await Promise.all(
        SURVIVORS.map(([, command], index) => bash(runtime, `${command(String(base + index))}; sleep 300; true`, 1)),
      );
      expect(results.map(({ exitCode }) => exitCode)).toEqual(SURVIVORS.map(() => -1));
      expect(SURVIVORS.filter((_, index) => isRunning(`sleep ${base + index}`))).toEqual([]);
    },
  );
});

test.skipIf(!inCI || process.platform !== "linux")(
  "the control escapes work without a sandbox, so that their failure in it is meaningful",
  { timeout: 60 * SECONDS },
  async () => {
    process.env["CANARY_OF_HOST"] = "1";
    const { runtime } = await room({ sandbox: "none" });
    const failed: string[] = [];
    for (const escape of usable([...FILE_ESCAPES, ...NETWORK_ESCAPES, ...PROCESS_ESCAPES]).filter((each) => each.control === true)) {
      const result = await attempt(runtime, escape);
      if (!resultText(result).includes("ESCAPED")) failed.push(`${escape.what}: ${resultText(result).slice(0, 500)}`);
    }
    expect(failed).toEqual([]);
  },
);
