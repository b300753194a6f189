/** Requests that are wrong: a problem that says what would work, nothing started, no stack and no secret. */
import { expect, test, vi } from "vitest";
import type { ToolContext } from "../../../src/core/context.ts";
import { staticToken } from "../../../src/server/auth/static-token.ts";
import { TOKEN, startApi, type AskOptions } from "./api-server.ts";

interface WrongRequest {
  readonly what: string;
  readonly method?: string;
  readonly path?: string;
  readonly options?: AskOptions;
  readonly status: number;
  readonly code: string;
  readonly says: RegExp;
}

const CALL = { calls: [{ name: "notes::add", input: { text: "never" } }] };

const WRONG: readonly WrongRequest[] = [
  {
    what: "E02 a content type that a form can send",
    options: { raw: JSON.stringify(CALL), headers: { "content-type": "text/plain" } },
    status: 415,
    code: "invalid_argument",
    says: /Content-Type: application\/json/u,
  },
  {
    what: "E07 a charset that others read differently",
    options: { raw: JSON.stringify(CALL), headers: { "content-type": "application/json; charset=utf-7" } },
    status: 415,
    code: "invalid_argument",
    says: /UTF-8/u,
  },
  {
    what: "E06 a compressed body",
    options: { raw: JSON.stringify(CALL), headers: { "content-encoding": "gzip" } },
    status: 415,
    code: "invalid_argument",
    says: /compressed/u,
  },
  { what: "a body that is cut", options: { raw: '{"calls":[' }, status: 400, code: "invalid_argument", says: /not JSON/u },
  {
    what: "a body twice as nested",
    options: { raw: `${"[".repeat(200)}${"]".repeat(200)}` },
    status: 413,
    code: "too_large",
    says: /deep|nest/iu,
  },
  { what: "an unknown field", options: { body: { call: [] } }, status: 400, code: "invalid_argument", says: /"calls"/u },
  {
    what: "an unknown field of a call, with the one that was meant",
    options: { body: { calls: [{ name: "notes::add", inputs: {} }] } },
    status: 400,
    code: "invalid_argument",
    says: /Did you mean "input"/u,
  },
  {
    what: "a wrong type",
    options: { body: { calls: "notes::add" } },
    status: 400,
    code: "invalid_argument",
    says: /\$\.calls: expected type array/u,
  },
  { what: "no calls", options: { body: { calls: [] } }, status: 400, code: "invalid_argument", says: /\$\.calls/u },
  {
    what: "an unknown route, with the one that was meant",
    method: "GET",
    path: "/v1/session",
    status: 404,
    code: "not_found",
    says: /\/v1\/sessions/u,
  },
  {
    what: "E11 a path that climbs",
    method: "GET",
    path: "/v1/..%2f..%2fetc/passwd",
    status: 404,
    code: "not_found",
    says: /nothing at this path/u,
  },
  {
    what: "F0.27 an empty id in a path, with the place of the mistake instead of the same path",
    method: "POST",
    path: "/v1/sessions//execute",
    status: 404,
    code: "not_found",
    says: /^The path has an empty segment/mu,
  },
  {
    what: "an unknown tool, with the one that was meant",
    method: "GET",
    path: "/v1/tools/notes::ad",
    status: 404,
    code: "not_found",
    says: /notes::add/u,
  },
  {
    what: "a method that is not served",
    method: "PUT",
    path: "/v1/execute",
    options: { body: CALL },
    status: 405,
    code: "invalid_argument",
    says: /POST/u,
  },
  {
    what: "E19 a bad cursor",
    method: "GET",
    path: "/v1/sessions?cursor=x%27%20OR%201=1",
    status: 400,
    code: "invalid_argument",
    says: /cursor/u,
  },
  {
    what: "E19 a limit without end",
    method: "GET",
    path: "/v1/sessions?limit=1000000000",
    status: 400,
    code: "invalid_argument",
    says: /limit/u,
  },
  { what: "an unknown parameter", method: "GET", path: "/v1/tools?querry=a", status: 400, code: "invalid_argument", says: /known fields/u },
  {
    what: "a parameter that is given twice",
    method: "GET",
    path: "/v1/tools?q=a&q=b",
    status: 400,
    code: "invalid_argument",
    says: /\$\.q/u,
  },
  { what: "E04 no token", options: { body: CALL, token: null }, status: 401, code: "permission_denied", says: /Bearer/u },
  {
    what: "E04 a wrong token",
    options: { body: CALL, token: "a-token-for-the-test" },
    status: 401,
    code: "permission_denied",
    says: /Bearer/u,
  },
  {
    what: "a token in the query",
    path: `/v1/execute?token=${TOKEN}`,
    options: { body: CALL, token: null },
    status: 401,
    code: "permission_denied",
    says: /Bearer/u,
  },
  {
    what: "E01 a page of another origin",
    options: { body: CALL, headers: { origin: "http://evil.example" } },
    status: 403,
    code: "permission_denied",
    says: /origin/u,
  },
  {
    what: "E01 the origin of a file",
    options: { body: CALL, headers: { origin: "null" } },
    status: 403,
    code: "permission_denied",
    says: /origin/u,
  },
  {
    what: "a key that is too long",
    options: { body: CALL, headers: { "idempotency-key": "k".repeat(256) } },
    status: 400,
    code: "invalid_argument",
    says: /1 to 255/u,
  },
  {
    what: "E05 a session that is not there",
    method: "GET",
    path: "/v1/sessions/nowhere",
    status: 404,
    code: "not_found",
    says: /GET \/v1\/sessions/u,
  },
  { what: "a job that is not there", method: "GET", path: "/v1/jobs/nothing", status: 404, code: "not_found", says: /GET \/v1\/jobs/u },
  { what: "a call that is not there", method: "GET", path: "/v1/calls/nothing", status: 404, code: "not_found", says: /sessionId/u },
  {
    what: "a position that is none",
    method: "GET",
    path: "/v1/sessions/desk/events",
    options: { headers: { accept: "text/event-stream", "last-event-id": "x" } },
    status: 400,
    code: "invalid_argument",
    says: /position in the log/u,
  },
  {
    what: "a recording that is none",
    path: "/v1/recordings",
    options: { raw: "{}\n", headers: { "content-type": "application/jsonl" } },
    status: 422,
    code: "corrupt_record",
    says: /recording/iu,
  },
  {
    what: "an approval that nobody waits for",
    path: "/v1/approvals/nothing",
    options: { body: { answer: "deny", digest: "0" } },
    status: 404,
    code: "not_found",
    says: /GET \/v1\/approvals/u,
  },
  { what: "a commit of what is no branch", path: "/v1/sessions/desk/commit", status: 409, code: "conflict", says: /not a branch/u },
];

