/** Runs scenarios of the official conformance suite against our client. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundledProgram } from "../bundled-program.ts";

export type Revision = "2025-11-25" | "2026-07-28";

export interface ScenarioOutcome {
  /** `check: message` for each check that failed. */
  readonly failed: readonly string[];
  readonly passed: number;
}

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const SUITE = path("../../node_modules/@modelcontextprotocol/conformance/dist/index.js");
const CLIENT = `${process.execPath} --import ${path("wait-for-turn.mjs")} ${bundledProgram("conformance/mcp-client")}`;
const LIMIT_MS = 240_000;

/** The scenarios that a client must pass, by name. */
export async function requiredScenarios(revision: Revision): Promise<readonly string[]> {
  const listed = await run(["list", "--requirements", revision]);
  const section = /Client scenarios[^\n]*\n((?: +- [^\n]+\n)+)/u.exec(listed)?.[1] ?? "";
  return [...section.matchAll(/- (\S+)/gu)].map((match) => match[1] ?? "");
}

/** Runs all that a client must pass in one process of the suite, which begins them together; each client then waits for its turn. */
export async function runRequired(revision: Revision): Promise<ReadonlyMap<string, ScenarioOutcome>> {
  const folder = mkdtempSync(join(tmpdir(), "haft-conformance-"));
  const turns = await giveTurns();
  try {
    const { port } = turns.address() as AddressInfo; // it listens on a port
    const limit = ["--timeout", String(LIMIT_MS)];
    await run(["client", "--command", CLIENT, "--requirements", revision, "--output-dir", folder, ...limit], { HAFT_TURNS: String(port) });
    const results = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => basename(name) === "checks.json");
    return new Map(results.map((name) => [scenarioOf(name), outcome(JSON.parse(readFileSync(join(folder, name), "utf8")))]));
  } finally {
    turns.close();
    rmSync(folder, { recursive: true });
  }
}

/** Their folders are called after them and the time. */
function scenarioOf(result: string): string {
  return dirname(result)
    .replaceAll("\\", "/")
    .replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/u, "");
}

/** All clients at once would each take longer than the suite's servers wait. */
const AT_A_TIME = 2;

/** A server whose connections are told to begin, two at a time, in the order in which they came. */
async function giveTurns(): Promise<Server> {
  const waiting: Socket[] = [];
  let running = 0;
  const next = (): void => {
    if (running === AT_A_TIME) return;
    const socket = waiting.shift();
    if (socket === undefined) return;
    running++;
    socket.resume().once("close", () => {
      running--;
      next();
    });
    socket.write("begin");
  };
  const server = createServer((socket) => {
    socket.on("error", () => {}); // its process was killed
    waiting.push(socket);
    next();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
  readonly details?: unknown;
}

function outcome(checks: readonly Check[]): ScenarioOutcome {
  const failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
  return {
    failed: failed.map((check) => `${check.id}: ${check.errorMessage ?? JSON.stringify(check.details)}`),
    passed: checks.filter(({ status }) => status === "SUCCESS").length,
  };
}

function run(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<string> {
  const env = { ...process.env, ...more, NODE_OPTIONS: `--import ${path("loopback-only.mjs")}` };
  return new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...args], { env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
