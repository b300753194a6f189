/** Every route, called by the OpenAPI document alone. */
import { createClient } from "haft/client";
import { expect, test } from "vitest";
import { artifactOf } from "../../../src/core/artifact.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";
import { API, OPERATION_IDS } from "../../../src/server/api.ts";
import { COMPONENTS } from "../../../src/server/api/openapi/components.ts";
import type { Route } from "../../../src/server/api/requests/route.ts";
import { TOKEN, startApi, type ApiServer } from "./api-server.ts";
import { MAY_BE_GONE, authWithKeys, setTheScene, valueOf, type Facts } from "./scene.ts";

test("issue 19.1 each operation can be called from the OpenAPI document alone, and its response matches the document", async () => {
  const api = await startApi({ auth: await authWithKeys() });
  const { json: document } = await api.ask("GET", "/openapi.json", { token: null });
  const facts = await setTheScene(api);
  const called: string[] = [];
  for (const [path, item] of Object.entries<Record<string, Operation>>(document.paths))
    for (const [method, operation] of Object.entries(item)) {
      called.push(operation.operationId);
      await callByDocument({ api, document, path, method, operation, facts });
    }
  expect(called.sort()).toEqual([...OPERATION_IDS].sort());
});

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly example?: unknown }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>>;
}

interface DocumentCall {
  readonly api: ApiServer;
  readonly document: { readonly components: object };
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
  readonly facts: Facts;
}

async function callByDocument({ api, document, path, method, operation, facts }: DocumentCall): Promise<void> {
  const { operationId, parameters, requestBody, responses } = operation;
  let url = path;
  const query = new URLSearchParams();
  for (const { name, in: place, example } of parameters) {
    if (place === "path") url = url.replace(`{${name}}`, encodeURIComponent(valueOf(facts, operationId, name, example)));
    if (place === "query" && example !== undefined) query.set(name, String(example));
  }
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const body = content?.example === undefined ? undefined : JSON.stringify(content.example).replaceAll("0000", facts.digest);
  const stops = new AbortController();
  const response = await fetch(`${api.url}${url}${query.size > 0 ? `?${query.toString()}` : ""}`, {
    method: method.toUpperCase(),
    headers: { authorization: `Bearer ${TOKEN}`, ...(type === undefined ? {} : { "content-type": type }) },
    signal: stops.signal,
    ...(type === undefined ? {} : { body: type === "application/jsonl" ? facts.recording : (body ?? "{}") }),
  });
  const accepted = new Set([...Object.keys(responses).map(Number), MAY_BE_GONE[operationId]]);
  expect({ operationId, status: response.status, isDeclared: accepted.has(response.status) }).toEqual({
    operationId,
    status: response.status,
    isDeclared: true,
  });
  const [declaredType, declared] = Object.entries(responses[response.status]?.content ?? {})[0] ?? [];
  if (declared !== undefined) expect(response.headers.get("content-type")).toContain((declaredType ?? "").split(";")[0]);
  if (declaredType === "text/event-stream") return stops.abort();
  const text = await response.text();
  if (declaredType !== "application/json" || declared === undefined) return;
  const { schemas } = document.components as { readonly schemas: object };
  const problems = compileSchema({ ...declared.schema, components: { schemas } }).problems(JSON.parse(text));
  expect({ operationId, problems }).toEqual({ operationId, problems: [] });
}

test("issue 19.1 the table has an example for each parameter of a path and each body", () => {
  for (const id of OPERATION_IDS) {
    const { params = {}, body, example }: Route = API[id];
    expect(Object.keys(example.params ?? {})).toEqual(Object.keys(params));
    if (body !== undefined) expect(compileSchema({ ...body, components: { schemas: COMPONENTS } }).problems(example.body)).toEqual([]);
  }
});

