/** The JSON routes of a port are answered without a `Request`, as by the usual way, which `fetch` of the server is. */
import { request as httpRequest } from "node:http";
import { staticToken } from "haft/server";
import { expect, test, vi } from "vitest";
import { API, OPERATION_IDS } from "../../../src/server/api.ts";
import type { Route } from "../../../src/server/api/requests/route.ts";
import { combineAuthenticators } from "../../../src/server/auth/principal.ts";
import { TOKEN, startApi, type ApiServer, type ApiServerOptions } from "./api-server.ts";

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

interface Given {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Over the port, with a declared length. */
function byPort({ listener }: ApiServer, { method, path, headers, body }: Sent): Promise<Given> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const outgoing = httpRequest(
      { host: "127.0.0.1", port: listener.port, method, path, headers: { ...headers, ...length } },
      (incoming) => {
        let text = "";
        incoming.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }));
      },
    );
    outgoing.on("error", reject).end(body);
  });
}

async function byFetch({ server }: ApiServer, { method, path, headers, body }: Sent): Promise<Given> {
  const response = await server.fetch(new Request(`http://localhost${path}`, { method, headers, ...(body === undefined ? {} : { body }) }));
  return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
}

/** Those that a connection adds. */
const OF_CONNECTION: ReadonlySet<string> = new Set(["date", "connection", "keep-alive", "transfer-encoding", "content-length"]);

/** Ids, times and sizes are those of one server. */
function shown({ status, headers, text }: Given): object {
  const kept = Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name));
  const json: unknown = text === "" ? undefined : JSON.parse(text);
  const isProblem = String(headers["content-type"]).includes("problem");
  return {
    status,
    headers: Object.fromEntries(kept.map(([name, value]) => [name, withoutIds(String(value))])),
    json: isProblem ? withoutIds(text) : shapeOf(json),
  };
}

function withoutIds(text: string): string {
  return text.replaceAll(/\b(?:error|submission|call)_[\w-]+/gu, "id").replaceAll(/\d{4,}/gu, "0");
}

function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, shapeOf(field)]));
}

const withToken = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

function exampleOf({ method, path, example, body }: Route): Sent {
  const target = path.replaceAll(/\{([A-Za-z]+)\}/gu, (_all, name: string) => encodeURIComponent(example.params?.[name] ?? "x"));
  const query = new URLSearchParams(example.query).toString();
  const text = body === undefined ? undefined : JSON.stringify(example.body ?? {});
  return { method, path: query === "" ? target : `${target}?${query}`, headers: withToken, body: text };
}

const JSON_ROUTES = OPERATION_IDS.filter((id) => {
  const { answerType, bodyType }: Route = API[id];
  return answerType === undefined && bodyType === undefined;
});

const options: ApiServerOptions = { store: "none", limits: { maxBodyBytes: 2_000 } };

test("issue 19.2 every JSON route on a port takes the direct path, with the same status, headers and body as server.fetch", async () => {
  const [direct, usual] = await Promise.all([startApi(options), startApi(options)]);
  const passed = vi.spyOn(direct.server, "fetch");
  expect(JSON_ROUTES.length).toBeGreaterThan(30);
  for (const id of JSON_ROUTES) {
    const sent = exampleOf(API[id]);
    expect([id, shown(await byPort(direct, sent))]).toEqual([id, shown(await byFetch(usual, sent))]);
  }
  expect(passed.mock.calls.map(([{ method, url }]) => `${method} ${new URL(url).pathname}`)).toEqual([]);
});

const execute: Sent = {
  method: "POST",
  path: "/v1/execute",
  headers: withToken,
  body: '{"calls":[{"name":"notes::add","input":{"text":"a"}}]}',
};

