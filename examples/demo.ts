/**
 * What `npm start` runs: the command line plays `demo/conversation.jsonl` through local functions, a workspace of files
 * and a real MCP server, then tries mails without sending them, and pays an invoice once although it is killed on the way.
 * What follows `npm start --` goes to the first `haft run`, and the rest is left out; `--once` is accepted and changes nothing.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const demo = fileURLToPath(new URL("demo/", import.meta.url));
const program = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
const server = fileURLToPath(new URL("dist/index.js", import.meta.resolve("@modelcontextprotocol/server-everything/package.json")));

/** A fresh copy each time, so that the demo starts from the same files whatever it did before. */
const workspace = mkdtempSync(join(tmpdir(), "haft-demo-"));
cpSync(join(demo, "workspace"), workspace, { recursive: true });

let stopped = false;

/** Runs one command line; resolves to its exit code, null when it was killed. */
function haft(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<number | null> {
  const child = spawn(process.execPath, ["--conditions=haft-source", program, ...args], {
    stdio: "inherit",
    env: { ...process.env, HAFT_DEMO_WORKSPACE: workspace, HAFT_DEMO_MCP_SERVER: server, ...environment },
  });
  const stop = (): void => void child.kill("SIGTERM");
  process.once("SIGTERM", stop);
  return new Promise((resolve) =>
    child.on("close", (code) => {
      process.removeListener("SIGTERM", stop);
      resolve(code);
    }),
  );
}

// The terminal sends Ctrl-C to both processes; this one waits for the other, which closes what it opened.
process.on("SIGINT", () => (stopped = true));
process.on("SIGTERM", () => (stopped = true));

const options = process.argv.slice(2).filter((option) => option !== "--once");
const office = ["--config", join(demo, "office.toml")];
const scenes: readonly (() => Promise<number | null>)[] = [
  () => haft(["run", join(demo, "conversation.jsonl"), "--config", join(demo, "haft.toml"), ...options]),
  () => haft(["run", join(demo, "mail.jsonl"), "--simulate", ...office]),
  () => haft(["run", join(demo, "invoice.jsonl"), "--session", "invoice", ...office], { HAFT_DEMO_CRASH: "1" }),
  () => haft(["sessions", "resume", "invoice", ...office]),
];
const titles = ["", "haft run mail.jsonl --simulate", "haft run invoice.jsonl --session invoice", "haft sessions resume invoice"];

let code: number | null = 0;
for (const [index, play] of scenes.entries()) {
  if (stopped || (index > 0 && (code === 130 || options.length > 0))) break;
  if (index > 0) console.log(`\n\n$ ${titles[index]}`);
  code = await play();
}
rmSync(workspace, { recursive: true, force: true });
process.exitCode = code ?? 1;
