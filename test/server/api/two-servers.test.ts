/** Two real `haft serve` over one store: what is begun at one is finished at the other. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createPortFinder } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { HAFT } from "../../bundled-program.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { raw, TASKS } from "../mcp-raw.ts";
import { postgresPrograms, startPostgres, type PostgresServer } from "../../store/postgres/server.ts";

const TOKEN = "a-token-of-both-servers";
const LONG = 240_000;

const TOOLS = `
const tool = (name, effects, execute) => ({ name, description: name, inputSchema: { type: "object" }, effects, execute });
export const count = tool("count", { writes: ["session:count"] }, (_, { state }) => {
  state.update("n", (n) => Number(n ?? 0) + 1);
  return { n: state.get("n"), pid: process.pid };
});
export const wipe = tool("wipe", { writes: ["disk:all"], destructive: true }, () => "wiped");
const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
export const greet = {
  ...tool("greet", { reads: ["names"], writes: [] }, async (_, { ask }) => "Hello " + (await ask({ message: "Who?", schema })).content?.name),
  mode: "background",
};
`;

async function newProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "haft-two-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "haft.toml"), '[toolsets.shop]\ntype = "module"\npath = "./tools.mjs"\n');
  await writeFile(join(folder, "tools.mjs"), TOOLS);
  return folder;
}

async function freePort(): Promise<number> {
  const finder = createPortFinder();
  await new Promise<void>((resolve) => finder.listen(0, "127.0.0.1", resolve));
  const address = finder.address();
  await new Promise((resolve) => finder.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

interface Node {
  readonly url: string;
  readonly child: ChildProcess;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks at what it expects
  ask(method: string, path: string, body?: unknown): Promise<any>;
}

async function serve(folder: string, store: string, name: string): Promise<Node> {
  const port = await freePort();
  const args = ["serve", "--config", "haft.toml", "--store", store, "--name", name, "--port", `${port}`];
  const child = spawn(process.execPath, [HAFT, ...args, "--address", `http://127.0.0.1:${port}`], {
    cwd: folder,
    env: { ...process.env, HAFT_TOKEN: TOKEN },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    const url = /serving at (\S+)/u.exec(line)?.[1];
    if (url === undefined) continue;
    child.stderr.resume();
    const ask: Node["ask"] = async (method, path, body) => {
      const headers = { authorization: `Bearer ${TOKEN}`, ...(body === undefined ? {} : { "content-type": "application/json" }) };
      const answer = await fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
      const text = await answer.text();
      expect({ path, text, isWell: answer.ok }).toMatchObject({ isWell: true });
      return text === "" ? undefined : JSON.parse(text);
    };
    return { url, child, ask };
  }
  throw new Error(`The server did not start: ${lines.join("\n")}`);
}

interface Seen {
  readonly position: number;
  readonly type: string;
}

/** The durable events of a stream until one fits, or until it ends. */
async function follow(node: Node, after: number, seen: Seen[], until: (event: Seen) => boolean): Promise<void> {
  const answer = await fetch(`${node.url}/v1/sessions/shop/events`, {
    headers: { authorization: `Bearer ${TOKEN}`, accept: "text/event-stream", "last-event-id": String(after) },
  });
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of answer.body ?? []) {
    const frames = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const position = Number(/^id: ?(\d+)$/mu.exec(frame)?.[1] ?? Number.NaN);
      if (Number.isNaN(position)) continue;
      const event = { position, type: String((JSON.parse(/^data: ?(.*)$/mu.exec(frame)?.[1] ?? "{}") as Partial<Seen>).type) };
      seen.push(event);
      if (!until(event)) continue;
      await answer.body?.cancel().catch(() => {});
      return;
    }
  }
}

const call = (name: string): object => ({ calls: [{ name: `shop::${name}`, input: {} }] });

