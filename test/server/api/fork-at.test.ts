/** Issue 20.5 over HTTP: branches at earlier points, recorded answers, differences of points. */
import { createClient } from "haft/client";
import { expect, test } from "vitest";
import { TOKEN, startApi } from "./api-server.ts";

test("issue 20.5 a branch can start at an earlier point, answer from a recording, and be compared", async () => {
  const api = await startApi();
  const client = createClient({ url: api.url, token: TOKEN });
  await client.call("createSession", { body: { id: "trip" } });
  const params = { sessionId: "trip" };
  const { length } = await client.call("getSession", { params });
  const note = { name: "notes::add", input: { text: "Buy milk" } };
  await client.call("executeInSession", { params, body: { calls: [note] } });
  const branch = await client.call("forkSession", { params, body: { at: length, id: "again" } });
  expect(branch).toMatchObject({ id: "again", length: length + 1 });
  const { results } = await client.call("executeInSession", {
    params: { sessionId: "again" },
    body: { calls: [note, { ...note, input: { text: "Other" } }], answerFrom: ["replay"], recording: "trip" },
  });
  expect(results.map(({ origin, status, error }) => [origin, status, error?.code])).toEqual([
    ["replay", "ok", undefined],
    ["replay", "error", "not_found"],
  ]);
  expect(api.added).toEqual(["Buy milk"]);
  const diff = await client.call("getDiff", { params, query: { with: "trip", withAt: length } });
  expect(diff.calls.map(({ call }) => call.input)).toEqual([note.input]);
  await client.call("discardSession", { params: { sessionId: "again" } });
});

test.each([
  ["more events than there are", "POST", "/v1/sessions/trip/fork", { at: 10_000 }, 400],
  ["no event", "POST", "/v1/sessions/trip/fork", { at: 0 }, 400],
  [
    "a recording that is not there",
    "POST",
    "/v1/sessions/trip/execute",
    { calls: [{ name: "notes::add" }], answerFrom: ["replay"], recording: "gone" },
    404,
  ],
  ["a point with nothing to compare it with", "GET", "/v1/sessions/trip/diff?at=1", undefined, 400],
])("issue 20.5 %s is rejected", async (_what, method, path, body, status) => {
  const api = await startApi();
  await api.ask("POST", "/v1/sessions", { body: { id: "trip" } });
  expect((await api.ask(method, path, body === undefined ? {} : { body })).status).toBe(status);
  expect(api.added).toEqual([]);
});

test("a commit, a discard and a diff of a stored session that is no open branch say so, and that it exists", async () => {
  const { ask } = await startApi();
  await ask("POST", "/v1/sessions", { body: { id: "trip" } });
  await ask("POST", "/v1/sessions/trip/fork", { body: { id: "branch" } });
  await ask("POST", "/v1/sessions/branch/fork", { body: { id: "twig" } }); // keeps the branch in the store after its commit
  expect((await ask("POST", "/v1/sessions/branch/commit")).status).toBe(200);
  expect((await ask("GET", "/v1/sessions/branch")).status).toBe(200);
  for (const [method, what] of [
    ["POST", "commit"],
    ["POST", "discard"],
    ["GET", "diff"],
  ] as const) {
    const { status, json } = await ask(method, `/v1/sessions/branch/${what}`);
    expect([what, status, json.code, json.detail]).toEqual([what, 409, "conflict", 'The session "branch" is not a branch that is open.']);
  }
  expect((await ask("POST", "/v1/sessions/nowhere/commit")).status).toBe(404);
});
