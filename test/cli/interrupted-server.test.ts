/** Ctrl-C at a terminal while a server of tools is busy, and does not end by itself. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { PATIENCE_MS, PROGRAM, folderWith } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

/** Answers no call, and notes what it is told and how it is asked to end, which it heeds only the hard way. */
const SERVER = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const note = (text) => appendFileSync("noted.txt", text + "\\n");
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "tools/call" || method === "notifications/cancelled") note(method);
  const results = {
    initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
    "tools/list": { tools: [{ name: "work", inputSchema: { type: "object" } }] },
  };
  if (results[method]) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }) + "\\n");
});
lines.on("close", () => note("end of input"));
process.on("SIGTERM", () => note("SIGTERM"));
process.on("exit", () => note("ended by itself"));
setInterval(() => {}, 1000);
note(String(process.pid));
`;

const hasTerminals = String(spawnSync("script", ["--version"]).stdout).includes("util-linux");

describe.skipIf(!hasTerminals)("at a terminal of its own (needs script of util-linux)", { timeout: PATIENCE_MS }, () => {
  testInCI(
    "the first Ctrl-C cancels the call, prints a newline after ^C, and ends a server that ignores the end of its input and SIGTERM",
    async () => {
      const config = `[toolsets.busy]\ntype = "mcp"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ["server.mjs"]\n`;
      const folder = folderWith({ "haft.toml": config, "server.mjs": SERVER });
      const noted = (): readonly string[] => {
        const path = join(folder, "noted.txt");
        return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
      };
      const child = spawn(
        "script",
        ["-qefc", `${process.execPath} --conditions=haft-source ${PROGRAM} call busy::work --yes`, "/dev/null"],
        {
          cwd: folder,
          env: { PATH: process.env["PATH"], HAFT_TRUST: "all", NO_COLOR: "1", TERM: "xterm" },
          timeout: PATIENCE_MS,
        },
      );
      let shown = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
      const watcher = watch(folder, () => {
        if (!noted().includes("tools/call")) return;
        watcher.close();
        child.stdin.write("\u0003");
      });
      const exitCode = await new Promise<number | null>((resolve) => child.on("close", resolve));
      const [pid, ...events] = noted();
      expect({ exitCode, events, shown: shown.replaceAll("\r", "") }).toEqual({
        exitCode: 130,
        events: ["tools/call", "notifications/cancelled", "end of input", "SIGTERM"],
        shown: "^C\nhaft: cancelled: Stopped by Ctrl-C.\n",
      });
      expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
    },
  );
});
