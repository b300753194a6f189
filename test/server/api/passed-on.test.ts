/** Requests that a server has passed on: while it stops, while they take long, and for those who may not see the session. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "haft";
import { createClient } from "haft/client";
import { createServer, openServerAccess, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { TOKEN, Gate } from "./api-server.ts";

const WAIT = { calls: [{ name: "wait" }] };

interface Node {
  readonly url: string;
  readonly client: ReturnType<typeof createClient>;
  stop(): Promise<unknown>;
}

interface NodeOptions {
  readonly address?: string | true;
  /** Called before its store claims or begins a session. */
  readonly beforeClaim?: () => Promise<void>;
}

async function startNode(folder: string, gate: Gate, { address = true, beforeClaim }: NodeOptions = {}): Promise<Node> {
  const wait = defineTool({
    name: "wait",
    description: "Waits until the gate opens.",
    inputSchema: { type: "object", properties: {} } as const,
    effects: { reads: ["gate"] },
    async execute(_input, { signal }) {
      await gate.pass(signal);
      return "passed";
    },
  });
  const store = sqliteStore({ path: join(folder, "haft.db"), synchronous: "normal" });
  const claim = store.claim.bind(store);
  if (beforeClaim !== undefined) store.claim = (...given) => beforeClaim().then(() => claim(...given));
  const runtime = createRuntime({ store, tools: [wait] });
  await runtime.open();
  const auth = await openServerAccess({ access: store.access, others: [staticToken({ token: TOKEN })] }, systemPorts);
  const server = createServer(runtime, { auth, limits: { graceMs: 20_000 } });
  const { url } = await server.listen({ port: 0, address });
  let stopping: Promise<unknown> | undefined;
  const stop = (): Promise<unknown> => (stopping ??= server.close().then(() => runtime.close()));
  onTestFinished(async () => void (await stop()));
  return { url, client: createClient({ url, token: TOKEN, maxAttempts: 1 }), stop };
}

