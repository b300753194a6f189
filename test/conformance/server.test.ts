/** The official conformance suite as the client of a server built with Haft. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { bundledProgram } from "../bundled-program.ts";
import { inCI } from "../ci.ts";

const FIXTURE = bundledProgram("conformance/mcp-server");
const SUITE = fileURLToPath(new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url));
const PATIENCE_MS = 120_000;

interface Scenario {
  readonly name: string;
  readonly passed: boolean;
}

/** Starts the fixture; resolves to its address. It ends with its input. */
function startFixture(): Promise<string> {
  const child = spawn(process.execPath, [FIXTURE], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.stdin.end());
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`the fixture ended with ${code}`)));
    child.stdout.setEncoding("utf8").once("data", (text: string) => resolve(text.trim()));
  });
}

function run(args: readonly string[]): Promise<{ readonly exitCode: number | null; readonly text: string }> {
  const child = spawn(process.execPath, [SUITE, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  return new Promise((resolve) => child.on("close", (exitCode) => resolve({ exitCode, text })));
}

/** What the suite says at its end of each scenario, and which of them count. */
function readSummary(text: string): { readonly required: readonly Scenario[]; readonly others: readonly Scenario[] } {
  const [summary = "", unscored = ""] = (text.split("=== SUMMARY ===")[1] ?? "").split("Not scored");
  const lines = [...summary.matchAll(/^([✓✗]) ([\w-]+): \d+ passed, \d+ failed$/gmu)];
  const names = new Set([...unscored.matchAll(/^ {2}[✓✗] ([\w-]+) \(/gmu)].map(([, name]) => name));
  const scenarios = lines.map(([, mark, name = ""]) => ({ name, passed: mark === "✓" }));
  return { required: scenarios.filter(({ name }) => !names.has(name)), others: scenarios.filter(({ name }) => names.has(name)) };
}

test.skipIf(!inCI).each([
  { revision: "2025-11-25", required: 30 },
  { revision: "2026-07-28", required: 37 },
])(
  "F4.34 the suite's $required required server scenarios of $revision pass (in CI)",
  { timeout: PATIENCE_MS },
  async ({ revision, required }) => {
    const url = await startFixture();
    const { exitCode, text } = await run(["server", "--url", url, "--requirements", revision]);
    const summary = readSummary(text);
    expect(summary.required.filter(({ passed }) => !passed)).toEqual([]);
    expect(summary.required).toHaveLength(required);
    expect(summary.others.filter(({ passed }) => !passed)).toEqual([]);
    expect(exitCode).toBe(0);
  },
);
