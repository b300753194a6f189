/** The origins whose pages a program lets in: one that no page has is refused, as it would let in none. */
import { createRuntime } from "haft";
import { listenMcp, mcpHandler } from "haft/mcp-server";
import { createServer, staticToken } from "haft/server";
import { expect, onTestFinished, test } from "vitest";

const ALLOWED = ["app.example", "HTTPS://App.example:8443", "app://notes:80", "[::1]"];

test.each([
  "https://app.example/",
  "https://app.example:443",
  "http://app.example/x",
  "app.example:80",
  "*",
  "https://*.example",
  "null",
  "",
])("the allowed origin %j is rejected", async (origin) => {
  const runtime = createRuntime();
  onTestFinished(async () => void (await runtime.close()));
  const allowedOrigins = [...ALLOWED, origin];
  const refusal = `The allowed origin ${JSON.stringify(origin)} is neither an origin such as https://app.example`;
  await expect(listenMcp(runtime, { port: 0, allowedOrigins })).rejects.toThrow(refusal);
  expect(() => mcpHandler(runtime, { allowedOrigins })).toThrow(refusal);
  for (const mcp of [{}, false] as const)
    expect(() => createServer(runtime, { auth: staticToken({ token: "a-token-for-the-tests" }), allowedOrigins, mcp })).toThrow(refusal);
});

test.each([
  ["http://app.example:3000", 200],
  ["https://app.example:8443", 200],
  ["app://notes:80", 200],
  ["http://[::1]:9", 200],
  ["https://app.example.evil", 403],
  ["app://notes", 403],
  ["null", 403],
])("a request from a page of %s gets %i", async (origin, status) => {
  const runtime = createRuntime();
  const server = createServer(runtime, { auth: staticToken({ token: "a-token-for-the-tests" }), allowedOrigins: ALLOWED });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const headers = { authorization: "Bearer a-token-for-the-tests", origin };
  expect((await server.fetch(new Request("http://localhost/v1/info", { headers }))).status).toBe(status);
});
