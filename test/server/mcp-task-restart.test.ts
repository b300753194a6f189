/** Tasks outlive the server that began them, where its store does. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { readOnly } from "../../src/core/resources/effects.ts";
import { createRuntime } from "../../src/index.ts";
import { listenMcp } from "../../src/server/mcp.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { temporaryFile } from "../store/temporary-file.ts";
import { raw, TASKS } from "./mcp-raw.ts";
import { rawSession } from "./mcp-raw-session.ts";
import { bundledProgram } from "../bundled-program.ts";
import { testInCI } from "../test-in-ci.ts";

const ABLE = { capabilities: { ...TASKS, elicitation: { form: {} } } };
const PROGRAM = bundledProgram("server/mcp-task-process");
const WAIT = { timeout: 30_000, interval: 20 };

async function start(path: string, way: "hold" | "go"): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, [PROGRAM, path, "0", way], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { child, url: String(line) };
}

async function begin(url: string, args: JsonObject): Promise<string> {
  const { result } = await raw(url, "tools/call", { name: "read", arguments: args }, ABLE);
  expect(result).toMatchObject({ resultType: "task" });
  return String(result["taskId"]);
}

async function until(url: string, taskId: string, status: string): Promise<JsonObject> {
  return vi.waitFor(async () => {
    const { result } = await raw(url, "tasks/get", { taskId }, ABLE);
    expect(result["status"]).toBe(status);
    return result;
  }, WAIT);
}

testInCI(
  "issue 19.7 after the server is killed, the next one continues its tasks, repeats questions under a new key, and reports ended tasks",
  { timeout: 240_000 },
  async () => {
    const path = temporaryFile();
    const first = await start(path, "hold");
    const working = await begin(first.url, {});
    const asking = await begin(first.url, { asks: true });
    const before = await until(first.url, asking, "input_required");
    const cancelled = await begin(first.url, {});
    await raw(first.url, "tasks/cancel", { taskId: cancelled }, ABLE);
    await until(first.url, cancelled, "cancelled");
    first.child.kill("SIGKILL");
    await once(first.child, "exit");

    const second = await start(path, "go");
    const found = await Promise.all(Array.from({ length: 50 }, () => raw(second.url, "tasks/get", { taskId: working }, ABLE)));
    expect(found.map(({ error }) => error).filter((error) => error !== undefined)).toEqual([]);
    expect(await until(second.url, working, "completed")).toMatchObject({ result: { content: [{ type: "text", text: "read" }] } });
    expect(await until(second.url, cancelled, "cancelled")).not.toHaveProperty("error");

    const again = await until(second.url, asking, "input_required");
    const [key = ""] = Object.keys(again["inputRequests"] as JsonObject);
    expect(Object.keys(before["inputRequests"] as JsonObject)).not.toContain(key);
    await raw(second.url, "tasks/update", { taskId: asking, inputResponses: { [key]: { action: "accept", content: {} } } }, ABLE);
    expect(await until(second.url, asking, "completed")).toMatchObject({ result: { content: [{ type: "text", text: "accept" }] } });
  },
);

/** Its time of day moves on with every look. */
class MovingClock extends FakeClock {
  #looks = 0;

  override wallTime(): number {
    return super.wallTime() + this.#looks++;
  }
}

test("a task that is found after a restart keeps its createdAt and lastUpdatedAt, even if its call became a task later", async () => {
  const path = temporaryFile();
  const clock = new MovingClock({ wallTime: Date.UTC(2026, 0, 1) });
  const serve = async () => {
    const done = Promise.withResolvers<string>();
    const runtime = createRuntime({
      store: sqliteStore({ path }),
      ports: { clock },
      tools: [
        {
          name: "read",
          description: "Reads.",
          inputSchema: { type: "object" },
          effects: readOnly("disk"),
          timeoutMs: 0,
          execute: () => done.promise,
        },
      ],
    });
    await runtime.open();
    const listener = await listenMcp(runtime, { port: 0, ports: { clock }, tasks: { taskAfterMs: 5_000 } });
    const close = async (): Promise<void> => {
      await listener.close();
      await runtime.close();
    };
    onTestFinished(close);
    return { url: listener.url, runtime, done, close };
  };
  const first = await serve();
  const call = raw(first.url, "tools/call", { name: "read", arguments: {} }, ABLE);
  await vi.waitFor(() => expect(first.runtime.running).toHaveLength(1), WAIT);
  await clock.advance(5_000);
  const { taskId, createdAt } = (await call).result;
  first.done.resolve("read");
  const ended = await until(first.url, String(taskId), "completed");
  await clock.advance(10_000);
  await first.close();
  await clock.advance(60_000);
  const second = await serve();
  const again = await until(second.url, String(taskId), "completed");
  expect([createdAt, again]).toEqual([ended["createdAt"], ended]);
});

