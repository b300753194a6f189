import { execFile, spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test, vi } from "vitest";
import { inCI } from "../ci.ts";
import { mcpEngine } from "../../src/engine/mcp.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { gone } from "../engine/mcp-engine.ts";
import { PATIENCE_MS, PROGRAM, folderWith, haft } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

const INSPECTOR = fileURLToPath(new URL("../../node_modules/.bin/mcp-inspector", import.meta.url));
const EVERYTHING = fileURLToPath(new URL("../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url));
const ARGS = ["--conditions=haft-source", PROGRAM, "mcp", "--config", "haft.toml"];

const TOOLS = `
export const tools = [
  {
    name: "shout",
    description: "Says it loudly, and prints where it should not.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    effects: { reads: [], writes: [] },
    execute: ({ text }) => {
      console.log("printed by a tool");
      process.stdout.write("written by a tool\\n");
      return text.toUpperCase();
    },
  },
  {
    name: "wipe",
    description: "Destroys something.",
    inputSchema: { type: "object" },
    effects: { writes: ["disk"], destructive: true },
    execute: () => "wiped",
  },
  {
    name: "paint",
    description: "Answers with much, and prints as much.",
    inputSchema: { type: "object" },
    effects: { reads: [], writes: [] },
    execute: () => {
      console.log("x".repeat(300_000));
      return { content: [{ type: "image", mediaType: "image/png", data: "A".repeat(300_000) }] };
    },
  },
  {
    name: "stray",
    description: "Throws where nobody waits for it.",
    inputSchema: { type: "object" },
    effects: { reads: [], writes: [] },
    execute: () => {
      setTimeout(() => {
        throw new Error("too late");
      }, 0);
      return "well";
    },
  },
];
`;

function project(more: string = ""): string {
  return folderWith({ "tools.mjs": TOOLS, "haft.toml": `[toolsets.loud]\ntype = "module"\npath = "./tools.mjs"\n${more}` });
}

async function connected(
  folder: string,
  { args = [], mode = "legacy" }: { readonly args?: readonly string[]; readonly mode?: "legacy" | "modern" },
): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: mode === "legacy" ? "legacy" : { pin: "2026-07-28" } } },
  );
  const env = { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "" };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [...ARGS, ...args], cwd: folder, env, stderr: "ignore" }),
  );
  onTestFinished(() => client.close());
  return client;
}

test.each(inCI ? (["legacy", "modern"] as const) : (["modern"] as const))(
  "a client of the %s era is served the configured tools",
  { timeout: PATIENCE_MS },
  async (mode) => {
    const client = await connected(project(), { mode });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      "haft__read_result",
      "loud__paint",
      "loud__shout",
      "loud__stray",
      "loud__wipe",
    ]);
    expect(client.getServerVersion()?.name).toBe("haft");
    for (const text of ["once", "twice"])
      expect((await client.callTool({ name: "loud__shout", arguments: { text } })).content).toEqual([
        { type: "text", text: text.toUpperCase() },
      ]);
  },
);

testInCI("a call that needs approval is put to the client's user", { timeout: PATIENCE_MS }, async () => {
  const client = await connected(project(), { mode: "modern" });
  const asked: string[] = [];
  client.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push(params.message);
    return { action: "accept", content: { allow: asked.length > 1 } };
  });
  expect(await client.callTool({ name: "loud__wipe" })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("approval_denied") }],
  });
  expect(await client.callTool({ name: "loud__wipe" })).toMatchObject({ content: [{ type: "text", text: "wiped" }] });
  expect(asked).toEqual([expect.stringContaining("May loud__wipe run?"), expect.stringContaining("May loud__wipe run?")]);
});

testInCI("standard output carries only the protocol; output of tools goes to standard error", { timeout: PATIENCE_MS }, async () => {
  const { child, output } = start(project(), []);
  child.stdin.write(lines([...HANDSHAKE, callOf(2, "loud__shout", { text: "x" })]));
  await vi.waitFor(() => expect(output.stdout.split("\n")).toHaveLength(3), { timeout: PATIENCE_MS });
  child.stdin.end();
  await output.closed;
  const ids = output.stdout
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line).id);
  expect({ ids, stderr: output.stderr, exitCode: child.exitCode }).toEqual({
    ids: [1, 2],
    stderr: expect.stringMatching(/printed by a tool\nwritten by a tool\n$/u),
    exitCode: 0,
  });
});

test("E15 a client that does not speak the protocol ends the server with exit code 5", { timeout: PATIENCE_MS }, async () => {
  const { exitCode, stdout, stderr } = await haft(["mcp"], { folder: project(), input: "x".repeat(9 * 1024 * 1024) });
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 5,
    stdout: "",
    stderr: "haft: MCP over stdio: The client sent a line of more than 8388608 bytes that is not a message: the connection is closed.\n",
  });
});

test.each(inCI ? (["its input", "SIGTERM"] as const) : (["its input"] as const))(
  "E15 the server ends with %s even if the client reads neither its output nor its messages",
  { timeout: PATIENCE_MS },
  async (end) => {
    const { child, output } = start(project(), []);
    child.stdout.pause();
    child.stderr.pause();
    child.stdin.write(lines([...HANDSHAKE, ...[2, 3, 4].map((id) => callOf(id, "loud__paint"))]));
    await once(child.stdout, "readable"); // the answers are on their way
    if (end === "its input") child.stdin.end();
    else child.kill(end);
    await once(child, "exit");
    expect([child.exitCode, child.signalCode]).toEqual([0, null]);
    child.stdout.resume();
    child.stderr.resume();
    await output.closed;
  },
);

