/** Approvals over HTTP: questions by either id, many at once, and the rules that answer later ones. */
import { DatabaseSync } from "node:sqlite";
import { createClient, type HaftClient } from "haft/client";
import { Keys, staticToken } from "haft/server";
import { expect, test, vi } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { combineAuthenticators } from "../../../src/server/auth/principal.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { TOKEN, startApi, type ApiServer } from "./api-server.ts";

interface Desk {
  readonly api: ApiServer;
  readonly client: HaftClient;
  /** Begins so many calls that wait for a yes. */
  ask(
    count: number,
    sessionId?: string,
  ): Promise<readonly { readonly id: string; readonly callId: string; readonly digest: string; readonly position: number }[]>;
}

async function openDesk(): Promise<Desk> {
  const api = await startApi();
  const client = createClient({ url: api.url, token: TOKEN });
  return {
    api,
    client,
    async ask(count, sessionId = "desk") {
      const before = (await client.call("listApprovals")).approvals.length;
      const calls = Array.from({ length: count }, (_, index) => ({ name: "notes::erase", input: { index } }));
      void client.call("executeInSession", { params: { sessionId }, body: { calls, concurrent: true, waitMs: 60_000 } }).catch(() => {}); // the server stops with the test
      for (;;) {
        const { approvals } = await client.call("listApprovals");
        if (approvals.length === before + count) return approvals.slice(before);
      }
    },
  };
}

test("issue 19.4 a question can be read and answered by its own id or its call's id, once", async () => {
  const { client, ask } = await openDesk();
  const [one, other] = await ask(2);
  if (one === undefined || other === undefined) throw new Error("Nothing was asked.");
  expect(await client.call("getApproval", { params: { callId: one.callId } })).toMatchObject({ id: one.id, status: "open" });
  const allow = { answer: "allow" } as const;
  await expect(
    client.call("decideApproval", { params: { callId: one.id }, body: { ...allow, digest: other.digest } }),
  ).rejects.toMatchObject({
    status: 409,
    message: expect.stringContaining("digest"),
  });
  expect(await client.call("decideApproval", { params: { callId: one.id }, body: { ...allow, digest: one.digest } })).toEqual({
    decided: true,
  });
  expect(await client.call("decideApproval", { params: { callId: other.callId }, body: { answer: "deny", digest: other.digest } })).toEqual(
    {
      decided: true,
    },
  );
  expect(await client.call("getApproval", { params: { callId: one.id } })).toMatchObject({
    status: "allowed",
    scope: "once",
    answeredBy: "local",
  });
  await expect(client.call("decideApproval", { params: { callId: one.id }, body: { ...allow, digest: one.digest } })).rejects.toMatchObject(
    {
      status: 409,
      message: expect.stringContaining("already allowed"),
    },
  );
  const { approvals } = await client.call("listApprovals", { query: { status: "allowed,denied" } });
  expect(approvals.map(({ id, status }) => [id, status])).toEqual([
    [one.id, "allowed"],
    [other.id, "denied"],
  ]);
});

test("an answer that loses the race with another one is rejected with 409", async () => {
  const { api, client, ask } = await openDesk();
  const [asked] = await ask(1);
  const { approvals } = api.runtime.store ?? expect.fail("the server has no store");
  const end = approvals.end.bind(approvals);
  vi.spyOn(approvals, "end").mockImplementationOnce(async (given) => (await end({ ...given, by: "another" })) && end(given)); // another process is quicker
  const body = { answer: "allow", digest: asked?.digest ?? "" } as const;
  await expect(client.call("decideApproval", { params: { callId: asked?.id ?? "" }, body })).rejects.toMatchObject({
    status: 409,
    message: expect.stringContaining("The question is already allowed: this answer has no effect."),
  });
});

test("issue 19.4 a batch of decisions succeeds or fails one by one, and one answer decides all matching questions up to a position", async () => {
  const { client, ask } = await openDesk();
  const [one, two, three, four] = await ask(4);
  if (one === undefined || two === undefined || three === undefined || four === undefined) throw new Error("Nothing was asked.");
  const { decisions } = await client.call("decideApprovals", {
    body: {
      decisions: [
        { callId: one.id, answer: "deny", digest: one.digest },
        { callId: two.callId, answer: "allow", digest: one.digest },
        { callId: "nothing", answer: "deny", digest: one.digest },
      ],
    },
  });
  expect(decisions.map(({ decided }) => decided)).toEqual([true, false, false]);
  const page = await client.call("listApprovals", { query: { limit: 2 } });
  expect(page).toMatchObject({ approvals: [{ id: two.id }, { id: three.id }], next: three.position });
  const { approvals: rest } = await client.call("listApprovals", { query: { limit: 2, after: three.position } });
  expect(rest.map(({ id }) => id)).toEqual([four.id]);
  const { approvals } = await client.call("decideMatchingApprovals", { body: { answer: "allow", tool: "notes::*", upTo: three.position } });
  expect(approvals.map(({ id, status }) => [id, status])).toEqual([
    [two.id, "allowed"],
    [three.id, "allowed"],
  ]);
  expect((await client.call("listApprovals")).approvals.map(({ id }) => id)).toEqual([four.id]);
  await expect(client.call("decideMatchingApprovals", { body: { answer: "allow", upTo: 9 } })).rejects.toMatchObject({
    status: 400,
    problem: { hint: expect.stringContaining('"tool": "*"') },
  });
});