async function beginHereFinishThere(store: string): Promise<void> {
  const folder = await newProject();
  const [one, two] = [await serve(folder, store, "one"), await serve(folder, store, "two")];
  await one.ask("POST", "/v1/sessions", { id: "shop" });
  const first = (await one.ask("POST", "/v1/sessions/shop/execute", call("count"))).results[0].output;
  expect(first).toEqual({ n: 1, pid: one.child.pid });
  const seen: Seen[] = [];
  const cut = follow(one, 0, seen, () => false).catch(() => {}); // its server stops below

  // A branch is begun at one; it is worked in, compared and committed at the other.
  await one.ask("POST", "/v1/sessions/shop/fork", { id: "try" });
  expect((await two.ask("POST", "/v1/sessions/try/execute", call("count"))).results[0].output.n).toBe(2);
  expect(JSON.stringify(await two.ask("GET", "/v1/sessions/try/diff"))).toContain('"n"');
  await two.ask("POST", "/v1/sessions/try/commit");

  // A simulation that is asked for at the other leaves no trace at the first.
  expect((await two.ask("POST", "/v1/sessions/shop/simulate", call("count"))).results[0].output.n).toBe(3);
  expect((await one.ask("GET", "/v1/sessions/shop/snapshot")).state).toMatchObject({ shop: { n: 2 } });

  // A question that a call asks at one is found and answered at the other.
  const waiting = one.ask("POST", "/v1/sessions/shop/execute", call("wipe"));
  const question = async (): Promise<{ readonly callId: string; readonly digest: string }> => {
    for (;;) {
      const [found] = (await two.ask("GET", "/v1/approvals")).approvals;
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const { callId, digest } = await question();
  await two.ask("POST", `/v1/approvals/${callId}`, { answer: "allow-once", digest });
  expect((await waiting).results[0]).toMatchObject({ status: "ok", output: "wiped" });

  // The first stops. Its session is open at the other from then on, and a stream that it had begun continues there.
  one.child.kill("SIGTERM");
  await new Promise((resolve) => one.child.once("exit", resolve));
  await cut;
  const last = seen.at(-1)?.position ?? 0;
  const more = two.ask("POST", "/v1/sessions/shop/execute", call("count"));
  await follow(two, last, seen, ({ type, position }) => type === "call-end" && position > last);
  expect((await more).results[0].output).toEqual({ n: 3, pid: two.child.pid });
  expect(last).toBeGreaterThan(3);
  expect(seen.map(({ position }) => position)).toEqual(seen.map((_event, index) => index + 1));
  const { processes } = await two.ask("GET", "/v1/fleet");
  expect(processes).toMatchObject([{ name: "two", own: true, sessionIds: ["shop"] }]);
}

async function taskHereAnswerThere(store: string): Promise<void> {
  const folder = await newProject();
  const [one, two] = [await serve(folder, store, "one"), await serve(folder, store, "two")];
  const able = { capabilities: { ...TASKS, elicitation: { form: {} } }, headers: { authorization: `Bearer ${TOKEN}` } };
  const mcp = async (node: Node, method: string, params: JsonObject): Promise<JsonObject> =>
    (await raw(`${node.url}/mcp`, method, params, able)).result;
  const taskId = String((await mcp(one, "tools/call", { name: "shop__greet", arguments: {} }))["taskId"]);
  const until = (node: Node, status: string): Promise<JsonObject> =>
    vi.waitFor(
      async () => {
        const task = await mcp(node, "tasks/get", { taskId });
        expect(task["status"]).toBe(status);
        return task;
      },
      { timeout: 30_000 },
    );
  const { inputRequests = {} } = await until(two, "input_required");
  const [key = ""] = Object.keys(inputRequests as JsonObject);
  await mcp(two, "tasks/update", { taskId, inputResponses: { [key]: { action: "accept", content: { name: "Ada" } } } });
  const ended = await until(two, "completed");
  expect(ended).toMatchObject({ result: { content: [{ text: "Hello Ada" }] } });
  expect(await until(one, "completed")).toEqual(ended);
}

test("a task over MCP that asks at one server is answered at another, over a file", { timeout: LONG }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "haft-two-store-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await taskHereAnswerThere(join(folder, "haft.db"));
});

test(
  "issue 21 a fork, a simulation, an approval and a stream begun at one server can be finished at another, over a file",
  { timeout: LONG },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "haft-two-store-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await beginHereFinishThere(join(folder, "haft.db"));
  },
);

describe.skipIf(postgresPrograms === undefined || !inCI)(`on a PostgreSQL server ${IN_CI}`, () => {
  let running: PostgresServer | undefined;
  beforeAll(async () => {
    running = await startPostgres({}, "trust");
  }, 120_000);
  afterAll(() => running?.remove());

  test(
    "issue 21 a fork, a simulation, an approval and a stream begun at one server can be finished at another",
    { timeout: LONG },
    async () => {
      await beginHereFinishThere(running?.url ?? expect.fail("the server did not start"));
    },
  );

  // after the test that lists all processes of the database
  test("a task over MCP that asks at one server is answered at another", { timeout: LONG }, async () => {
    await taskHereAnswerThere(running?.url ?? expect.fail("the server did not start"));
  });
});
