/** Tasks at servers of a store that do not run them. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createRuntime, type Runtime } from "haft";
import { postgresStore } from "haft/postgres";
import { createServer, createWorker, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/core/base/json.ts";
import { readOnly } from "../../src/core/resources/effects.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Clock } from "../../src/core/ports.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { bundledProgram } from "../bundled-program.ts";
import { IN_CI, inCI } from "../ci.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { postgresPrograms, startPostgres } from "../store/postgres/server.ts";
import { temporaryFile } from "../store/temporary-file.ts";
import { eventsOf, raw, rawResponse, TASKS, type RawAnswer } from "./mcp-raw.ts";
import { rawSession } from "./mcp-raw-session.ts";

const TOKEN = "a-token-of-both-servers";
const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const ABLE = { capabilities: { ...TASKS, elicitation: { form: {} } }, headers: { authorization: `Bearer ${TOKEN}` } };
const WAIT = { timeout: 30_000, interval: 20 };

interface NodeOptions {
  readonly address?: boolean;
  readonly token?: string;
  /** Of MCP alone: with one that stands still, it does not look for tasks from time to time. */
  readonly clock?: Clock;
}

/** A server of the store in a file; its tool waits until it is told to go on here, or asks for a name, or both. */
async function node(path: string, { address = true, token = TOKEN, clock }: NodeOptions = {}) {
  const done = Promise.withResolvers<string>();
  const runtime = createRuntime({
    store: sqliteStore({ path, synchronous: "normal" }),
    ports: { log: { debug() {}, warn() {} } },
    tools: [
      {
        name: "work",
        description: "Works.",
        inputSchema: { type: "object", properties: { asks: { enum: ["at once", "later"] } } },
        effects: readOnly("disk"),
        mode: "background",
        execute: async ({ asks }, { ask }) => {
          if (asks !== "at once") await done.promise;
          if (asks === undefined) return done.promise;
          const answer = await ask({ message: "Who?", schema: NAME });
          return answer.action === "accept" ? `for ${String(answer.content?.["name"])}` : answer.action;
        },
      },
    ],
  });
  await runtime.open();
  const server = createServer(runtime, {
    auth: staticToken({ token }),
    limits: { graceMs: 50 },
    mcp: { ports: clock === undefined ? {} : { clock } },
  });
  const listener = await server.listen({ port: 0, address });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const url = `${listener.url}/mcp`;
  const ask = (method: string, params: JsonObject): Promise<RawAnswer> => raw(url, method, params, ABLE);
  return {
    url,
    runtime,
    done,
    ask,
    async begin(args: JsonObject): Promise<string> {
      const { result } = await ask("tools/call", { name: "work", arguments: args });
      expect(result).toMatchObject({ resultType: "task" });
      return String(result["taskId"]);
    },
    until: (taskId: string, status: string): Promise<JsonObject> => until(url, taskId, status),
    /** The states that a client is sent which only listens, until one fits. */
    listen: (taskId: string) => listen(url, taskId),
    legacy: (capabilities: JsonObject = {}) => rawSession(url, "2025-11-25", capabilities, ABLE.headers),
  };
}

async function until(url: string, taskId: string, status: string): Promise<JsonObject> {
  return vi.waitFor(async () => {
    const { result } = await raw(url, "tasks/get", { taskId }, ABLE);
    expect(result["status"]).toBe(status);
    return result;
  }, WAIT);
}

/** A client that only listens to a task. Resolves once it is acknowledged; `until` to the states of the task so far, once the last one fits. */
async function listen(url: string, taskId: string) {
  const disconnect = new AbortController();
  onTestFinished(() => disconnect.abort());
  const response = await rawResponse(
    url,
    "subscriptions/listen",
    { notifications: { taskIds: [taskId] } },
    { ...ABLE, signal: disconnect.signal },
  );
  const messages: JsonObject[] = [];
  const read = async (): Promise<void> => {
    let text = "";
    for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const whole = text.lastIndexOf("\n\n") + 2;
      messages.push(...eventsOf(text.slice(0, whole)).filter((message) => isJsonObject(message)));
      text = text.slice(whole);
    }
  };
  read().catch(() => {}); // it is aborted
  const params = (): readonly JsonObject[] => messages.map(({ params: given }) => given).filter((given) => isJsonObject(given));
  await vi.waitFor(() => expect(params()[0]).toMatchObject({ notifications: { taskIds: [taskId] } }), WAIT);
  return {
    until: async (status: string): Promise<JsonObject> =>
      vi.waitFor(() => {
        const last = params().at(-1);
        expect(last?.["status"]).toBe(status);
        return last ?? {};
      }, WAIT),
    statuses: (): readonly unknown[] => params().flatMap(({ status }) => status ?? []),
  };
}