test("issue 19 E19 bad input gets a problem response that says what would work, and runs nothing", async () => {
  const api = await startApi();
  for (const { what, method = "POST", path = "/v1/execute", options, status, code, says } of WRONG) {
    const { text, headers, json, status: got } = await api.ask(method, path, options);
    expect({ what, status: got, code: json?.code }).toEqual({ what, status, code });
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(json.type).toBe(`urn:haft:error:${code}`);
    expect([json.detail, json.hint, ...(json.details ?? [])].join("\n")).toMatch(says);
    expect(text).not.toMatch(/ at .*\.ts|node_modules|node:internal/u);
    expect(text).not.toContain(TOKEN);
  }
  expect(api.added).toEqual([]);
});

test("issue 19 a body beyond the limit is rejected, and a key cannot be reused for other content", async () => {
  const api = await startApi({ limits: { maxBodyBytes: 1_000 } });
  const { status, json } = await api.ask("POST", "/v1/execute", { raw: `{"calls":[${" ".repeat(2_000)}]}` });
  expect({ status, code: json.code }).toEqual({ status: 413, code: "too_large" });
  const headers = { "idempotency-key": "one" };
  const first = await api.ask("POST", "/v1/execute", { body: CALL, headers });
  const again = await api.ask("POST", "/v1/execute", { body: CALL, headers });
  expect(again.text).toBe(first.text);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  const other = await api.ask("POST", "/v1/execute", { body: { ...CALL, strict: true }, headers });
  expect({ status: other.status, code: other.json.code }).toEqual({ status: 409, code: "conflict" });
  expect(api.added).toEqual(["never"]);
});

test("issue 19 a principal is limited to its scopes, and to its share of calls and requests", async () => {
  const auth = staticToken({ token: TOKEN, scopes: ["execute"] });
  const api = await startApi({ auth, limits: { maxConcurrentCalls: 1, maxRequestsPerMinute: 6 } });
  const denied = await api.ask("GET", "/v1/tools");
  expect({ status: denied.status, challenge: denied.headers.get("www-authenticate") }).toEqual({
    status: 403,
    challenge: 'Bearer realm="haft", error="insufficient_scope", scope="read"',
  });
  const never = await api.ask("POST", "/v1/execute", { body: { calls: [...CALL.calls, ...CALL.calls] } });
  expect({ status: never.status, should: never.headers.get("x-should-retry") }).toEqual({ status: 413, should: "false" });
  const waits = api.ask("POST", "/v1/execute", { body: { calls: [{ name: "notes::wait" }] } });
  await api.gate.entered.promise;
  const busy = await api.ask("POST", "/v1/execute", { body: CALL });
  expect({ status: busy.status, retry: busy.headers.get("retry-after"), should: busy.headers.get("x-should-retry") }).toEqual({
    status: 429,
    retry: "1",
    should: "true",
  });
  api.gate.open();
  expect((await waits).json.results[0].output).toBe("passed");
  let last = await api.ask("POST", "/v1/execute", { body: CALL });
  while (last.status === 200) last = await api.ask("POST", "/v1/execute", { body: CALL });
  expect({ status: last.status, code: last.json.code }).toEqual({ status: 429, code: "rate_limited" });
});

