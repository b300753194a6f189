/** Issue 20: all sessions are searched by the server, and the time of calls is counted. */
import { createRuntime, defineTool, pure } from "haft";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { memoryStore, type Store } from "haft/store";
import { MemoryLog } from "haft/testing";
import { expect, onTestFinished, test } from "vitest";

const TOKEN = "a-token-of-enough-letters";

async function serve(ids: readonly string[], store: Store | "none" = memoryStore()) {
  const nothing = defineTool({
    name: "nothing",
    description: "Does nothing.",
    inputSchema: { type: "object", properties: {} },
    effects: pure,
    execute: () => null,
  });
  const runtime = createRuntime({ ...(store === "none" ? {} : { store }), toolsets: [{ name: "a", tools: [nothing] }] });
  const log = new MemoryLog();
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), ports: { log } });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  for (const id of ids) await runtime.session(id).execute({ name: "a::nothing", input: {} });
  const get = (path: string, init: RequestInit = {}) =>
    server.fetch(new Request(`http://127.0.0.1${path}`, { ...init, headers: { authorization: `Bearer ${TOKEN}` } }));
  return Object.assign(get, { runtime, log });
}

type Page = { readonly sessions: readonly { readonly id: string }[]; readonly next?: string };

test("issue 20.2 a search finds sessions beyond the first page by words, in any order and case, page by page", async () => {
  const get = await serve(Array.from({ length: 25 }, (_, index) => `${index % 5 === 0 ? "Trip" : "Other"} to ${index}`));
  const found: string[] = [];
  let pages = 0;
  for (let cursor: string | undefined = "0"; cursor !== undefined; pages++) {
    const page = (await (await get(`/v1/sessions?limit=2&q=TO%20trip&cursor=${cursor}`)).json()) as Page;
    found.push(...page.sessions.map(({ id }) => id));
    expect(page.sessions.length).toBeLessThanOrEqual(2);
    cursor = page.next;
  }
  expect([found.toSorted(), pages]).toEqual([["Trip to 0", "Trip to 10", "Trip to 15", "Trip to 20", "Trip to 5"], 3]);
  expect(await (await get("/v1/sessions?q=nowhere")).json()).toEqual({ sessions: [], searched: 25 });
});

test("issue 20.2 an aborted search, as on each keystroke, is not logged as a failure", async () => {
  const get = await serve(["one"]);
  const answer = await get("/v1/sessions?q=one", { signal: AbortSignal.abort() });
  expect([answer.status, get.log.lines]).toEqual([409, []]);
});

for (const [name, makeStore] of [
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore({ path: ":memory:" })],
  ["no store", () => "none" as const],
] as const)
  test(`issue 20.2 a search matches titles too, character for character (${name})`, async () => {
    const get = await serve([], makeStore());
    const titles = ["Two lamps, 50% off", "snake_case and\u0000NUL", "a \u202egnp.exe", "Ein Tisch für Zoë"];
    for (const [index, content] of titles.entries()) await get.runtime.session(`s${index}`).addMessage({ role: "user", content });
    const found = async (q: string) => {
      const answer = (await (await get(`/v1/sessions?q=${encodeURIComponent(q)}`)).json()) as Page;
      expect(answer).toMatchObject({ searched: 4 });
      expect(answer.next).toBeUndefined();
      return answer.sessions.map(({ id }) => id).toSorted();
    };
    expect(await found("LAMPS two")).toEqual(["s0"]);
    expect(await found("s0 lamps")).toEqual(["s0"]); // one word of the id, one of the title
    expect(await found("%")).toEqual(["s0"]);
    expect(await found("_")).toEqual(["s1"]);
    expect(await found("\u0000")).toEqual(["s1"]);
    expect(await found("\u202e")).toEqual(["s2"]);
    expect(await found("FÜR")).toEqual(["s3"]);
    expect(await found(" ")).toEqual(["s0", "s1", "s2", "s3"]);
    expect(await found("'; drop table sessions; --")).toEqual([]);
  });

