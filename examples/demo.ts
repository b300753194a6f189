/**
 * What `npm start` runs: the command line plays `demo/conversation.jsonl` through local functions, a workspace of files
 * and a real MCP server. What follows `npm start --` goes to `haft run`; `--once` is accepted and changes nothing.
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

const options = process.argv.slice(2).filter((option) => option !== "--once");
const child = spawn(
  process.execPath,
  ["--conditions=haft-source", program, "run", join(demo, "conversation.jsonl"), "--config", join(demo, "haft.toml"), ...options],
  { stdio: "inherit", env: { ...process.env, HAFT_DEMO_WORKSPACE: workspace, HAFT_DEMO_MCP_SERVER: server } },
);

// The terminal sends Ctrl-C to both processes; this one waits for the other, which closes what it opened.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("close", (code) => {
  rmSync(workspace, { recursive: true, force: true });
  process.exitCode = code ?? 1;
});
