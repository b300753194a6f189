/** `haft serve --agent`: an agent of the command line, reached over HTTP. */
import { writeFileSync } from "node:fs";
import { createClient, type ApiError } from "haft/client";
import { expect, onTestFinished, test } from "vitest";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { CANARY, chatProject } from "./chat-project.ts";
import { PATIENCE_MS, haft } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

const TOKEN = "a-token-for-the-tests";
const ENVIRONMENT = { HAFT_TOKEN: TOKEN, HAFT_TRUST: "all", MODEL_KEY: CANARY };

testInCI(
  "issue 19.2 an agent of haft serve answers messages, and continues its session after a restart",
  { timeout: PATIENCE_MS },
  async () => {
    const project = await chatProject({
      script: [{ calls: [{ name: "shop__look", input: {} }] }, { text: "There is milk." }, { text: "Milk, as I said." }],
      toml: '[store]\npath = "haft.db"\nsynchronous = "normal"\n',
    });
    const answers: string[] = [];
    for (const content of ["What is there?", "Again?"]) {
      let isAsked = false;
      const { exitCode, stderr } = await haft(["serve", "--port", "0", "--agent", "clerk"], {
        folder: project.folder,
        environment: ENVIRONMENT,
        onOutput({ stderr: shown }, control) {
          const [, url] = /serving at (\S+)/u.exec(shown) ?? [];
          if (url === undefined || isAsked) return;
          isAsked = true;
          void talk(url, content)
            .then((text) => answers.push(text))
            .finally(() => control.signal("SIGTERM"));
        },
      });
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining("haft: stopping") });
    }
    expect(answers).toEqual(["There is milk.", "Milk, as I said."]);
  },
);

const SWIMMING = '[store]\npath = "haft.db"\n[toolsets.pool]\ntype = "module"\npath = "./pool.mjs"\n';
const POOL = `export const swim = {
  name: "swim", description: "Swims.", inputSchema: { type: "object" }, effects: { reads: ["water"] }, timeoutMs: 0,
  execute: () => (process.stderr.write("it swims\\n"), new Promise((resolve) => setTimeout(resolve, 600_000))),
};`;

/** The log of a process that was killed while the agent's tool ran. */
async function leaveSwimming(path: string): Promise<void> {
  const call = { name: "pool::swim", input: {} };
  const start = { type: "call-start", callId: "call_1", sessionId: "clerk", turnId: "turn_1", at: 1, call } as const;
  const store = sqliteStore({ path });
  store.create("clerk", { at: 1, durability: "sync" }).append([{ type: "session-start", sessionId: "clerk", at: 1 }, start]);
  await store.close();
}

testInCI(
  "a starting server stops at once on SIGTERM, even while its agent's session waits for a repeated call",
  { timeout: PATIENCE_MS },
  async () => {
    const project = await chatProject({ script: [], toml: SWIMMING, files: { "pool.mjs": POOL } });
    await leaveSwimming(project.path("haft.db"));
    const served = await haft(["serve", "--port", "0", "--agent", "clerk"], {
      folder: project.folder,
      environment: ENVIRONMENT,
      onOutput: ({ stderr }, control) => {
        if (stderr === "it swims\n") control.signal("SIGTERM"); // a second one ends the process
      },
    });
    expect(served).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("haft: stopping") });
    const after = sqliteStore({ path: project.path("haft.db") });
    onTestFinished(() => after.close());
    expect((await after.read("clerk")).events.map(({ type }) => type)).not.toContain("call-end");
    expect((await after.list())[0]).not.toHaveProperty("openedBy");
  },
);

testInCI(
  "a message to an agent whose session is still being resumed is answered with 503, for a retry",
  { timeout: PATIENCE_MS },
  async () => {
    const project = await chatProject({ script: [], toml: SWIMMING, files: { "pool.mjs": POOL } });
    await leaveSwimming(project.path("haft.db"));
    let answered: number | undefined;
    const { exitCode } = await haft(["serve", "--port", "0", "--agent", "clerk"], {
      folder: project.folder,
      environment: ENVIRONMENT,
      onOutput({ stderr }, control) {
        const [, url] = /serving at (\S+)/u.exec(stderr) ?? [];
        if (url === undefined || answered !== undefined) return;
        answered = 0;
        void createClient({ url, token: TOKEN, maxAttempts: 1 })
          .call("sendToAgent", { params: { agentName: "clerk" }, body: { content: "Are you there?" } })
          .catch(({ status }: ApiError) => (answered = status))
          .finally(() => control.signal("SIGTERM"));
      },
    });
    expect({ exitCode, answered }).toEqual({ exitCode: 0, answered: 503 });
  },
);

/** Sends the agent a message, and resolves to what it answers. */
async function talk(url: string, content: string): Promise<string> {
  const client = createClient({ url, token: TOKEN });
  expect((await client.call("listAgents")).agents).toMatchObject([{ name: "clerk", sessionId: "clerk" }]);
  const { events } = await client.call("listAgentEvents", { params: { agentName: "clerk" }, query: { limit: 1_000 } });
  await client.call("sendToAgent", { params: { agentName: "clerk" }, body: { content }, idempotencyKey: content });
  for await (const { event } of client.follow("clerk", { after: events.at(-1)?.position ?? 0 })) {
    if (event.type === "round-end" && event.callIds.length === 0) return String(event.message?.content);
  }
  return "";
}

test.each([
  ["no model", ["--agent", "clerk"], "model", 3],
  ["the same name twice", ["--agent", "a", "--agent", "a", "--model", "ollama/x"], "given twice", 2],
  ["a name that is none", ["--agent", "\u0007", "--model", "ollama/x"], "The name of an agent", 2],
])("issue 19.2 haft serve --agent with %s starts nothing", async (_what, args, message, exitCode) => {
  const project = await chatProject({ script: [] });
  writeFileSync(project.path("haft.toml"), "");
  const served = await haft(["serve", "--port", "0", ...args], { folder: project.folder, environment: ENVIRONMENT });
  expect(served).toMatchObject({ exitCode, stderr: expect.stringContaining(message) });
});
