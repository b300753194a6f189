/** A job and an agent wait while a call of theirs is in the inbox of approvals, also one that a delegate made: as the API and `haft jobs` say it. */
import { createAgent, createRuntime, defineTool } from "haft";
import { createClient } from "haft/client";
import { delegateTool } from "haft/delegate";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { scriptedModel } from "haft/testing";
import { expect, onTestFinished, test } from "vitest";
import { SessionProject } from "../../cli/session-project.ts";
import { TOKEN } from "./api-server.ts";

const inputSchema = { type: "object", properties: {} } as const;
const SOON = { timeout: 30_000 };

const erase = defineTool({
  name: "erase",
  description: "Erases.",
  inputSchema,
  effects: { writes: ["disk"], destructive: true },
  execute: () => "erased",
});
const eraseLater = defineTool({
  name: "eraseLater",
  description: "Erases in the background.",
  inputSchema,
  mode: "background",
  composite: true,
  execute: async (_, { execute }) => (await execute({ name: "default::erase", input: {} })).output,
});
const helper = (name: string, more: object = {}) =>
  delegateTool({
    name,
    description: "Erases for others.",
    model: scriptedModel([{ calls: [{ name: "default::erase", input: {} }] }, { text: "Done." }]),
    ...more,
  });

/** Two servers of one store: the calls run at the first. */
async function twoServers() {
  const project = new SessionProject();
  const tools = [erase, eraseLater, helper("help"), helper("helpLater", { mode: "background" })];
  const [one, two] = [0, 1].map(() =>
    createRuntime({ tools, approval: { approve: "inbox" }, store: sqliteStore({ path: project.path("haft.db"), synchronous: "normal" }) }),
  );
  if (one === undefined || two === undefined) throw new Error("There are two.");
  const model = scriptedModel([{ calls: [{ name: "default::help", input: { task: "Erase it." } }] }, { text: "It is gone." }]);
  const agent = createAgent({ session: one.session("clerk"), model });
  const clients = [];
  for (const [runtime, agents] of [
    [one, { clerk: agent }],
    [two, {}],
  ] as const) {
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), agents, limits: { graceMs: 50 } });
    const { url } = await server.listen({ port: 0 });
    onTestFinished(async () => {
      await agent.stop();
      await server.close();
      await runtime.close();
    });
    clients.push(createClient({ url, token: TOKEN }));
  }
  const [first, second] = clients;
  if (first === undefined || second === undefined) throw new Error("There are two.");
  agent.start();
  const states = async (): Promise<readonly (string | undefined)[]> => {
    const lists = await Promise.all([first, second].map((client) => client.call("listJobs")));
    return lists.map(({ jobs }) => jobs[0]?.state);
  };
  const allow = async (): Promise<void> => {
    const [question] = (await first.call("listApprovals")).approvals;
    const { callId = "", digest = "" } = question ?? {};
    await first.call("decideApproval", { params: { callId }, body: { answer: "allow-once", digest } });
  };
  return { first, second, states, allow, project };
}

test.each(["eraseLater", "helpLater"])("a job of %s has the state waiting while a nested call waits for approval", async (name) => {
  const { first, second, states, allow, project } = await twoServers();
  await first.call("createSession", { body: { id: "desk" } });
  const { results } = await first.call("executeInSession", {
    params: { sessionId: "desk" },
    body: { calls: [{ name, input: name === "helpLater" ? { task: "Erase it." } : {} }] },
  });
  const jobId = results[0]?.callId ?? "";
  await expect.poll(states, SOON).toEqual(["waiting", "waiting"]);
  for (const client of [first, second]) {
    const listed = async (state: string): Promise<readonly string[]> =>
      (await client.call("listJobs", { query: { states: state } })).jobs.map(({ id }) => id);
    expect(await Promise.all(["waiting", "running", "running,waiting", "done"].map(listed))).toEqual([[jobId], [], [jobId], []]);
    expect(await client.call("getJob", { params: { jobId } })).toMatchObject({ state: "waiting" });
  }
  expect((await project.haft(["jobs", "list", "--state", "waiting"])).stdout).toMatch(new RegExp(`^${jobId} +waiting `, "u"));
  expect((await project.haft(["jobs", "list", "--state", "running"])).stdout).toBe("");
  expect((await project.haft(["jobs", "show", jobId])).stdout).toMatch(/state +waiting/u);
  await allow();
  await expect.poll(states, SOON).toEqual(["done", "done"]);
});

test("an agent is waiting while a call of its delegate waits for approval, and runs on with the answer", async () => {
  const { first, allow } = await twoServers();
  const state = async () => {
    const { state: word, waiting } = await first.call("getAgent", { params: { agentName: "clerk" } });
    return [word, waiting];
  };
  expect(await state()).toEqual(["idle", 0]);
  await first.call("sendToAgent", { params: { agentName: "clerk" }, body: { content: "Erase it." } });
  await expect.poll(state, SOON).toEqual(["waiting", 1]);
  await allow();
  await expect.poll(state, SOON).toEqual(["idle", 0]);
});
