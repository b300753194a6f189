/** Under `node --permission` the package is loaded with the right to read its own files alone, and says what each part lacks. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { BUNDLE } from "../bundled-program.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Node 24 and older have no such flag, and allow it. */
const FORBIDS_NETWORK = process.allowedNodeEnvironmentFlags.has("--allow-net");

const CODE = `
const [folder] = process.argv.slice(1);
const load = (name) => import(new URL(name + ".js", ${JSON.stringify(new URL(`file://${BUNDLE}/dist/`).href)}));
const { createRuntime } = await load("index");
const { filesToolset } = await load("toolsets/files");
const { mcpToolset } = await load("engine/mcp");
const { modelFrom } = await load("model/models");
const { createServer, staticToken } = await load("server");

const tools = [{ name: "add", description: "Adds.", inputSchema: { type: "object" }, execute: ({ a, b }) => a + b }];
const toolsets = [filesToolset({ root: folder }), mcpToolset("server", { command: process.execPath })];
const runtime = createRuntime({ tools, toolsets });
await runtime.open();
const place = { provider: "deepseek", model: "m", apiKey: "k", baseUrl: "http://127.0.0.1:1024" };
const model = modelFrom({ ...place, retry: { maxAttempts: 1 } }, { environment: {} });
const server = createServer(runtime, { auth: staticToken({ token: "t".repeat(40) }) });
const stream = async () => {
  for await (const event of model.stream({ messages: [{ role: "user", content: "?" }] })) return event;
};
const said = (promise) => promise.then(() => "done", (error) => error.message);
const call = async (name, input) => {
  const { output, error } = await runtime.execute({ name, input });
  return error === undefined ? output : error.code + ": " + error.message;
};
console.log(JSON.stringify({
  add: await call("add", { a: 1, b: 2 }),
  write: await call("files::write", { path: "a.txt", content: "a" }),
  start: await call("server::any", {}),
  model: await said(stream()),
  serve: await said(server.listen({ port: 0 })),
}));
await server.close();
await runtime.close();
`;

test("features without their permission name the missing flag, and the others work", async () => {
  const folder = mkdtempSync(join(tmpdir(), "haft-permissions-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "work"));
  const reads = [root, folder].map((path) => `--allow-fs-read=${path}`);
  const args = ["--no-warnings", "--permission", ...reads, "--input-type=module", "--eval", CODE, join(folder, "work")];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env: { PATH: process.env["PATH"] } });
  expect(JSON.parse(stdout)).toEqual({
    add: 3,
    write: 'permission_denied: Cannot write "a.txt": node --permission does not allow it.',
    start: expect.stringContaining("this process may not start programs (node --permission: --allow-child-process)."),
    model: FORBIDS_NETWORK
      ? "No connection to 127.0.0.1:1024: this process may not use the network (ERR_ACCESS_DENIED)."
      : "No connection to 127.0.0.1:1024: nothing accepts connections there (ECONNREFUSED).",
    serve: FORBIDS_NETWORK
      ? "The port 0 of 127.0.0.1 cannot be used: this process may not use the network (node --permission: --allow-net)."
      : "done",
  });
});
