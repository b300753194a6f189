/** Each principal sees and does what is its own. */
import type { Authenticator, Principal } from "haft/server";
import { expect, test, vi } from "vitest";
import { startApi, type ApiServer } from "./api-server.ts";

const PRINCIPALS: Readonly<Record<string, Principal>> = {
  boss: { id: "boss", name: "boss", scopes: new Set(["admin"]) },
  guest: { id: "session:guest", name: "guest", scopes: new Set(["read", "execute"]), sessionId: "mine" },
  reader: { id: "reader", name: "reader", scopes: new Set(["read", "execute"]), tools: { allow: ["notes::list"] } },
  lister: { id: "lister", name: "lister", scopes: new Set(["read", "approve"]), tools: { allow: ["notes::list"] } },
  eraser: {
    id: "eraser",
    name: "eraser",
    scopes: new Set(["approve"]),
    tools: { allow: ["notes::e*", "notes::wait"], deny: ["notes::edit*"] },
  },
};

const auth: Authenticator = {
  async authenticate({ headers }) {
    return PRINCIPALS[headers.get("authorization")?.slice("Bearer ".length) ?? ""];
  },
};

const ADD = { calls: [{ name: "notes::add", input: { text: "Buy milk" } }] };

test("issue 19.5 E05 a session key sees its own session, and nothing of others", async () => {
  const api = await startApi({ auth });
  for (const id of ["mine", "theirs"]) await api.ask("POST", "/v1/sessions", { token: "boss", body: { id } });
  const { json } = await api.ask("POST", "/v1/sessions/theirs/execute", { token: "boss", body: ADD });
  const { callId } = json.results[0];
  const { json: job } = await api.ask("POST", "/v1/sessions/theirs/execute", { token: "boss", body: { calls: [{ name: "notes::talk" }] } });
  const ask = async (method: string, path: string, body?: unknown): Promise<number> =>
    (await api.ask(method, path, { token: "guest", ...(body === undefined ? {} : { body }) })).status;

  expect(await ask("POST", "/v1/sessions/mine/execute", ADD)).toBe(200);
  for (const path of ["", "/events", "/snapshot", "/diff", "/recording", "/triggers"])
    expect(await ask("GET", `/v1/sessions/theirs${path}`)).toBe(404);
  expect(await ask("POST", "/v1/sessions/theirs/execute", ADD)).toBe(404);
  expect(await ask("GET", `/v1/calls/${callId}?sessionId=theirs`)).toBe(404);
  expect(await ask("GET", `/v1/calls/${callId}/output?sessionId=theirs`)).toBe(404);
  expect(await ask("POST", `/v1/calls/${callId}/cancel`)).toBe(404);
  for (const path of ["", "/wait", "/output"]) expect(await ask("GET", `/v1/jobs/${job.results[0].callId}${path}`)).toBe(404);
  expect(await ask("GET", "/v1/events?sessionId=theirs")).toBe(404);
  expect(await ask("GET", "/v1/agents/clerk")).toBe(404);
  for (const path of ["/v1/execute", "/v1/sessions"]) expect(await ask("POST", path, path === "/v1/execute" ? ADD : {})).toBe(403);
  const { json: listed } = await api.ask("GET", "/v1/sessions", { token: "guest" });
  expect(listed.sessions.map(({ id }: { readonly id: string }) => id)).toEqual(["mine"]);
  const { json: jobs } = await api.ask("GET", "/v1/jobs", { token: "guest" });
  expect(jobs.jobs).toEqual([]);
});

test("issue 19.5 a key with patterns sees and may call only matching tools", async () => {
  const api = await startApi({ auth });
  const { json: listed } = await api.ask("GET", "/v1/tools", { token: "reader" });
  expect(listed.tools.map(({ name }: { readonly name: string }) => name)).toEqual(["notes::list"]);
  expect((await api.ask("GET", "/v1/tools/notes::add", { token: "reader" })).status).toBe(404);
  const { json } = await api.ask("POST", "/v1/execute", { token: "reader", body: { calls: [{ name: "notes::list" }, ...ADD.calls] } });
  expect(
    json.results.map(({ status, error }: { readonly status: string; readonly error?: { readonly code: string } }) => error?.code ?? status),
  ).toEqual(["ok", "permission_denied"]);
  expect(api.added).toEqual([]);
});

