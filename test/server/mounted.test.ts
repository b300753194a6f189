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

test("a request whose body other middleware has read is refused with the place where to mount the server", async () => {
  const token = "a-token-for-the-tests";
  const runtime = createRuntime({ tools: [] });
  const server = createServer(runtime, { auth: staticToken({ token }) });
  const text = '{"calls": []}';
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", "content-length": String(text.length) };
  const request = new Request("http://localhost/v1/execute", { method: "POST", headers, body: text });
  await request.text(); // as express.json() does; the adapters of such servers then pass a request with the same head and no body
  const answered = await server.fetch(new Request(request.url, { method: "POST", headers }));
  expect([answered.status, await answered.json()]).toEqual([
    400,
    expect.objectContaining({ detail: expect.stringContaining("was read before"), hint: expect.stringContaining("express.json()") }),
  ]);
  await server.close();
  await runtime.close();
});
