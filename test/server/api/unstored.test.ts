/** Requests whose store fails after their call was made. */
import { ToolError, createRuntime, defineTool } from "haft";
import { createClient } from "haft/client";
import { createServer, staticToken } from "haft/server";
import { expect, onTestFinished, test } from "vitest";
import { FailingStore } from "../../runtime/session/failing-store.ts";

const TOKEN = "a-token-for-the-tests";
const PAY = { params: { sessionId: "s" }, body: { calls: [{ name: "pay" }] } };

test("I04 a call that was made is not made again by a client because its result could not be stored, and one that was not begun is", async () => {
  const store = new FailingStore();
  const full = new ToolError("store_failed", "The disk is full.");
  let paid = 0;
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    effects: { writes: ["money"] },
    execute() {
      store.durableError = paid++ === 0 ? full : undefined;
      return "paid";
    },
  });
  const runtime = createRuntime({ store, tools: [pay] });
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }) });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const { url } = await server.listen({ port: 0 });
  const asked: (string | null)[] = [];
  const client = createClient({
    url,
    token: TOKEN,
    async fetch(address, init) {
      const answer = await fetch(address, init);
      asked.push(`${answer.status} ${answer.headers.get("x-should-retry")}`);
      if (asked.length > 1) store.durableError = undefined;
      return answer;
    },
  });
  await client.call("createSession", { body: { id: "s" } });
  await expect(client.call("executeInSession", PAY)).rejects.toMatchObject({ status: 503 });
  expect([paid, asked]).toEqual([1, ["201 false", "503 false"]]);
  store.durableError = full;
  await expect(client.call("executeInSession", PAY)).resolves.toMatchObject({ results: [{ status: "ok" }] });
  expect([paid, asked.slice(2)]).toEqual([2, ["503 true", "200 false"]]);
});
