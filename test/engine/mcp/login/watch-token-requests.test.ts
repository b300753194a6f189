import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { tokenError, watchTokenRequests } from "../../../../src/engine/mcp/login/watch-token-requests.ts";
import { guardedFetch } from "../../../../src/net/guarded-fetch.ts";
import { systemPorts } from "../../../../src/core/system/system-ports.ts";
import { httpClient } from "../../../../src/net/http-client.ts";

async function tokenEndpoint(allowPrivate: readonly string[]) {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked++;
    response.writeHead(503).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = httpClient({ allowPrivate }, systemPorts);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  const requests = watchTokenRequests(guardedFetch(client), "refresh_token");
  const { port } = server.address() as AddressInfo; // it listens on one
  const ask = () =>
    requests.fetch(`http://127.0.0.1:${port}/token`, { method: "POST", body: new URLSearchParams({ grant_type: "refresh_token" }) });
  return { requests, ask, asked: () => asked };
}

test("issue 19.7 a token request to an address that is not allowed is not retryable, and the error says how to allow it", async () => {
  const { requests, ask, asked } = await tokenEndpoint([]);
  await expect(ask()).rejects.toThrow();
  const { fault } = requests;
  if (fault === undefined) throw new Error("It was sent.");
  const error = tokenError("The token could not be renewed", fault, { operatorHint: "Log in again." });
  expect(error).toMatchObject({ code: "permission_denied", retryable: false, outcome: "not_started" });
  expect(error.message).toMatch(/^The token could not be renewed: Calls to 127\.0\.0\.1:\d+ are not allowed: .+[^.]\.$/u);
  expect(error.operatorHint).toContain("allowPrivate");
  expect(asked()).toBe(0);
});

test("issue 19.7 a token request that failed temporarily is retryable", async () => {
  const { requests, ask, asked } = await tokenEndpoint(["127.0.0.1"]);
  expect((await ask()).status).toBe(503);
  const { fault } = requests;
  if (fault === undefined) throw new Error("It was granted or refused.");
  const error = tokenError("The token could not be renewed", fault, { operatorHint: "Log in again." });
  expect(error).toMatchObject({ code: "unavailable", retryable: true, outcome: "not_started", operatorHint: "Log in again." });
  expect([error.message, asked()]).toEqual(["The token could not be renewed now: it answered 503.", 1]);
});
