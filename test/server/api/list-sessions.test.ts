/** Issue 20: all sessions are searched by the server, and the time of calls is counted. */
import { createRuntime, defineTool, pure } from "haft";
import { createServer, staticToken } from "haft/server";
import { memoryStore } from "haft/store";
import { expect, onTestFinished, test } from "vitest";

const TOKEN = "a-token-of-enough-letters";

async function serve(ids: readonly string[]) {
  const nothing = defineTool({
    name: "nothing",
    description: "Does nothing.",
    inputSchema: { type: "object", properties: {} },
    effects: pure,
    execute: () => null,
  });
  const runtime = createRuntime({ store: memoryStore(), toolsets: [{ name: "a", tools: [nothing] }] });
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }) });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  for (const id of ids) await runtime.session(id).execute({ name: "a::nothing", input: {} });
  const get = (path: string) => server.fetch(new Request(`http://127.0.0.1${path}`, { headers: { authorization: `Bearer ${TOKEN}` } }));
  return Object.assign(get, { runtime });
}

type Page = { readonly sessions: readonly { readonly id: string }[]; readonly next?: string };

test("issue 20.2 words find sessions behind the first page, in any order and case, page by page", async () => {
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
  expect(await (await get("/v1/sessions?q=nowhere")).json()).toEqual({ sessions: [] });
});

test("issue 20.2 the metrics have a histogram of the time that calls took", async () => {
  const get = await serve(["one", "two"]);
  const text = await (await get("/metrics")).text();
  expect(text).toContain("# TYPE haft_call_seconds histogram");
  expect(text).toMatch(/^haft_call_seconds_bucket\{.*le="\+Inf".*\} 2$/mu);
  expect(text).toMatch(/^haft_call_seconds_count\{.*\} 2$/mu);
});

test("issue 20.2 a session has the first message of a user as its title, or the first tool that was called", async () => {
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
