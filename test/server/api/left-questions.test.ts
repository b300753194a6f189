/** Servers that stop while calls wait for a person, or for a lock: the next server of the store continues them. */
import { createRuntime, defineTool, type Tool } from "haft";
import { createClient } from "haft/client";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFile } from "../../store/temporary-file.ts";
import { Gate } from "./api-server.ts";

const TOKEN = "a-token-for-the-tests";

/** What its servers have done, over all of them. */
class World {
  readonly path = temporaryFile();
  readonly done: string[] = [];
  readonly gate = new Gate();

  get tools(): readonly Tool[] {
    const deed = (name: string, effects: Tool["effects"]): Tool =>
      defineTool({
        name,
        description: "Does it.",
        inputSchema: { type: "object", properties: { what: { type: "string" } } },
        ...(effects === undefined ? {} : { effects }),
        execute: ({ what = "" }) => {
          this.done.push(`${name} ${what}`.trim());
          return `${name} done`;
        },
      });
    return [
      deed("remove", { writes: ["files"], destructive: true }),
      deed("write", { writes: ["disk"] }),
      deed("read", { reads: ["disk"] }),
      defineTool({
        name: "hold",
        description: "Holds the disk until the gate opens or it is cancelled.",
        effects: { writes: ["disk"], idempotent: true },
        execute: async (_input, { signal }) => {
          this.done.push("hold");
          await this.gate.pass(signal);
          return "held";
        },
      }),
      {
        ...{ name: "clean", description: "Removes.", inputSchema: { type: "object" }, composite: true },
        execute: (_input, context) => context.execute({ name: "remove", input: { what: "all" } }),
      },
      {
        ...{ name: "wrap", description: "Removes, and pays.", inputSchema: { type: "object" }, effects: { writes: ["bank"] } },
        execute: async (_input, context) => {
          this.done.push("pay");
          return (await context.execute({ name: "remove" }, { signal: context.signal })).status;
        },
      },
    ];
  }

  async server({ graceMs = 600_000 }: { readonly graceMs?: number } = {}) {
    const store = sqliteStore({ path: this.path, synchronous: "normal" });
    const runtime = createRuntime({ tools: this.tools, store, approval: { approve: "inbox" }, ports: { log: { debug() {}, warn() {} } } });
    await runtime.open();
    const quiet = { log: { debug() {}, warn() {} } };
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs }, ports: quiet });
    const { url } = await server.listen({ port: 0 });
    onTestFinished(async () => {
      await server.close({ signal: AbortSignal.abort() });
      await runtime.close();
    });
    const stop = async (signal?: AbortSignal): Promise<void> => {
      await server.close(signal === undefined ? {} : { signal });
      await runtime.close();
    };
    const client = createClient({ url, token: TOKEN, maxAttempts: 1 });
    const open = () => runtime.approvals.pending();
    const waiting = (count: number) => vi.waitFor(async () => expect(await open()).toHaveLength(count), 20_000);
    const allow = async (): Promise<void> => {
      for (const { id, digest } of await open()) await runtime.approvals.answer({ id, digest, answer: "allow-once" });
    };
    return { runtime, client, stop, open, waiting, allow };
  }
}

const callsOf = (...names: readonly string[]) => names.map((name, index) => ({ name, input: { what: String(index) } }));
const refusal = (sent: Promise<unknown>) =>
  sent.then(
    () => expect.fail("it was answered"),
    (thrown: { readonly problem?: unknown }) => thrown.problem,
  );

test.each(["/v1/execute", "/v1/sessions/s/execute"])(
  "a server that stops leaves the questions of a keyed request to %s open, and the next one acts on their answers once",
  async (path) => {
    const world = new World();
    const first = await world.server();
    if (path !== "/v1/execute") await first.client.call("createSession", { body: { id: "s" } });
    const send = ({ client }: typeof first) => {
      const request = { body: { calls: callsOf("remove", "remove") }, idempotencyKey: "k" };
      return path === "/v1/execute"
        ? client.call("execute", request)
        : client.call("executeInSession", { ...request, params: { sessionId: "s" } });
    };
    const refused = refusal(send(first));
    await first.waiting(2);
    await first.stop(); // its grace is ten minutes
    expect(await refused).toMatchObject({
      status: 503,
      code: "unavailable",
      retryable: true,
      detail: expect.stringContaining("waits for an answer"),
    });
    const second = await world.server();
    expect(await second.open()).toHaveLength(2);
    await second.allow(); // before any process waits
    const { results } = await send(second);
    expect([results.map(({ output }) => output), world.done]).toEqual([
      ["remove done", "remove done"],
      ["remove 0", "remove 1"],
    ]);
    expect((await send(second)).results).toEqual(results);
  },
);

test("a request without a key is told where its call stands, and that it is not to be sent again as it is", async () => {
  const world = new World();
  const first = await world.server();
  await first.client.call("createSession", { body: { id: "s" } });
  const refused = refusal(first.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: callsOf("remove") } }));
  await first.waiting(1);
  const [{ callId } = expect.fail()] = await first.open();
  await first.stop();
  expect(await refused).toMatchObject({ status: 503, retryable: false, detail: expect.stringContaining(callId) });
  const second = await world.server();
  await second.allow();
  const read = await second.client.call("executeInSession", { params: { sessionId: "s" }, body: { calls: callsOf("read") } });
  expect(read.results[0]?.status).toBe("ok");
  expect(await second.client.call("getCall", { params: { callId }, query: { sessionId: "s" } })).toMatchObject({
    result: { status: "ok" },
  });
  expect(world.done).toEqual(["remove 0", "read 0"]);
});