/** Two servers of one store; the first has the session `shop` open. */
async function startTwo() {
  const folder = await mkdtemp(join(tmpdir(), "haft-passed-on-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const gate = new Gate();
  const [one, two] = [await startNode(folder, gate), await startNode(folder, gate)];
  onTestFinished(() => gate.open());
  await one.client.call("createSession", { body: { id: "shop" } });
  return { one, two, gate, folder };
}

const shop = { params: { sessionId: "shop" } } as const;

test("issue 19.6 E25 a keyed request outside any session that another server is running gets that server's response", async () => {
  const { one, two, gate } = await startTwo();
  const request = { body: WAIT, idempotencyKey: "once" };
  const first = one.client.call("execute", request);
  await gate.entered.promise;
  const repeated = [two.client.call("execute", request), two.client.call("execute", { ...request, body: WAIT })];
  const other = { ...request, body: { calls: [{ name: "other" }] } };
  await expect(two.client.call("execute", other)).rejects.toThrow("was used for a request with other content");
  const long = { body: { ...WAIT, waitMs: 0 }, idempotencyKey: "later" };
  const [early, late] = [one.client.call("execute", long), two.client.call("execute", long)];
  gate.open();
  expect((await late).results).toEqual((await early).results);
  const { results } = await first;
  expect(results).toMatchObject([{ status: "ok", output: "passed" }]);
  for (const response of await Promise.all(repeated)) expect(response.results).toEqual(results);
  expect((await two.client.call("execute", request)).results).toEqual(results);
});

test("issue 19.6 E25 keyed requests that two servers get at the same moment have one response", async () => {
  const { one, two, gate } = await startTwo();
  gate.open();
  for (const idempotencyKey of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
    const asked = [one, two, one, two].map(({ client }) => client.call("execute", { body: WAIT, idempotencyKey }));
    const answers = await Promise.all(asked);
    expect(new Set(answers.map(({ results }) => results[0]?.callId)).size).toBe(1);
    expect(answers[0]?.results).toMatchObject([{ status: "ok", output: "passed" }]);
  }
});

test.each([
  ["a keyed request outside any session", "/v1/execute"],
  ["a request in a session that no server has open", "/v1/sessions/shop/execute"],
])("%s is answered with 202 only once its server has the session, which another may open first", async (_what, path) => {
  const { one: begins, two: one, gate, folder } = await startTwo();
  await begins.stop();
  const asked = Promise.withResolvers<void>();
  const claims = Promise.withResolvers<void>();
  const slow = await startNode(folder, gate, { beforeClaim: () => (asked.resolve(), claims.promise) });
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", "idempotency-key": "both" };
  const request = { method: "POST", headers, body: JSON.stringify({ ...WAIT, waitMs: 0 }) };
  const late = fetch(`${slow.url}${path}`, request);
  await asked.promise;
  expect((await fetch(`${one.url}${path}`, request)).status).toBe(202);
  await gate.entered.promise;
  claims.resolve();
  const { status, headers: found } = await late;
  const location = found.get("location") ?? "";
  const results = fetch(`${slow.url}${location}${location.includes("?") ? "&" : "?"}waitMs=20000`, { headers });
  await new Promise((resolve) => setTimeout(resolve, 200)); // the claim fails meanwhile, if it is not awaited
  gate.open();
  expect([status, (await results).status, await (await results).text()]).toEqual([202, 200, expect.stringContaining('"output":"passed"')]);
});

test("issue 21.2 a stopping server waits for the requests that it has forwarded", async () => {
  const { two, gate } = await startTwo();
  const answered = two.client.call("executeInSession", { ...shop, body: WAIT });
  answered.catch(() => {}); // looked at below
  await gate.entered.promise;
  const stopped = two.stop();
  await new Promise((resolve) => setTimeout(resolve, 1_500)); // longer than the last answers are waited for
  gate.open();
  expect((await answered).results[0]?.output).toBe("passed");
  await stopped;
});

test("issue 21.2 results of long calls can be fetched from any server by the Location of the response", async () => {
  const { one, two, gate } = await startTwo();
  const answer = await fetch(`${two.url}/v1/sessions/shop/execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ ...WAIT, waitMs: 0 }),
  });
  const location = answer.headers.get("location") ?? "";
  expect([answer.status, location]).toEqual([202, expect.stringMatching(/^\/v1\/submissions\/[^/]+\?sessionId=shop$/u)]);
  const later = two.client.call("executeInSession", { ...shop, body: { ...WAIT, concurrent: true, waitMs: 0 } });
  await gate.entered.promise;
  gate.open();
  for (const { url } of [one, two]) {
    const found = await fetch(`${url}${location}&waitMs=20000`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect([found.status, await found.text()]).toEqual([200, expect.stringContaining('"output":"passed"')]);
  }
  expect((await later).results[0]?.output).toBe("passed");
});

test("issue 21.2 E05 a session key does not learn which sessions other servers have open", async () => {
  const { two, gate, folder } = await startTwo();
  const silent = await startNode(folder, gate, { address: "http://127.0.0.1:1" }); // nobody listens there
  await silent.client.call("createSession", { body: { id: "far" } });
  await two.client.call("createSession", { body: { id: "mine" } });
  const { key } = await two.client.call("createSessionKey", {
    params: { sessionId: "mine" },
    body: { name: "page", scopes: ["read", "execute"] },
  });
  const page = createClient({ url: two.url, token: key, maxAttempts: 1 });
  const details = ["shop", "far", "nowhere"].map((sessionId) =>
    page.call("executeInSession", { params: { sessionId }, body: WAIT }).catch((error: { readonly status: number }) => error.status),
  );
  expect(await Promise.all(details)).toEqual([404, 404, 404]);
});

test.each([
  ["0.0.0.0", true],
  ["::", true],
  ["127.0.0.1", "http://0.0.0.0:7420"],
  ["127.0.0.1", "http://[::]:7420"],
] as const)(
  "issue 21.2 listening at %s with the address %j is rejected, since other servers would reach themselves",
  async (host, address) => {
    const runtime = createRuntime({ store: memoryStore() });
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), allowedHosts: ["localhost"] });
    onTestFinished(async () => {
      await server.close();
      await runtime.close();
    });
    await expect(server.listen({ port: 0, host, address })).rejects.toMatchObject({ code: "invalid_argument" });
  },
);