/** Servers over one file; the tool ends when it is told to, at all of them or at one. */
function servers() {
  const path = temporaryFile();
  const done = Promise.withResolvers<string>();
  return {
    done,
    async serve({ promise }: Pick<typeof done, "promise"> = done) {
      const tool = {
        name: "read",
        description: "Reads.",
        inputSchema: { type: "object" },
        effects: readOnly("disk"),
        mode: "background",
        execute: () => promise,
      } as const;
      const runtime = createRuntime({ store: sqliteStore({ path }), tools: [tool], ports: { log: { debug() {}, warn() {} } } });
      await runtime.open();
      const listener = await listenMcp(runtime, { port: 0 });
      onTestFinished(async () => {
        await listener.close();
        await runtime.close();
      });
      return { url: listener.url, runtime };
    },
  };
}

test("a task run by one server is visible at every server, with the same result everywhere", async () => {
  const { done, serve } = servers();
  const [first, second] = [await serve(), await serve()];
  const taskId = await begin(first.url, {});
  expect(await until(second.url, taskId, "working")).toMatchObject({ taskId });
  const answer = await raw(second.url, "tasks/update", { taskId, inputResponses: {} }, ABLE); // neither has an address
  expect(answer.error).toMatchObject({ message: "The task runs in another process, which cannot be reached." });
  done.resolve("read");
  const ended = await until(second.url, taskId, "completed");
  expect(ended).toMatchObject({ result: { content: [{ type: "text", text: "read" }] } });
  expect(await until(first.url, taskId, "completed")).toEqual(ended);
});

test("a task that ends while the store cannot be written is not reported as failed: it has ended once its end is written", async () => {
  const path = temporaryFile();
  const done = Promise.withResolvers<string>();
  let writes = 0;
  const write = {
    name: "read",
    description: "Writes.",
    inputSchema: { type: "object" },
    effects: { writes: ["disk"] },
    mode: "background",
    execute: async () => (writes++, await done.promise),
  } as const;
  const log: string[] = [];
  const ports = { log: { debug() {}, warn: (line: string) => void log.push(line) } };
  const serve = async () => {
    const runtime = createRuntime({ store: sqliteStore({ path, busyTimeoutMs: 1 }), tools: [write], ports });
    await runtime.open();
    const listener = await listenMcp(runtime, { port: 0, ports });
    onTestFinished(async () => {
      await listener.close();
      await runtime.close();
    });
    return { url: listener.url, runtime };
  };
  const first = await serve();
  const taskId = await begin(first.url, {});
  await vi.waitFor(() => expect(writes).toBe(1), WAIT);
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  done.resolve("written");
  await vi.waitFor(() => expect(log.join()).toContain("The session of a task could not be closed"), WAIT);
  const { result } = await raw(first.url, "tasks/get", { taskId }, ABLE);
  expect(result["status"]).not.toBe("failed");
  other.exec("ROLLBACK");
  other.close();
  const ended = await until(first.url, taskId, "completed");
  expect(ended).toMatchObject({ result: { content: [{ type: "text", text: "written" }] } });
  expect(await until((await serve()).url, taskId, "completed")).toEqual(ended);
  expect(writes).toBe(1);
});

test("a task can be cancelled at any server", async () => {
  const { serve } = servers();
  const [first, second] = [await serve(), await serve()];
  const taskId = await begin(first.url, {});
  await until(second.url, taskId, "working");
  await raw(second.url, "tasks/cancel", { taskId }, ABLE);
  await until(second.url, taskId, "cancelled");
  await until(first.url, taskId, "cancelled");
});

