/** A real `haft serve` that is killed in the middle of keyed requests, and started again: each effect once, each client its first answer. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createPortFinder } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient, type HaftClient } from "haft/client";
import { expect, onTestFinished } from "vitest";
import { HAFT } from "../../bundled-program.ts";
import { testInCI } from "../../test-in-ci.ts";

const TOKEN = "a-token-that-outlives-the-server";

/** Appends a line for each call; after a crash it can say whether it did. */
const TOOLS = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
const done = (id) => existsSync("effects.log") && readFileSync("effects.log", "utf8").split("\\n").includes(id);
export const pay = {
  name: "pay",
  description: "Pays once.",
  inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  effects: {
    writes: ["account:{id}"],
    external: true,
    reconcile: ({ input }) => (done(input.id) ? { happened: true, output: { paid: input.id } } : { happened: false }),
  },
  execute({ id }) {
    appendFileSync("effects.log", id + "\\n");
    return { paid: id };
  },
};
`;

interface Project {
  readonly folder: string;
  readonly port: number;
}

async function newProject(): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "haft-kill-"));
  await writeFile(
    join(folder, "haft.toml"),
    '[store]\npath = "haft.db"\nsynchronous = "normal"\n\n[toolsets.bank]\ntype = "module"\npath = "./tools.mjs"\n',
  );
  await writeFile(join(folder, "tools.mjs"), TOOLS);
  const finder = createPortFinder();
  const port = await new Promise<number>((resolve) =>
    finder.listen(0, "127.0.0.1", () => {
      const address = finder.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    }),
  );
  await new Promise((resolve) => finder.close(resolve));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return { folder, port };
}

const START_ATTEMPTS = 5;

/** Resolves when it listens. A busy machine may have no thread or port for it at first. */
async function serve(project: Project): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(project);
    } catch (thrown: unknown) {
      if (attempt === START_ATTEMPTS) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, attempt * 500));
    }
  }
}

async function start({ folder, port }: Project): Promise<ChildProcess> {
  const child = spawn(process.execPath, [HAFT, "serve", "--config", "haft.toml", "--port", String(port)], {
    cwd: folder,
    env: { ...process.env, HAFT_TOKEN: TOKEN },
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    if (!line.includes("serving at")) continue;
    child.stderr.resume();
    return child;
  }
  throw new Error(`The server did not start: ${lines.join("\n")}`);
}

async function killed(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await exited;
}

/** Half of the requests in a session, half outside any. */
async function pay(client: HaftClient, id: string, inSession: boolean, signal?: AbortSignal): Promise<string> {
  const body = { calls: [{ name: "bank::pay", input: { id } }] };
  const more = { idempotencyKey: id, ...(signal === undefined ? {} : { signal }) };
  const answer = inSession
    ? await client.call("executeInSession", { params: { sessionId: "shop" }, body: { ...body, concurrent: true }, ...more })
    : await client.call("execute", { body, ...more });
  return JSON.stringify(answer.results);
}

async function drill(requests: number, kills: number): Promise<void> {
  const project = await newProject();
  let server = await serve(project);
  const client = createClient({ url: `http://127.0.0.1:${project.port}`, token: TOKEN, maxAttempts: 200, retryDelayMs: 50 });
  await client.call("createSession", { body: { id: "shop" } });
  const answers = new Map<string, string>();
  let answered = 0;
  let next = 0;
  const killAt = Array.from({ length: kills }, (_, index) => Math.floor(((index + 1) * requests) / (kills + 1)));
  let restarting: Promise<void> = Promise.resolve();
  const restartAfter = async (before: Promise<void>): Promise<void> => {
    await before;
    await killed(server);
    server = await serve(project);
  };
  const stop = new AbortController();
  const work = async (): Promise<void> => {
    for (let n = next++; n < requests; n = next++) {
      answers.set(`p${n}`, await pay(client, `p${n}`, n % 2 === 0, stop.signal));
      if (++answered !== killAt[0]) continue;
      killAt.shift();
      restarting = restartAfter(restarting);
      restarting.catch((thrown: unknown) => stop.abort(thrown)); // or the requests would be sent again and again to nothing
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  await restarting;
  expect(killAt).toEqual([]);
  const effects = (await readFile(join(project.folder, "effects.log"), "utf8")).trim().split("\n");
  expect(effects.sort()).toEqual([...answers.keys()].sort());
  for (const [id, answer] of answers) {
    expect(await pay(client, id, Number(id.slice(1)) % 2 === 0)).toBe(answer);
    expect(answer).toContain(`{"paid":"${id}"}`);
  }
}

testInCI(
  "issue 19 400 keyed requests over 5 kills: each effect happens once, each client gets its first answer",
  { timeout: 1_800_000 },
  () => drill(400, 5),
);

testInCI(
  "issue 19.2 kill -9 during a commit: it is applied completely or not at all, and its effect happens once",
  { timeout: 600_000 },
  async () => {
    const project = await newProject();
    const client = createClient({ url: `http://127.0.0.1:${project.port}`, token: TOKEN, maxAttempts: 1 });
    let server = await serve(project);
    await client.call("createSession", { body: { id: "shop" } });
    for (let round = 0; round < 6; round++) {
      const branch = `branch-${round}`;
      await client.call("forkSession", { params: { sessionId: "shop" }, body: { id: branch } });
      const [params, body] = [{ sessionId: branch }, { calls: [{ name: "bank::pay", input: { id: `c${round}` } }] }];
      await client.call("executeInSession", { params, body, idempotencyKey: `c${round}` });
      const committed = client.call("commitSession", { params }).then(
        () => true,
        () => false,
      );
      await new Promise((resolve) => setTimeout(resolve, round * 4));
      await killed(server);
      const wasAnswered = await committed;
      server = await serve(project);
      const isThere = async (): Promise<boolean> =>
        JSON.stringify(await client.call("getSnapshot", { params: { sessionId: "shop" } })).includes(`"c${round}"`);
      const before = await isThere();
      if (wasAnswered) expect(before).toBe(true);
      // The branch has ended with its process, committed or not, and every later request says so.
      for (let again = 0; again < 2; again++)
        await expect(client.call("commitSession", { params })).rejects.toThrow(/There is no session|is not a branch that is open/u);
      expect(await isThere()).toBe(before);
    }
    const effects = (await readFile(join(project.folder, "effects.log"), "utf8")).trim().split("\n");
    expect(effects).toEqual(["c0", "c1", "c2", "c3", "c4", "c5"]);
  },
);

testInCI("issue 19.5 kill -9 right after a revocation is answered: the session key stays rejected", { timeout: 240_000 }, async () => {
  const project = await newProject();
  const client = createClient({ url: `http://127.0.0.1:${project.port}`, token: TOKEN });
  const server = await serve(project);
  await client.call("createSession", { body: { id: "shop" } });
  const made = await client.call("createSessionKey", { params: { sessionId: "shop" }, body: { name: "page", scopes: ["read"] } });
  const read = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${project.port}/v1/sessions/shop`, { headers: { authorization: `Bearer ${made.key}` } })).status;
  expect(await read()).toBe(200);
  await client.call("revokeSessionKey", { params: { sessionId: "shop", keyId: made.id } });
  await killed(server);
  await serve(project);
  expect(await read()).toBe(401);
});

testInCI("issue 19.6 SIGTERM stops a server gracefully, with exit code 0", { timeout: 240_000 }, async () => {
  const project = await newProject();
  const server = await serve(project);
  const client = createClient({ url: `http://127.0.0.1:${project.port}`, token: TOKEN });
  expect(await pay(client, "last", false)).toContain('{"paid":"last"}');
  const exit = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGTERM");
  expect(await exit).toBe(0);
});