test("issue 19.1 the typed client makes calls, waits for longer ones, and follows events", async () => {
  const api = await startApi();
  const client = createClient({ url: api.url, token: TOKEN });
  const session = await client.call("createSession", { body: { id: "typed" } });
  const slow = client.call("executeInSession", {
    params: { sessionId: session.id },
    body: { calls: [{ name: "notes::wait" }], waitMs: 0 },
  });
  await api.gate.entered.promise;
  api.gate.open();
  expect((await slow).results.map(({ output }) => output)).toEqual(["passed"]);
  const types: string[] = [];
  for await (const { event } of client.follow("typed")) if (types.push(event.type) && event.type === "call-end") break;
  expect(types).toEqual(["session-start", "call-start", "call-end"]);
  await expect(client.call("getSession", { params: { sessionId: "tipped" } })).rejects.toMatchObject({
    status: 404,
    problem: { code: "not_found" },
  });
});

test("F1.19 an artifact can be fetched by its id; an unknown id, and a server without artifacts, return 404", async () => {
  const artifact = artifactOf("image/png", Buffer.from("a picture"));
  const api = await startApi();
  await api.runtime.artifacts?.put({ artifact, at: 1 });
  for (const id of [artifact.id, `artifact:${artifact.id}`])
    expect((await api.ask("GET", `/v1/artifacts/${encodeURIComponent(id)}`)).json).toEqual(artifact);
  expect((await api.ask("GET", "/v1/artifacts/..%2Fhaft.db")).status).toBe(404);
  expect((await api.ask("GET", `/v1/artifacts/${"0".repeat(64)}`)).status).toBe(404);
  expect((await api.ask("GET", `/v1/artifacts/${artifact.id}`, { token: null })).status).toBe(401);
  const without = await startApi({ store: "none" });
  expect((await without.ask("GET", `/v1/artifacts/${artifact.id}`)).json.detail).toContain("There is no artifact");
});

test("every route that streams events accepts Last-Event-ID, and declares it in openapi.json", async () => {
  const api = await startApi();
  const { json } = await api.ask("GET", "/openapi.json", { token: null });
  const operations = Object.values<object>(json.paths).flatMap((path) => Object.values<unknown>({ ...path }));
  const streaming = operations.filter((operation) => JSON.stringify(Object(operation).responses).includes("text/event-stream"));
  const names = streaming.map((operation) => JSON.stringify(Object(operation).parameters).includes("Last-Event-ID"));
  expect([names.length > 1, names.every(Boolean)]).toEqual([true, true]);
});

test("the answer of a call is read in parts that begin and end with whole characters", async () => {
  const api = await startApi();
  await api.ask("POST", "/v1/sessions", { body: { id: "travel" } });
  const { json } = await api.ask("POST", "/v1/sessions/travel/execute", {
    body: { calls: [{ name: "notes::add", input: { text: "😀😀" } }] },
  });
  const ask = async (query: string): Promise<unknown> =>
    (await api.ask("GET", `/v1/calls/${json.results[0].callId}/output?sessionId=travel&${query}`)).json;
  const whole = '{"added":"😀😀"}';
  const total = whole.length;
  expect(await ask("maxChars=11")).toEqual({ text: '{"added":"😀', from: 0, next: 12, total });
  expect(await ask("from=11&maxChars=2")).toEqual({ text: "😀", from: 10, next: 12, total });
  expect(await ask("from=13")).toEqual({ text: '😀"}', from: 12, next: total, total });
});

test("a call that a session does not have is reported with the session, and not as one of other sessions", async () => {
  const api = await startApi();
  await api.ask("POST", "/v1/sessions", { body: { id: "travel" } });
  const call = { name: "notes::list", input: {}, id: "mine" };
  await api.ask("POST", "/v1/sessions/travel/execute", { body: { calls: [call] } });
  for (const path of ["/v1/calls/mine", "/v1/calls/mine/output"]) {
    expect((await api.ask("GET", `${path}?sessionId=travel`)).json).toMatchObject({
      status: 404,
      detail: 'The session "travel" has no call "mine".',
      hint: "Give the callId of its result, which is not the id that the call was sent with.",
    });
    expect((await api.ask("GET", path)).json.hint).toBe("Name its session with ?sessionId=, which is then read from the store.");
  }
});