describe("a task that another server of the store runs (2026-07-28)", () => {
  test("shows its questions, takes their answers, and has the same end at every server", async () => {
    const path = temporaryFile();
    const [first, second] = [await node(path), await node(path)];
    const taskId = await first.begin({ asks: "at once" });
    const asking = await second.until(taskId, "input_required");
    const { inputRequests } = await first.until(taskId, "input_required");
    expect(asking).toMatchObject({ inputRequests });
    const [key = ""] = Object.keys(inputRequests as JsonObject);
    const answer = (content: JsonObject) =>
      second.ask("tasks/update", { taskId, inputResponses: { [key]: { action: "accept", content } } });
    expect((await answer({ name: 5 })).result).toMatchObject({ resultType: "complete" }); // it does not fit, and is asked for again
    expect(await second.until(taskId, "input_required")).toMatchObject({ inputRequests });
    expect((await answer({ name: "Ada" })).result).toMatchObject({ resultType: "complete" });
    const ended = await second.until(taskId, "completed");
    expect(ended).toMatchObject({ result: { content: [{ text: "for Ada" }] } });
    expect(await first.until(taskId, "completed")).toEqual(ended);
    expect((await answer({ name: "Bob" })).result).toMatchObject({ resultType: "complete" }); // an ended task takes none
  });

  test("is sent to a client that only listens: its questions, and its end", async () => {
    const path = temporaryFile();
    const [first, second] = [await node(path), await node(path)];
    const taskId = await first.begin({ asks: "at once" });
    const listening = await second.listen(taskId);
    const { inputRequests } = await listening.until("input_required");
    const [key = ""] = Object.keys(inputRequests as JsonObject);
    await first.ask("tasks/update", { taskId, inputResponses: { [key]: { action: "accept", content: { name: "Ada" } } } });
    expect(await listening.until("completed")).toMatchObject({ taskId, result: { content: [{ text: "for Ada" }] } });
    expect(listening.statuses().filter((status) => status === "completed")).toHaveLength(1);
  });

  test("takes no answer where its server cannot be reached, or does not know the credentials, and is shown as the store has it", async () => {
    const path = temporaryFile();
    for (const options of [{ address: false }, { token: "a-token-that-only-one-has" }]) {
      const [first, second] = [await node(path, options), await node(path)];
      const headers = { authorization: `Bearer ${options.token ?? TOKEN}` };
      const { result } = await raw(first.url, "tools/call", { name: "work", arguments: { asks: "at once" } }, { ...ABLE, headers });
      const taskId = String(result["taskId"]);
      expect(await second.until(taskId, "working")).toMatchObject({ taskId });
      const { error } = await second.ask("tasks/update", { taskId, inputResponses: {} });
      expect(error).toMatchObject({ message: "The task runs in another process, which cannot be reached." });
    }
  });
});

