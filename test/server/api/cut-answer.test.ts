/** A server that dies while it writes its answer, and the client of the package. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ApiError, createClient } from "haft/client";
import { expect, onTestFinished, test } from "vitest";

/** Cuts so many answers in the middle, and then answers whole. Resolves to its address, and how often it was asked. */
async function cuttingServer(cuts: number): Promise<{ readonly url: string; readonly asked: () => number }> {
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    const text = JSON.stringify({ results: [] });
    response.writeHead(200, { "content-type": "application/json", "content-length": text.length });
    if (++asked > cuts) return void response.end(text);
    response.write(text.slice(0, 5), () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo; // it listens on a port
  return { url: `http://127.0.0.1:${port}`, asked: () => asked };
}

test("issue 19.1 the client retries a request with a key whose response was cut off, and not one without a key", async () => {
  const body = { calls: [{ name: "notes::list" }] };
  const server = await cuttingServer(2);
  const client = createClient({ url: server.url, retryDelayMs: 1 });
  expect(await client.call("execute", { body, idempotencyKey: "one" })).toEqual({ results: [] });
  expect(server.asked()).toBe(3);
  const other = await cuttingServer(1);
  const failure = await createClient({ url: other.url, retryDelayMs: 1 })
    .call("execute", { body })
    .catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(ApiError);
  expect(failure).toMatchObject({ status: 0, message: expect.stringContaining("did not answer") });
  expect(other.asked()).toBe(1);
});
