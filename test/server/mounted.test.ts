/** A server as part of another one, which is given its `fetch` alone. */
import { Hono } from "hono";
import { expect, test } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { createServer, staticToken } from "../../src/server.ts";

test("the server can be mounted under a prefix with its fetch alone", async () => {
  const token = "a-token-for-the-tests";
  const runtime = createRuntime({ tools: [] });
  const server = createServer(runtime, { auth: staticToken({ token }) });
  const app = new Hono().mount("/haft", server.fetch);
  const answered = await app.request("http://localhost/haft/v1/info", { headers: { authorization: `Bearer ${token}` } });
  expect([answered.status, await answered.json()]).toEqual([200, expect.objectContaining({ name: "haft" })]);
  await server.close();
  await runtime.close();
});
