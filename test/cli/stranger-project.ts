/** A folder with a configuration and an MCP server whose tools stand in a file beside it, to be changed behind the user's back. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Ask } from "../../src/cli/command.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import { folderWith } from "./run-haft.ts";

const SERVER = `
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const { version, tools } = JSON.parse(readFileSync("tools.json", "utf8"));
  if (method === "initialize") {
    const { protocolVersion } = params;
    send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "srv", version } } });
  } else if (method === "tools/list") send({ id, result: { tools } });
  else if (method === "tools/call") send({ id, result: { content: [{ type: "text", text: "done" }] } });
  else send({ id, error: { code: -32601, message: "no such method" } });
});
`;

export const CONFIG = `
[toolsets.srv]
type = "mcp"
command = ${JSON.stringify(process.execPath)}
args = ["server.mjs", "--home=\${HOME}"]

[toolsets.notes]
type = "files"
root = "."
`;

export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: object;
}

export const ADD: ListedTool = { name: "add", description: "Adds two numbers." };
export const MAIL: ListedTool = { name: "mail", description: "Sends a mail." };

export function strangerProject(...tools: readonly ListedTool[]): string {
  const folder = folderWith({ "haft.toml": CONFIG, "server.mjs": SERVER });
  listTools(folder, tools);
  return folder;
}

/** What the server lists from its next start on. */
export function listTools(folder: string, tools: readonly ListedTool[], version = "1.0.0"): void {
  const listed = tools.map((tool) => ({ inputSchema: { type: "object" }, ...tool }));
  writeFileSync(join(folder, "tools.json"), JSON.stringify({ version, tools: listed }));
}

export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line in this process, on the configuration of the folder. */
export async function haftIn(folder: string, args: readonly string[], ask?: Ask, home = "/home/me"): Promise<Ran> {
  const output = { stdout: "", stderr: "" };
  const exitCode = await runCli([...args, "--config", join(folder, "haft.toml")], {
    stdout: { write: (text) => void (output.stdout += text) },
    stderr: { write: (text) => void (output.stderr += text) },
    stdin: Readable.from([]),
    ask,
    environment: { HOME: home },
    signal: new AbortController().signal,
  });
  return { exitCode, stdout: output.stdout.replaceAll(`${folder}/`, ""), stderr: output.stderr.replaceAll(`${folder}/`, "") };
}