testInCI("an unhandled error in a tool ends the server with exit code 1 and a message", { timeout: PATIENCE_MS }, async () => {
  const { child, output } = start(project(), []);
  child.stdin.write(lines([...HANDSHAKE, callOf(2, "loud__stray")]));
  await output.closed;
  expect([child.exitCode, output.stdout.includes('"text":"well"'), output.stderr]).toEqual([
    1,
    true,
    "haft: execution_failed: Something threw outside any call: too late\n",
  ]);
});

testInCI(
  "haft mcp ends with its input, on signals, and with its servers, and leaves no process behind",
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const folder = project(
      `[toolsets.everything]\ntype = "mcp"\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(EVERYTHING)}]\n`,
    );
    expect(await haft(["mcp"], { folder })).toMatchObject({ exitCode: 0, stdout: "" });
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const { child, output } = start(folder, ["--http", "0"]);
      await vi.waitFor(() => expect(output.stderr).toMatch(/MCP at http:\/\/127\.0\.0\.1:\d+\/mcp/u), { timeout: PATIENCE_MS });
      const url = /http:\S+/u.exec(output.stderr)?.[0] ?? "";
      const client = new Client({ name: "test", version: "1" });
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      expect(await client.callTool({ name: "everything__echo", arguments: { message: "hi" } })).toMatchObject({
        content: [{ text: "Echo: hi" }],
      });
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain("everything__simple-prompt");
      await client.close();
      const server = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ")[0]);
      expect(server).toBeGreaterThan(0);
      child.kill(signal);
      await output.closed;
      await gone(server);
      expect([signal, child.exitCode, output.stdout]).toEqual([signal, 0, ""]);
    }
  },
);

testInCI("over HTTP, the token from the environment is required", { timeout: PATIENCE_MS }, async () => {
  const { child, output } = start(project(), ["--http", "0"], { HAFT_MCP_TOKEN: "correct-horse-battery" });
  await vi.waitFor(() => expect(output.stderr).toContain("MCP at "), { timeout: PATIENCE_MS });
  const url = /http:\S+/u.exec(output.stderr)?.[0] ?? "";
  expect((await fetch(url, { method: "POST" })).status).toBe(401);
  child.kill("SIGTERM");
  await output.closed;
  expect(output.stderr).not.toContain("correct-horse-battery");
});

testInCI("Haft's own MCP engine can be its client, like the inspector", { timeout: PATIENCE_MS }, async () => {
  const folder = project();
  const runtime = createRuntime({ toolsets: [{ name: "far", engine: mcpEngine({ command: process.execPath, args: ARGS, cwd: folder }) }] });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  expect(await runtime.execute({ name: "far::loud__shout", input: { text: "hello" } })).toMatchObject({
    status: "ok",
    content: [{ type: "text", text: "HELLO" }],
  });
  const listed = await inspect(folder, ["--method", "tools/list"]);
  expect(listed).toMatchObject({
    tools: ["haft_validate_input", "haft__read_result", "loud__paint", "loud__shout", "loud__stray", "loud__wipe"].map((name) => ({
      name,
    })),
  });
  const args = ["--method", "tools/call", "--tool-name", "loud__shout", "--tool-arg", "text=ada"];
  expect(await inspect(folder, args)).toMatchObject({ content: [{ type: "text", text: "ADA" }] });
});

test("an invalid port is refused before anything is opened", { timeout: PATIENCE_MS }, async () => {
  const folder = project('[toolsets.gone]\ntype = "file"\npath = "gone.yaml"\n');
  for (const port of ["x", "70000", "-1", "1.5"])
    expect(await haft(["mcp", `--http=${port}`], { folder })).toMatchObject({
      exitCode: 2,
      stderr: `haft: invalid_argument: --http takes a port from 0 to 65535, not "${port}".\n`,
    });
});

const HANDSHAKE = [
  {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
  },
  { jsonrpc: "2.0", method: "notifications/initialized" },
];

function callOf(id: number, name: string, args: Readonly<Record<string, unknown>> = {}): unknown {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}

/** One message a line. */
function lines(messages: readonly unknown[]): string {
  return messages.map((message) => `${JSON.stringify(message)}\n`).join("");
}

interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly output: { stdout: string; stderr: string; readonly closed: Promise<void> };
}

function start(folder: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}): Running {
  const child = spawn(process.execPath, [...ARGS, ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...environment },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "", closed: new Promise<void>((resolve) => child.on("close", () => resolve())) };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  return { child, output };
}

/** What the inspector's command line prints of a server that it starts. */
function inspect(folder: string, args: readonly string[]): Promise<unknown> {
  // Its own --config would be meant.
  const server = [process.execPath, "--conditions=haft-source", PROGRAM, "mcp", "--validate"];
  const command = [INSPECTOR, "--cli", ...server, "-e", "HAFT_TRUST=all", ...args];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, command, { cwd: folder, timeout: PATIENCE_MS }, (error, stdout) =>
      error === null ? resolve(JSON.parse(stdout)) : reject(error),
    );
  });
}