test("issue 19.6 a failed call is reported in its result, and the response is still 200", async () => {
  const api = await startApi();
  const { status, headers, json } = await api.ask("POST", "/v1/execute", { body: { calls: [{ name: "notes::fail" }, ...CALL.calls] } });
  expect({ status, should: headers.get("x-should-retry") }).toEqual({ status: 200, should: "false" });
  expect(json.results.map((result: { readonly status: string }) => result.status)).toEqual(["error", "ok"]);
  expect(json.results[0].problem).toMatchObject({ type: "urn:haft:error:execution_failed", status: 500, code: "execution_failed" });
});

test("issue 19.6 E15 a stopping server lets calls end, accepts no new ones, and says so", async () => {
  const api = await startApi({ limits: { graceMs: 60_000 } });
  const stream = await fetch(`${api.url}/v1/events`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const waits = api.ask("POST", "/v1/execute", { body: { calls: [{ name: "notes::wait" }] } });
  await api.gate.entered.promise;
  const closed = api.server.close();
  expect(await stream.text()).toContain("event: draining");
  const request = (path: string, method = "GET"): Promise<Response> =>
    api.server.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        ...(method === "POST" ? { body: JSON.stringify(CALL) } : {}),
      }),
    );
  expect((await request("/healthz")).status).toBe(200);
  expect((await request("/readyz")).status).toBe(503);
  const refused = await request("/v1/execute", "POST");
  expect({ status: refused.status, retry: refused.headers.get("retry-after") }).toEqual({ status: 503, retry: "1" });
  api.gate.open();
  expect((await waits).json.results[0].output).toBe("passed");
  await closed;
  expect(api.added).toEqual([]);
});

test("F0.8 a stopping server cancels a call that only reads first, and lets one of another overload that writes end", async () => {
  const api = await startApi();
  const overload = (key: string, effects: object): void => {
    const inputSchema = { type: "object", properties: { [key]: {} }, required: [key] };
    const execute = (_: unknown, { signal }: ToolContext): Promise<string> => api.gate.pass(signal).then(() => "passed");
    api.runtime.registry.register({ name: "stay", description: "", inputSchema, effects, execute }, "notes", { overload: true });
  };
  overload("read", { reads: ["a"] });
  overload("write", { writes: ["b"] });
  const stay = (key: string) => api.ask("POST", "/v1/execute", { body: { calls: [{ name: "notes::stay", input: { [key]: 1 } }] } });
  const [read, write] = [stay("read"), stay("write")];
  await vi.waitUntil(() => api.runtime.running.length === 2);
  const closed = api.server.close();
  expect((await read).json.results[0].status).toBe("cancelled");
  api.gate.open();
  expect((await write).json.results[0]).toMatchObject({ status: "ok", output: "passed" });
  await closed;
});

test("a server that is told to stop at once cancels running calls, however long its grace period is", async () => {
  const api = await startApi({ limits: { graceMs: 60_000 } });
  const waits = api.ask("POST", "/v1/execute", { body: { calls: [{ name: "notes::wait" }] } });
  await api.gate.entered.promise;
  const hurry = new AbortController();
  const closed = api.server.close({ signal: hurry.signal });
  hurry.abort();
  expect((await waits).json.results[0].status).toBe("cancelled");
  await closed;
});

test.each([".", "..", "a\ud800"])("a session id that cannot be part of a URL is rejected: %j", async (id) => {
  const api = await startApi();
  expect((await api.ask("POST", "/v1/sessions", { body: { id } })).status).toBe(400);
  expect((await api.ask("POST", "/v1/sessions/desk/fork", { body: { id } })).status).toBe(400);
  const recording = await api.ask("GET", "/v1/sessions/desk/recording");
  const importing = { raw: recording.text, headers: { "content-type": "application/jsonl" } };
  expect((await api.ask("POST", `/v1/recordings?id=${id === "a\ud800" ? "." : id}`, importing)).status).toBe(400);
  expect(api.runtime.sessions.list().map((session) => session.id)).toEqual(["desk"]);
});
