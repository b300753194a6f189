/** The guide and the reference page say what the server does. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "haft";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { httpApiPage } from "../../../scripts/http-api-page.ts";

const docs = join(import.meta.dirname, "../../../docs");

test("issue 19.2 the reference page has every route of the table", async () => {
  expect(await readFile(join(docs, "reference/http-api.md"), "utf8")).toBe(httpApiPage());
});

test("issue 19 the curl commands of the guide print what the guide says", async () => {
  const folder = await mkdtemp(join(tmpdir(), "haft-guide-"));
  const guide = await readFile(join(docs, "guides/serve-over-http.md"), "utf8");
  const notes: string[] = [];
  const add = defineTool({
    name: "add",
    description: "Adds a note.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    effects: { writes: ["notes"] },
    execute: ({ text }) => ({ notes: notes.push(text) }),
  });
  const runtime = createRuntime({ store: sqliteStore({ path: join(folder, "haft.db") }), toolsets: [{ name: "notes", tools: [add] }] });
  await runtime.open();
  const server = createServer(runtime, { auth: staticToken({ token: "a-secret-of-16-characters-or-more" }) });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
    await rm(folder, { recursive: true, force: true });
  });
  const steps = [...guide.matchAll(/```console\n\$ (curl -s [^\n]+)\n([^\n]+)\n```/gu)];
  expect(steps.length).toBe(5);
  for (const [, command = "", output = ""] of steps) expect(steady(await run(command, url))).toBe(steady(output));
  expect(notes).toEqual(["Buy milk"]);
});

/** In a process of its own: the server answers in this one meanwhile. */
async function run(command: string, url: string): Promise<string> {
  const environment = { ...process.env, HAFT: url, AUTH: "Authorization: Bearer a-secret-of-16-characters-or-more" };
  return new Promise((resolve, reject) =>
    execFile("sh", ["-c", command], { env: environment }, (error, stdout) => (error === null ? resolve(stdout) : reject(error))),
  );
}

/** Without what is new in every run. */
function steady(text: string): string {
  return text
    .trim()
    .replaceAll(/call_[\w-]+/gu, "call_1")
    .replaceAll(/"durationMs": ?[\d.]+/gu, '"durationMs":1');
}