describe("the result of a task that another server of the store runs (2025-11-25)", () => {
  const begin = async (server: Awaited<ReturnType<typeof node>>, args: JsonObject, capabilities: JsonObject = {}): Promise<string> => {
    const { post, messages } = await server.legacy(capabilities);
    const params = { name: "work", arguments: args, task: {} };
    const [answer] = await messages(post({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
    return String((answer as { readonly result: { readonly task: JsonObject } }).result.task["taskId"]);
  };

  test("is waited for, and is answered where it is stored", async () => {
    const path = temporaryFile();
    const [first, second] = [await node(path), await node(path, { clock: new FakeClock() })];
    const taskId = await begin(first, {});
    const { post, messages } = await second.legacy();
    const result = messages(post({ jsonrpc: "2.0", id: 1, method: "tasks/result", params: { taskId } }));
    await messages(post({ jsonrpc: "2.0", id: 2, method: "ping" }));
    first.done.resolve("done");
    expect(await result).toMatchObject([{ result: { content: [{ text: "done" }] } }]);
    const again = await messages(post({ jsonrpc: "2.0", id: 3, method: "tasks/result", params: { taskId } }));
    expect(again).toMatchObject([{ result: { content: [{ text: "done" }] } }]);
  });

  test("is asked for with the questions of the task meanwhile", async () => {
    const path = temporaryFile();
    const [first, second] = [await node(path), await node(path)];
    const able = { elicitation: { form: {} } };
    const taskId = await begin(first, { asks: "later" }, able); // or it would ask while the call is not answered yet
    first.done.resolve("");
    const { post } = await second.legacy(able);
    const response = await post({ jsonrpc: "2.0", id: 1, method: "tasks/result", params: { taskId } });
    let text = "";
    for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const question = eventsOf(text.slice(0, text.lastIndexOf("\n\n"))).find(
        (message) => isJsonObject(message) && message["method"] === "elicitation/create",
      );
      if (isJsonObject(question) && !text.includes("for Ada"))
        await post({ jsonrpc: "2.0", id: question["id"] ?? 0, result: { action: "accept", content: { name: "Ada" } } });
    }
    expect(eventsOf(text).at(-1)).toMatchObject({ id: 1, result: { content: [{ text: "for Ada" }] } });
  });

  test("asks again where an answer did not reach the server that runs it", async () => {
    const path = temporaryFile();
    const [first, second] = [await node(path), await node(path)];
    const able = { elicitation: { form: {} } };
    const taskId = await begin(first, { asks: "later" }, able);
    first.done.resolve("");
    const real = globalThis.fetch;
    onTestFinished(() => void (globalThis.fetch = real));
    let lost = 0;
    globalThis.fetch = (url, init) =>
      new Headers(init?.headers).get("mcp-method") === "tasks/update" && lost++ === 0
        ? Promise.reject(new TypeError("fetch failed"))
        : real(url, init);
    const { post } = await second.legacy(able);
    const response = await post({ jsonrpc: "2.0", id: 1, method: "tasks/result", params: { taskId } });
    const answered = new Set<unknown>();
    let text = "";
    for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (const message of eventsOf(text.slice(0, text.lastIndexOf("\n\n")))) {
        if (!isJsonObject(message) || message["method"] !== "elicitation/create" || answered.has(message["id"])) continue;
        answered.add(message["id"]);
        await post({ jsonrpc: "2.0", id: message["id"] ?? 0, result: { action: "accept", content: { name: "Ada" } } });
      }
    }
    expect(eventsOf(text).at(-1)).toMatchObject({ id: 1, result: { content: [{ text: "for Ada" }] } });
    expect([lost, answered.size]).toEqual([2, 2]);
  });
});

describe("a server that has lost the session of a task, and writes nothing", () => {
  test("shows the task as the server that has it now, and tells a client that only listens of its end", async () => {
    const path = temporaryFile();
    const [first, second] = [await node(path), await node(path)];
    const taskId = await first.begin({});
    const listening = await first.listen(taskId);
    await listening.until("working");
    const { id = "" } = first.runtime.sessions.list().find((session) => session.id.startsWith("mcp-task-")) ?? {};
    const taken = await second.runtime.resume(id, { takeOver: true }); // as after a pause that was longer than the lease
    expect(await first.until(taskId, "working")).toMatchObject({ taskId });
    second.done.resolve("second");
    const ended = await first.until(taskId, "completed");
    expect(ended).toMatchObject({ result: { content: [{ text: "second" }] } });
    expect(await listening.until("completed")).toMatchObject({ result: { content: [{ text: "second" }] } });
    await taken.close();
    expect(await second.until(taskId, "completed")).toEqual(ended);
  });

  test("shows the tasks that it runs also while the store cannot be read", async () => {
    const first = await node(temporaryFile());
    const taskId = await first.begin({});
    const list = () => Promise.reject(new ToolError("store_failed", "The disk is gone."));
    Object.assign(first.runtime.store ?? {}, { list });
    expect(await first.until(taskId, "working")).toMatchObject({ taskId });
    first.done.resolve("done");
    expect(await first.until(taskId, "completed")).toMatchObject({ result: { content: [{ text: "done" }] } });
  });

  test("shows a task that it has taken up again to a request that has looked for it since before", async () => {
    const path = temporaryFile();
    const [first, second] = [await node(path), await node(path)];
    const taskId = await first.begin({ asks: "later" });
    const { id = "" } = first.runtime.sessions.list().find((session) => session.id.startsWith("mcp-task-")) ?? {};
    await second.runtime.resume(id, { takeOver: true });
    const store = first.runtime.store ?? memoryStore();
    const list = store.list.bind(store);
    const [reading, read] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const listSlowly: typeof list = async (query) => {
      Object.assign(store, { list });
      const found = await list(query);
      reading.resolve(undefined);
      await read.promise;
      return found;
    };
    Object.assign(store, { list: listSlowly });
    const late = first.ask("tasks/get", { taskId });
    await reading.promise;
    await first.ask("tasks/get", { taskId }); // it notices that the task was lost
    await second.runtime.sessions.handOver(id);
    await vi.waitFor(async () => {
      await first.ask("tasks/get", { taskId });
      expect(first.runtime.sessions.get(id)).toBeDefined();
    }, WAIT);
    first.done.resolve("");
    const { inputRequests } = await first.until(taskId, "input_required");
    read.resolve(undefined);
    expect((await late).result).toMatchObject({ status: "input_required", inputRequests });
    expect(await first.until(taskId, "input_required")).toMatchObject({ inputRequests });
  });

  test("answers a wait for its result, of a client of 2025-11-25", async () => {
    const path = temporaryFile();
    const [first, second] = [await node(path), await node(path)];
    const { post, messages } = await first.legacy();
    const params = { name: "work", arguments: {}, task: {} };
    const [begun] = await messages(post({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
    const { taskId } = (begun as { readonly result: { readonly task: JsonObject } }).result.task;
    const result = messages(post({ jsonrpc: "2.0", id: 2, method: "tasks/result", params: { taskId: taskId ?? "" } }));
    await messages(post({ jsonrpc: "2.0", id: 3, method: "ping" }));
    const { id = "" } = first.runtime.sessions.list().find((session) => session.id.startsWith("mcp-task-")) ?? {};
    const taken = await second.runtime.resume(id, { takeOver: true });
    second.done.resolve("second");
    await vi.waitFor(() => expect(taken.jobs).toEqual([]), WAIT);
    await taken.close();
    expect(await result).toMatchObject([{ result: { content: [{ text: "second" }] } }]);
  });
});

const PROGRAM = bundledProgram("server/mcp-task-process");

async function start(path: string, way: "hang" | "go"): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, [PROGRAM, path, "0", way], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { child, url: String(line) };
}

test(
  "a client that only listens is told of the end of a task whose server is killed, which its own server then continues",
  { timeout: 120_000 },
  async () => {
    const path = temporaryFile();
    const [first, second] = [await start(path, "hang"), await start(path, "go")];
    const { result } = await raw(first.url, "tools/call", { name: "read", arguments: {} }, ABLE);
    const taskId = String(result["taskId"]);
    const listening = await listen(second.url, taskId);
    await listening.until("working");
    first.child.kill("SIGKILL");
    expect(await listening.until("completed")).toMatchObject({ result: { content: [{ text: "read" }] } });
  },
);

describe.skipIf(postgresPrograms === undefined || !inCI)(`on a PostgreSQL server ${IN_CI}`, () => {
  test("a server that was paused for longer than its lease finds the task ended by another one", { timeout: 120_000 }, async () => {
    const database = await startPostgres({}, "trust");
    onTestFinished(() => database.remove());
    const [first, second] = [await start(database.url, "hang"), await start(database.url, "go")];
    const { result } = await raw(first.url, "tools/call", { name: "read", arguments: {} }, ABLE);
    const taskId = String(result["taskId"]);
    const listening = await listen(first.url, taskId);
    await listening.until("working");
    first.child.kill("SIGSTOP");
    const ended = await until(second.url, taskId, "completed");
    first.child.kill("SIGCONT");
    expect(await listening.until("completed")).toMatchObject({ taskId, result: { content: [{ text: "read" }] } });
    expect(await until(first.url, taskId, "completed")).toEqual(ended);
    for (const { child } of [first, second]) child.kill("SIGKILL");
  });

  test(
    "a task that the worker of another server has continued waits with its question until a client asks for it",
    { timeout: 60_000 },
    async () => {
      const database = await startPostgres({}, "trust");
      onTestFinished(() => database.remove());
      const asked: string[] = [];
      const serve = async (name: string) => {
        const runtime = createRuntime({
          store: postgresStore({ url: database.url }),
          tools: [
            {
              name: "work",
              description: "Works.",
              inputSchema: { type: "object" },
              effects: readOnly("disk"),
              mode: "background",
              execute: async (_input, { ask }) => {
                asked.push(name);
                const answer = await ask({ message: "Who?", schema: NAME });
                return answer.action === "accept" ? `for ${String(answer.content?.["name"])}` : answer.action;
              },
            },
          ],
        });
        await runtime.open();
        const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits: { graceMs: 50 } });
        const { url } = await server.listen({ port: 0, address: true });
        await server.work();
        const close = async (): Promise<void> => {
          await server.close();
          await runtime.close();
        };
        onTestFinished(close);
        return { url: `${url}/mcp`, runtime, close };
      };
      const first = await serve("first");
      const { result } = await raw(first.url, "tools/call", { name: "work", arguments: {} }, ABLE);
      const taskId = String(result["taskId"]);
      await until(first.url, taskId, "input_required");
      const [second, third] = [await serve("second"), await serve("third")];
      await first.close(); // leaves the task in the queue, from which one of the others takes it
      await vi.waitFor(() => expect(asked).toHaveLength(2), WAIT);
      const other = asked[1] === "second" ? third : second;

      const { inputRequests } = await until(other.url, taskId, "input_required");
      const [key = ""] = Object.keys(inputRequests as JsonObject);
      const inputResponses = { [key]: { action: "accept", content: { name: "Ada" } } };
      await raw(other.url, "tasks/update", { taskId, inputResponses }, ABLE);
      for (const { url } of [second, third])
        expect(await until(url, taskId, "completed")).toMatchObject({ result: { content: [{ text: "for Ada" }] } });
      expect(asked).toHaveLength(2);
    },
  );

  test(
    "a server that leaves jobs to workers hands its tasks over, shows their state, and knows no others",
    { timeout: 60_000 },
    async () => {
      const database = await startPostgres({}, "trust");
      onTestFinished(() => database.remove());
      const ran: string[] = [];
      const runtimeOf = async (name: string, jobs: { readonly maxRunning?: number }): Promise<Runtime> => {
        const execute = (): string => `ran in ${(ran.push(name), name)}`;
        const effects = { writes: ["disk"], idempotent: false };
        const tools = [
          { name: "work", description: "Works.", inputSchema: { type: "object" }, effects, mode: "background" as const, execute },
        ];
        const runtime = createRuntime({ tools, jobs, store: postgresStore({ url: database.url }) });
        onTestFinished(async () => void (await runtime.close()));
        await runtime.open();
        return runtime;
      };
      const serving = await runtimeOf("server", { maxRunning: 0 });
      const server = createServer(serving, { auth: staticToken({ token: TOKEN }) });
      onTestFinished(() => server.close());
      const url = `${(await server.listen({ port: 0 })).url}/mcp`;
      await serving.store?.queue?.open();

      const { result } = await raw(url, "tools/call", { name: "work", arguments: {} }, ABLE);
      const taskId = String(result["taskId"]);
      const listening = await listen(url, taskId);
      await listening.until("working");
      await vi.waitFor(() => expect(serving.sessions.list()).toEqual([]), WAIT);
      await until(url, taskId, "working"); // does not open the session again
      expect(serving.sessions.list()).toEqual([]);
      expect((await raw(url, "tasks/get", { taskId: "no-such-task" }, ABLE)).error).toMatchObject({ code: -32602 });

      const worker = createWorker(await runtimeOf("worker", {}));
      await worker.start();
      const content = [{ type: "text", text: "ran in worker" }];
      expect(await until(url, taskId, "completed")).toMatchObject({ result: { content } });
      expect(await listening.until("completed")).toMatchObject({ result: { content } });
      expect(ran).toEqual(["worker"]);
      await worker.stop();
    },
  );
});
