/** Runs scenarios of the official conformance suite against our client, a few at a time. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
const CLIENT = `${process.execPath} ${bundledProgram("conformance/mcp-client")}`;
const LIMIT_MS = 60_000;

/** The scenarios that a client must pass, by name. */
export async function requiredScenarios(revision: Revision): Promise<readonly string[]> {
  const listed = await run(["list", "--requirements", revision]);
  const section = /Client scenarios[^\n]*\n((?: +- [^\n]+\n)+)/u.exec(listed)?.[1] ?? "";
  return [...section.matchAll(/- (\S+)/gu)].map((match) => match[1] ?? "");
}

/** Each one is two processes of node. */
const AT_A_TIME = 2;
let running = 0;
const waiting: (() => void)[] = [];

/** Runs one scenario, when fewer than two others run. */
export async function runScenario(scenario: string, revision: Revision): Promise<ScenarioOutcome> {
  while (running >= AT_A_TIME) await new Promise<void>((resolve) => waiting.push(resolve));
  running++;
  try {
    return await runNow(scenario, revision);
  } finally {
    running--;
    waiting.shift()?.();
  }
}

async function runNow(scenario: string, revision: Revision): Promise<ScenarioOutcome> {
  const folder = mkdtempSync(join(tmpdir(), "haft-conformance-"));
  try {
    const said = await run(["client", "--command", CLIENT, "--scenario", scenario, "--spec-version", revision, "--output-dir", folder]);
    const [result] = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith("checks.json"));
    if (result === undefined) return { failed: [`the suite did not run it: ${said}`], passed: 0 };
    return outcome(JSON.parse(readFileSync(join(folder, result), "utf8")));
  } finally {
    rmSync(folder, { recursive: true });
  }
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

function run(args: readonly string[]): Promise<string> {
  const env = { ...process.env, NODE_OPTIONS: `--import ${path("loopback-only.mjs")}` };
  return new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...args], { env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