test("issue 20.2 a search that is empty or too long is rejected with what is allowed", async () => {
  const get = await serve([]);
  for (const q of ["", "x".repeat(10_240)]) {
    const response = await get(`/v1/sessions?q=${q}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/"q"|\bq\b/u);
  }
});

test("issue 20.2 a search page covers 2,000 sessions, reports that and continues at its cursor; an exact id comes first, once", async () => {
  const get = await serve([]);
  for (let index = 0; index < 2_100; index++) {
    const log = get.runtime.store?.create(`s${index}`, { at: index, durability: "sync" });
    const content = index === 3 ? "the lamp" : "a desk";
    log?.append([{ type: "message-add", sessionId: `s${index}`, at: index, message: { role: "user", content } }]);
    await log?.close();
  }
  const ask = async (query: string) => (await (await get(`/v1/sessions?${query}`)).json()) as Page;
  const first = await ask("q=lamp");
  expect(first).toEqual({ sessions: [], searched: 2_000, next: "2000" });
  const second = await ask("q=lamp&cursor=2000");
  expect(second).toMatchObject({ sessions: [{ id: "s3", title: "the lamp" }], searched: 2_100 });
  expect(second.next).toBeUndefined();
  const named = await ask("q=s3&limit=1");
  expect(named.sessions.map(({ id }) => id)).toEqual(["s3"]);
  const ids: string[] = named.sessions.map(({ id }) => id);
  for (let { next } = named; next !== undefined;) {
    const page = await ask(`q=s3&limit=700&cursor=${next}`);
    ids.push(...page.sessions.map(({ id }) => id));
    next = page.next;
  }
  const all = Array.from({ length: 2_100 }, (_, index) => `s${index}`).filter((id) => id.includes("s3"));
  expect(ids.toSorted()).toEqual(all.toSorted());
});

test("issue 20.2 the metrics include a histogram of call durations", async () => {
  const get = await serve(["one", "two"]);
  const text = await (await get("/metrics")).text();
  expect(text).toContain("# TYPE haft_call_seconds histogram");
  expect(text).toMatch(/^haft_call_seconds_bucket\{.*le="\+Inf".*\} 2$/mu);
  expect(text).toMatch(/^haft_call_seconds_count\{.*\} 2$/mu);
});

test("issue 20.2 the title of a session is its first user message, or else the first tool that was called", async () => {
  const get = await serve(["called"]);
  const asked = get.runtime.session("asked");
  await asked.addMessage({ role: "system", content: "Be short." });
  await asked.addMessage({ role: "user", content: [{ type: "text", text: `  Two \n lamps ${"and a desk ".repeat(100)}` }] });
  await asked.execute({ name: "a::nothing", input: {} });
  await get.runtime.session("told").receive({ role: "user", content: "By an inbox" });
  get.runtime.session("empty");
  const titles = async (): Promise<ReadonlyMap<string, unknown>> => {
    const { sessions } = (await (await get("/v1/sessions")).json()) as { readonly sessions: readonly Record<string, unknown>[] };
    return new Map(sessions.map(({ id, title }) => [String(id), title]));
  };
  for (const found of [await titles(), await titles()]) {
    expect([found.get("called"), found.get("told"), found.get("empty")]).toEqual(["a::nothing", "By an inbox", undefined]);
    expect(found.get("asked")).toMatch(/^Two lamps and a desk .*…$/u);
    expect(String(found.get("asked"))).toHaveLength(200);
  }
  expect(await (await get("/v1/sessions/called")).json()).toMatchObject({ title: "a::nothing" });
  const again = get.runtime.session("empty-2");
  expect((await titles()).get("empty-2")).toBeUndefined();
  await again.addMessage({ role: "user", content: "Now" });
  expect((await titles()).get("empty-2")).toBe("Now");
});