test("a task whose session another process has taken over ends there, and the first server does not report a failure", async () => {
  const { done, serve } = servers();
  const [first, second] = [await serve(), await serve()];
  const taskId = await begin(first.url, {});
  const [sessionId = ""] = first.runtime.sessions.list().map(({ id }) => id);
  const taken = await second.runtime.resume(sessionId, { takeOver: true }); // as a worker does
  await vi.waitFor(
    () => expect(first.runtime.sessions.get(sessionId)?.broken ?? { code: "conflict" }).toMatchObject({ code: "conflict" }),
    WAIT,
  );
  await until(second.url, taskId, "working");
  done.resolve("read");
  const ended = await until(second.url, taskId, "completed");
  expect(await until(first.url, taskId, "completed")).toEqual(ended);
  await taken.close();
  expect(await until(second.url, taskId, "completed")).toEqual(ended);
});

test.each(["has ended there", "runs there"])(
  "a wait for the result of a task that another process has taken over and that %s ends",
  async (how) => {
    const { serve } = servers();
    const dones = [Promise.withResolvers<string>(), Promise.withResolvers<string>()] as const;
    const [first, second] = [await serve(dones[0]), await serve(dones[1])];
    const { post, messages } = await rawSession(first.url, "2025-11-25");
    const ask = async (id: number, method: string, params: JsonObject) =>
      (await messages(post({ jsonrpc: "2.0", id, method, params })))[0] as { readonly result: JsonObject };
    const { task } = (await ask(1, "tools/call", { name: "read", arguments: {}, task: {} })).result as { task: { taskId: string } };
    const begun = await post({ jsonrpc: "2.0", id: 2, method: "tasks/result", params: { taskId: task.taskId } });
    await ask(3, "ping", {}); // so that the wait has begun
    const { id = "" } = first.runtime.sessions.list().find((session) => session.id.startsWith("mcp-task-")) ?? {};
    const taken = await second.runtime.resume(id, { takeOver: true });
    if (how === "has ended there") {
      dones[1].resolve("second");
      await vi.waitFor(() => expect(taken.jobs).toEqual([]), WAIT);
      await taken.close();
    }
    dones[0].resolve("first");
    await ask(4, "ping", {});
    dones[1].resolve("second");
    expect((await messages(Promise.resolve(begun)))[0]).toMatchObject({ result: { content: [{ text: "second" }] } });
  },
);

test.each(["direct", "background"] as const)(
  "a %s call whose first events are no longer in memory is a task, also after a restart",
  async (mode) => {
    const path = temporaryFile();
    const clock = new MovingClock({ wallTime: Date.UTC(2026, 0, 1) });
    const described = { inputSchema: { type: "object" }, effects: readOnly("disk") } as const;
    const serve = async () => {
      const done = Promise.withResolvers<string>();
      const many = Promise.withResolvers<void>();
      const runtime = createRuntime({
        store: sqliteStore({ path }),
        keepEvents: 1,
        ports: { clock, log: { debug() {}, warn() {} } },
        tools: [
          { ...described, name: "step", description: "Makes a step.", execute: () => "made" },
          {
            ...described,
            name: "read",
            description: "Reads.",
            timeoutMs: 0,
            mode,
            execute: async (_, { execute }) => {
              for (let step = 0; step < 5; step++) await execute({ name: "step" });
              many.resolve();
              return done.promise;
            },
          },
        ],
      });
      await runtime.open();
      const listener = await listenMcp(runtime, { port: 0, ports: { clock }, tasks: { taskAfterMs: 5_000 } });
      const close = async (): Promise<void> => {
        await listener.close();
        await runtime.close();
      };
      onTestFinished(close);
      return { url: listener.url, done, many: many.promise, close };
    };
    const first = await serve();
    const call = raw(first.url, "tools/call", { name: "read", arguments: {} }, ABLE);
    await first.many;
    await clock.advance(5_000);
    const { taskId, createdAt } = (await call).result;
    first.done.resolve("read");
    const ended = await until(first.url, String(taskId), "completed");
    await first.close();
    await clock.advance(60_000);
    const again = await until((await serve()).url, String(taskId), "completed");
    expect(again).toEqual({ ...ended, createdAt });
    expect(ended).toMatchObject({ result: { content: [{ type: "text", text: "read" }] } });
  },
);
