import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { bundledProgram } from "../bundled-program.ts";

test("output that a tool prints to stdout goes to stderr while a client is served, and no response is lost", async () => {
  const child = spawn(process.execPath, [bundledProgram("server/mcp-printing-process")], { stdio: "pipe" });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "x", version: "1" };
  send({ id: 0, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
  send({ method: "notifications/initialized" });
  for (let id = 1; id <= 20; id++) send({ id, method: "tools/call", params: { name: "print", arguments: { text: `line ${id}` } } });
  let answers = 0;
  await new Promise<void>((resolve) =>
    child.stdout.on("data", (chunk: Buffer) => {
      answers += chunk.toString().split("\n").length - 1;
      if (answers >= 21) resolve();
    }),
  );
  child.stdin.end();
  const [out, err] = await said;
  const lines = out.trimEnd().split("\n");
  expect(lines.pop()).toBe("over");
  expect(lines.map((line) => JSON.parse(line).id).sort((one, other) => one - other)).toEqual(Array.from({ length: 21 }, (_, id) => id));
  for (let id = 1; id <= 20; id++) expect(err).toContain(`line ${id} without an end`);
});
