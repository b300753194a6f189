/** Whatever a session key asks for, it gets nothing of other sessions, and changes nothing there. */
import { createClient } from "haft/client";
import { Keys, openServerAccess, staticToken } from "haft/server";
import { expect, test } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { API, OPERATION_IDS } from "../../../src/server/api.ts";
import type { Route } from "../../../src/server/api/requests/route.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { TOKEN, startApi } from "./api-server.ts";

const CANARY = "canary-9f31";

/** The text of a stream that comes at once, and in a moment after that. */
async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  const timer = setTimeout(() => void reader?.cancel(), 100);
  let text = "";
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
    text += decoder.decode(next.value, { stream: true });
  clearTimeout(timer);
  return text;
}

test("issue 19.5 E05 no route lets a session key read or change anything of another session", async () => {
  const { access } = memoryStore();
  const api = await startApi({ auth: await openServerAccess({ access, others: [staticToken({ token: TOKEN })] }, systemPorts) });
  const owner = createClient({ url: api.url, token: TOKEN });
  const params = { sessionId: "foreign" };
  for (const id of ["foreign", "own"]) await owner.call("createSession", { body: { id } });
  const add = { name: "notes::add", input: { text: CANARY } };
  const { results } = await owner.call("executeInSession", { params, body: { calls: [add] } });
  const talk = await owner.call("executeInSession", { params, body: { calls: [{ name: "notes::talk", reasoning: CANARY }] } });
  await owner.call("addSchedule", { body: { sessionId: "foreign", name: "daily", dailyAt: "07:30", prompt: CANARY } });
  await owner.call("addTrigger", { params, body: { type: "timer", name: "timer", settings: { interval: 3_600, prompt: CANARY } } });
  void owner
    .call("executeInSession", { params, body: { calls: [{ name: "notes::erase", input: { why: CANARY } }], concurrent: true } })
    .catch(() => {}); // the server stops with the test
  let { approvals } = await owner.call("listApprovals");
  while (approvals.length === 0) ({ approvals } = await owner.call("listApprovals"));
  const asked = approvals[0];
  const before = await owner.call("listSessionEvents", { params, query: { limit: 1_000 } });

  const own = { params: { sessionId: "own" }, body: { name: "page", scopes: ["read", "execute", "simulate", "approve"] } } as const;
  const { key } = await owner.call("createSessionKey", own);
  const other = await owner.call("createSessionKey", { params, body: { name: CANARY, scopes: ["read"] } });
  const foreign: Readonly<Record<string, readonly string[]>> = {
    sessionId: ["foreign"],
    with: ["foreign"],
    callId: [results[0]?.callId ?? "", asked?.callId ?? "", asked?.id ?? ""],
    jobId: [talk.results[0]?.callId ?? ""],
    scheduleId: ["daily"],
    triggerId: ["timer", "daily"],
    agentName: ["clerk"],
    channelName: ["news"],
    keyId: [other.id],
  };
  const told: string[] = [];
  for (const id of OPERATION_IDS) {
    const route: Route = API[id];
    for (const [at, values] of Object.entries(foreign)
      .flatMap(([name, all]) => all.map((value) => [name, value] as const))
      .entries()) {
      const [name, value] = values;
      const isAsked = [...Object.keys(route.params ?? {}), ...Object.keys(route.query ?? {})].includes(name);
      if (!isAsked && at > 0) continue;
      const path = route.path.replaceAll(/\{(\w+)\}/gu, (_, one: string) =>
        encodeURIComponent(one === name ? value : (foreign[one]?.[0] ?? "x")),
      );
      const query = new URLSearchParams(route.query !== undefined && Object.hasOwn(route.query, name) ? { [name]: value } : {});
      const stops = new AbortController();
      const example = JSON.stringify(route.example.body ?? null);
      const meant = example
        .replaceAll('"travel"', '"foreign"')
        .replaceAll("0000", asked?.digest ?? "")
        .replaceAll("call_1", asked?.id ?? "");
      const body = route.body === undefined ? undefined : meant;
      const response = await fetch(`${api.url}${path}?${query.toString()}`, {
        method: route.method,
        signal: stops.signal,
        headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body }),
      });
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
      const text = isStream ? await beginningOf(response) : await response.text();
      stops.abort();
      if (text.includes(CANARY)) told.push(`${id} ${path}?${query.toString()}`);
    }
  }
  expect(told).toEqual([]);
  expect(await owner.call("listSessionEvents", { params, query: { limit: 1_000 } })).toEqual(before);
  expect(await new Keys(access, systemPorts).list({ sessionKeys: true })).toHaveLength(2);
  expect((await api.ask("GET", "/v1/sessions/foreign", { token: other.key })).status).toBe(200);
  expect((await owner.call("getApproval", { params: { callId: asked?.id ?? "" } })).status).toBe("open");
});
