/**
 * Run by `npm start`. The command line plays `demo/conversation.jsonl` with local functions, a workspace of files
 * and a real MCP server, lends books through an HTTP API, books flights with tools that do not exist yet, simulates mails without sending
 * them, pays once although it is killed, and runs a program that books three things: simulated first, approved once, killed midway and resumed.
 * At a terminal it then serves the dashboard until Ctrl-C, unless `--once` is given.
 * Other arguments after `npm start --` are passed to the first `haft run`, and the other scenes are skipped.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openLibrary } from "./demo/library-server.ts";
import { runHaft } from "./demo/run-haft.ts";

const demo = fileURLToPath(new URL("demo/", import.meta.url));
const server = fileURLToPath(new URL("dist/index.js", import.meta.resolve("@modelcontextprotocol/server-everything/package.json")));

/** A fresh copy each time, so that the demo always starts from the same files. */
const workspace = mkdtempSync(join(tmpdir(), "haft-demo-"));
cpSync(join(demo, "workspace"), workspace, { recursive: true });

const library = await openLibrary("card-4711");
const environment = {
  HAFT_DEMO_WORKSPACE: workspace,
  HAFT_DEMO_MCP_SERVER: server,
  HAFT_DEMO_LIBRARY: library.url,
  HAFT_DEMO_LIBRARY_TOKEN: "card-4711",
};
const haft = (args: readonly string[], more = {}): Promise<number | null> => runHaft(args, { ...environment, ...more });

let stopped = false;

// The terminal sends Ctrl-C to both processes; this one waits for the child process to close what it opened.
process.on("SIGINT", () => (stopped = true));
process.on("SIGTERM", () => (stopped = true));

const isOnce = process.argv.includes("--once");
const options = process.argv.slice(2).filter((option) => option !== "--once");
const office = ["--config", join(demo, "office.toml")];
const trip = ["--config", join(demo, "trip.toml")];
const scenes: readonly (() => Promise<number | null>)[] = [
  () => haft(["run", join(demo, "conversation.jsonl"), "--config", join(demo, "haft.toml"), ...options]),
  () => haft(["run", join(demo, "library.jsonl"), "--config", join(demo, "library.toml")]),
  () => haft(["run", join(demo, "travel.jsonl"), "--config", join(demo, "travel.toml")]),
  () => haft(["run", join(demo, "mail.jsonl"), "--simulate", ...office]),
  () => haft(["run", join(demo, "invoice.jsonl"), "--session", "invoice", ...office], { HAFT_DEMO_CRASH: "1" }),
  () => haft(["sessions", "resume", "invoice", ...office]),
  () => haft(["run", join(demo, "trip.jsonl"), "--simulate", ...trip]),
  () => haft(["run", join(demo, "trip.jsonl"), "--session", "trip", ...trip], { HAFT_DEMO_CRASH: "1" }),
  () => haft(["sessions", "resume", "trip", ...trip]),
];
const titles = [
  "",
  "haft run library.jsonl",
  "haft run travel.jsonl",
  "haft run mail.jsonl --simulate",
  "haft run invoice.jsonl --session invoice",
  "haft sessions resume invoice",
  "haft run trip.jsonl --simulate",
  "haft run trip.jsonl --session trip",
  "haft sessions resume trip",
];

let code: number | null = 0;
for (const [index, play] of scenes.entries()) {
  if (stopped || (index > 0 && (code === 130 || options.length > 0))) break;
  if (index > 0) console.log(`\n\n$ ${titles[index]}`);
  code = await play();
}
// At a terminal, the dashboard then shows the last scene in a browser, until Ctrl-C.
if (code === 0 && options.length === 0 && !stopped && !isOnce && process.stdout.isTTY) {
  execFileSync(process.execPath, [fileURLToPath(new URL("../scripts/build-dashboard.ts", import.meta.url))]);
  console.log(
    "\n\n$ haft serve\nThe dashboard has the trip that was booked. Open the address below, and enter the token. Ctrl-C ends it.\n",
  );
  code = await haft(["serve", "--port", "0", ...trip]);
}
library.close();
rmSync(workspace, { recursive: true, force: true });
process.exitCode = code ?? 1;