test.each<[string, Partial<Sent>, number]>([
  ["no token", { headers: { "content-type": "application/json" } }, 401],
  ["a wrong token", { headers: { ...withToken, authorization: "Bearer another-token-than-this" } }, 401],
  ["another type of body", { headers: { ...withToken, "content-type": "text/plain" } }, 415],
  ["a compressed body", { headers: { ...withToken, "content-encoding": "gzip" } }, 415],
  ["a body that is no JSON", { body: "{" }, 400],
  ["an unknown field", { body: '{"call":[]}' }, 400],
  ["a body that is too large", { body: JSON.stringify({ calls: [{ name: "x".repeat(2_000) }] }) }, 413],
  ["an unknown parameter", { path: "/v1/execute?wait=1" }, 400],
  ["a key that is none", { headers: { ...withToken, "idempotency-key": "x".repeat(300) } }, 400],
  ["an unknown path", { path: "/v1/executes" }, 404],
  ["another method", { method: "DELETE", body: undefined }, 405],
  ["another host", { headers: { ...withToken, host: "evil.example" } }, 403],
  ["a page of another origin", { headers: { ...withToken, origin: "http://evil.example" } }, 403],
  ["an unknown session in an escaped path", { path: "/v1/sessions/a%2Fb%zz/execute" }, 404],
])("issue 19.5 a request with %s on the direct path is rejected as by server.fetch, and runs nothing", async (_what, change, status) => {
  const api = await startApi(options);
  const sent = { ...execute, ...change };
  const refused = await byPort(api, sent);
  expect([refused.status, api.added]).toEqual([status, []]);
  expect(shown(refused)).toEqual(shown(await byFetch(api, sent)));
});

test("issue 19.6 a keyed request runs once, whether it and its repetition take the direct path or server.fetch", async () => {
  const api = await startApi(options);
  const sent = { ...execute, headers: { ...withToken, "idempotency-key": "k1" } };
  const [first, second, third] = [await byPort(api, sent), await byFetch(api, sent), await byPort(api, sent)];
  expect([first.status, second.text, third.text, api.added.length]).toEqual([200, first.text, first.text, 1]);
  expect([second, third].map(({ headers }) => headers["idempotency-replayed"])).toEqual(["true", "true"]);
  expect((await byPort(api, { ...sent, body: '{"calls":[{"name":"notes::add","input":{"text":"b"}}]}' })).status).toBe(409);
});

test("issue 19.5 requests on the direct path count towards their principal's limits, and are rejected before the body arrives", async () => {
  const api = await startApi({ ...options, limits: { maxRequestsPerMinute: 2 } });
  expect([(await byPort(api, execute)).status, (await byPort(api, execute)).status]).toEqual([200, 200]);
  const answered = await new Promise((resolve, reject) => {
    const headers = { ...withToken, "content-length": 100_000 };
    const outgoing = httpRequest(`${api.url}/v1/execute`, { method: "POST", headers }, (incoming) => {
      resolve([incoming.statusCode, incoming.headers.connection]);
      outgoing.destroy();
    });
    outgoing.on("error", reject).write("{");
  });
  expect(answered).toEqual([429, "close"]);
  const small = await startApi({ ...options, limits: { maxBytesPerMinute: 100 } });
  expect([(await byPort(small, execute)).status, (await byPort(small, execute)).status]).toEqual([200, 429]);
});

test("issue 19.5 a custom authenticator gets a whole Request, with headers, URL and body", async () => {
  const seen: string[] = [];
  const own = {
    async authenticate(request: Request): Promise<undefined> {
      const what = [request.method, new URL(request.url).pathname, request.headers.has("x-own"), await request.clone().text()];
      seen.push(what.join(" "));
    },
  };
  const api = await startApi({ ...options, auth: combineAuthenticators(own, staticToken({ token: TOKEN })) });
  expect((await byPort(api, { ...execute, headers: { ...withToken, "x-own": "1" } })).status).toBe(200);
  expect(seen).toEqual([`POST /v1/execute true ${execute.body}`]);
});

test("issue 19.5 an authenticator derived from another one is called itself, alone and in firstOf", async () => {
  const asked: string[] = [];
  const refusing = {
    ...staticToken({ token: TOKEN }),
    async authenticate({ url }: Request): Promise<undefined> {
      asked.push(new URL(url).pathname);
    },
  };
  for (const auth of [refusing, combineAuthenticators(refusing, staticToken({ token: "another-token-for-tests" }))]) {
    const api = await startApi({ ...options, auth });
    expect((await byPort(api, { ...execute, headers: withToken })).status).toBe(401);
    expect((await byFetch(api, { ...execute, headers: withToken })).status).toBe(401);
  }
  expect(asked).toEqual(Array.from({ length: 4 }, () => "/v1/execute"));
});

test("issue 19.3 a HEAD request for a stream does not count towards maxStreams", async () => {
  const api = await startApi({ ...options, limits: { maxStreams: 2 } });
  const head = { method: "HEAD", path: "/v1/events", headers: { ...withToken, accept: "text/event-stream" } };
  for (let take = 0; take < 4; take++) expect((await byFetch(api, head)).status).toBe(200);
});