test("issue 19.5 the event of a call has the principal that made it", async () => {
  const api = await startApi({ auth });
  await api.ask("POST", "/v1/sessions", { token: "boss", body: { id: "mine" } });
  await api.ask("POST", "/v1/sessions/mine/execute", { token: "guest", body: ADD });
  const { json } = await api.ask("GET", "/v1/sessions/mine/events", { token: "guest" });
  expect(json.events.map(({ event }: { readonly event: { readonly principal?: string } }) => event.principal)).toContain("session:guest");
});

/** A server where a call of notes::erase waits for approval, and a function that sends requests of a principal. */
async function openQuestion(): Promise<{
  readonly question: { readonly id: string; readonly digest: string; readonly position: number };
  readonly status: () => Promise<string>;
  readonly send: (token: string, path: string, body: unknown) => ReturnType<ApiServer["ask"]>;
}> {
  const api = await startApi({ auth });
  const calls = [{ name: "notes::erase", input: {} }];
  await api.ask("POST", "/v1/sessions/desk/execute", { token: "boss", body: { calls, waitMs: 0 } });
  const { approvals } = await vi.waitFor(async () => {
    const { json } = await api.ask("GET", "/v1/approvals", { token: "lister" });
    expect(json.approvals).toHaveLength(1);
    return json;
  });
  const [question] = approvals;
  return {
    question,
    status: async () => (await api.ask("GET", `/v1/approvals/${question.id}`, { token: "boss" })).json.status,
    send: (token, path, body) => api.ask("POST", path, { token, body }),
  };
}

test("issue 19.5 a key with patterns approves no call and makes no rule for other tools, but may deny", async () => {
  const { question, status, send } = await openQuestion();
  const { id, digest, position } = question;
  const notCallable = { status: 403, text: expect.stringContaining("notes::erase, which you may not call") };
  const tooWide = { status: 403, text: expect.stringContaining("may match tools that you may not call") };
  for (const answer of ["allow", "allow-once", "allow-input", "allow-always"]) {
    expect(await send("lister", `/v1/approvals/${id}`, { answer, digest })).toMatchObject(notCallable);
    expect(await send("lister", "/v1/approvals", { decisions: [{ callId: id, answer, digest }] })).toMatchObject(notCallable);
    expect((await send("lister", "/v1/approvals/matching", { answer, tool: "*", upTo: position })).json).toEqual({ approvals: [] });
  }
  expect(await send("lister", `/v1/approvals/${id}`, { answer: "allow", scope: "rule", digest })).toMatchObject(notCallable);
  for (const pattern of ["*", "notes::*", "notes::erase", "notes::*l*", "*::list"])
    expect(await send("lister", "/v1/approval-rules", { pattern })).toMatchObject(tooWide);
  const rule = { pattern: "notes::*" };
  expect(await send("lister", `/v1/approvals/${id}`, { answer: "allow", rule, digest })).toMatchObject(tooWide);
  expect(await send("lister", "/v1/approvals/matching", { answer: "allow", rule, tool: "*", upTo: position })).toMatchObject(tooWide);
  expect(await send("lister", "/v1/approval-rules", { pattern: "notes::list" })).toMatchObject({ status: 201 });
  expect(await status()).toBe("open");
  expect((await send("lister", `/v1/approvals/${id}`, { answer: "deny", digest })).json).toEqual({ decided: true });
  expect(await status()).toBe("denied");
});

test("issue 19.5 a key with patterns approves calls of the tools that it may call, with rules that reach no further", async () => {
  const { question, status, send } = await openQuestion();
  const upTo = question.position;
  for (const pattern of ["notes::*", "notes::e*", "*::e*"])
    expect((await send("eraser", "/v1/approval-rules", { pattern })).status).toBe(403);
  const rule = { pattern: "notes::er*" };
  const { json } = await send("eraser", "/v1/approvals/matching", { answer: "allow", rule, tool: "*", upTo });
  expect(json.approvals).toMatchObject([{ id: question.id, status: "allowed", scope: "rule", answeredBy: "eraser" }]);
  expect(await status()).toBe("allowed");
});