test("issue 19.4 an approval rule allows calls without a question until it is revoked", async () => {
  const { client, ask } = await openDesk();
  const rule = await client.call("addApprovalRule", { body: { pattern: "notes::*", sessionId: "desk" } });
  expect(rule).toMatchObject({ pattern: "notes::*", sessionId: "desk", scope: "rule", createdBy: "local" });
  expect(await client.call("listApprovalRules")).toEqual({ rules: [rule] });
  const body = { calls: [{ name: "notes::erase" }] };
  const { results } = await client.call("executeInSession", { params: { sessionId: "desk" }, body });
  expect(results.map(({ output }) => output)).toEqual(["erased"]);
  await client.call("revokeApprovalRule", { params: { ruleId: rule.id } });
  expect(await client.call("listApprovalRules")).toEqual({ rules: [] });
  expect(await ask(1)).toHaveLength(1);
  await expect(client.call("revokeApprovalRule", { params: { ruleId: rule.id } })).rejects.toMatchObject({ status: 404 });
  await expect(client.call("addApprovalRule", { body: { pattern: "notes::*", expiresAt: 1 } })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("a time in the future"),
  });
});

test("issue 19.4 E05 a session key reads and decides questions of its session only, and cannot create rules", async () => {
  const { access } = memoryStore();
  const keys = new Keys(access, systemPorts);
  const api = await startApi({ auth: combineAuthenticators(staticToken({ token: TOKEN }), keys) });
  const client = createClient({ url: api.url, token: TOKEN });
  await client.call("createSession", { body: { id: "other" } });
  for (const sessionId of ["desk", "other"])
    void client
      .call("executeInSession", { params: { sessionId }, body: { calls: [{ name: "notes::erase" }], waitMs: 60_000 } })
      .catch(() => {}); // the server stops with the test
  let asked = await client.call("listApprovals");
  while (asked.approvals.length < 2) asked = await client.call("listApprovals");
  const own = asked.approvals.find(({ sessionId }) => sessionId === "desk");
  const foreign = asked.approvals.find(({ sessionId }) => sessionId === "other");
  if (own === undefined || foreign === undefined) throw new Error("Nothing was asked.");
  const { key } = await keys.addSessionKey({ name: "page", scopes: ["read", "approve"], sessionId: "desk" });
  const page = createClient({ url: api.url, token: key });
  expect((await page.call("listApprovals")).approvals.map(({ id }) => id)).toEqual([own.id]);
  expect((await page.call("listApprovals", { query: { sessionId: "other" } })).approvals).toEqual([]);
  await expect(page.call("getApproval", { params: { callId: foreign.id } })).rejects.toMatchObject({ status: 404 });
  const allow = { answer: "allow", digest: own.digest } as const;
  const rule = { pattern: "*" };
  for (const [path, body] of [
    [`/v1/approvals/${own.id}`, { ...allow, rule }],
    [`/v1/approvals/${own.id}`, { ...allow, scope: "rule" }],
    ["/v1/approvals/matching", { answer: "allow", rule, upTo: 9 }],
    ["/v1/approval-rules", { pattern: "*" }],
    [
      "/v1/approvals",
      {
        decisions: [
          { ...allow, callId: own.id },
          { ...allow, callId: own.id, scope: "rule" },
        ],
      },
    ],
  ] as const)
    expect({ path, status: (await api.ask("POST", path, { token: key, body })).status }).toEqual({ path, status: 403 });
  expect(await page.call("getApproval", { params: { callId: own.id } })).toMatchObject({ status: "open" }); // nothing of what was refused counts
  const { approvals } = await page.call("decideMatchingApprovals", { body: { answer: "deny", upTo: 9 } });
  expect(approvals.map(({ id }) => id)).toEqual([own.id]);
  expect((await client.call("listApprovals")).approvals.map(({ id }) => id)).toEqual([foreign.id]);
});

test("a damaged question is marked in the list, cannot be answered, and does not affect the others", async () => {
  const { api, client, ask } = await openDesk();
  const asked = await ask(3);
  const [one, damaged, last] = asked;
  if (one === undefined || damaged === undefined || last === undefined) throw new Error("Nothing was asked.");
  const database = new DatabaseSync(api.path, { timeout: 10_000 });
  database.prepare("update haft_approval set question = '{' where id = ?").run(JSON.stringify(damaged.id));
  database.close();
  const { approvals } = await client.call("listApprovals");
  expect(approvals.map(({ id, damage }) => [id, damage === undefined])).toEqual([
    [one.id, true],
    [damaged.id, false],
    [last.id, true],
  ]);
  expect(approvals[1]).toMatchObject({ sessionId: "desk", callId: damaged.callId, damage: expect.stringContaining(damaged.id) });
  const allow = { answer: "allow" } as const;
  for (const callId of [damaged.id, damaged.callId])
    await expect(client.call("decideApproval", { params: { callId }, body: { ...allow, digest: damaged.digest } })).rejects.toMatchObject({
      problem: { code: "corrupt_record" },
    });
  const decisions = [one, damaged].map(({ callId, digest }) => ({ ...allow, callId, digest }));
  expect((await client.call("decideApprovals", { body: { decisions } })).decisions.map(({ decided }) => decided)).toEqual([true, false]);
  const many = await client.call("decideMatchingApprovals", { body: { ...allow, tool: "*", upTo: last.position } });
  expect(many.approvals.map(({ id }) => id)).toEqual([last.id]);
});
