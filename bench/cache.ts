/** What an answer from the cache costs, beside the call it saves and a bare look-up. */
import { createRuntime, defineTool } from "../src/index.ts";
import type { CacheScope } from "../src/core/tool.ts";
import { sqliteStore } from "../src/store/sqlite-store.ts";
import { inFolderOnDisk } from "./folder.ts";
import { measure, printTable, type Contestant } from "./measure.ts";
import { INPUT, SCHEMA, handle, type Order } from "./workload.ts";

const CALL = { id: "c", name: "order", input: INPUT };
/** Sessions keep their log in memory: a new one now and then keeps the heap honest. */
const CALLS_A_SESSION = 10_000;

export async function printCache(): Promise<void> {
  await inFolderOnDisk(async (folder) => {
    const stored = createRuntime({ tools: [order("persistent")], store: sqliteStore({ path: `${folder}/cache.db` }) });
    const contestants = [
      ...lookUps(),
      ...alone(),
      ...inSession(),
      { name: "hit, persistent scope in SQLite", run: () => stored.execute(CALL) },
    ];
    await requireHit(() => stored.execute(CALL));
    printTable("The same call again and again", await measure(contestants, { rounds: 15, roundMs: 150 }), "uncached");
    await stored.close();
  });
}

function order(cache: CacheScope | undefined) {
  return defineTool({
    name: "order",
    description: "d",
    inputSchema: SCHEMA,
    effects: { reads: ["orders"], writes: [] },
    execute: async (input: Order) => handle(input),
    ...(cache === undefined ? {} : { cache }),
  });
}

function lookUps(): readonly Contestant[] {
  const answers = new Map([[JSON.stringify(INPUT), handle(INPUT)]]);
  const [key] = answers.keys();
  return [
    { name: "bare Map look-up", run: () => answers.get(key ?? "") },
    { name: "bare Map look-up by JSON.stringify", run: () => answers.get(JSON.stringify(INPUT)) },
  ];
}

function alone(): readonly Contestant[] {
  const uncached = createRuntime({ tools: [order(undefined)] });
  const cached = createRuntime({ tools: [order("runtime")] });
  return [
    { name: "uncached", note: "no session, a handler that does next to nothing", run: () => uncached.execute(CALL) },
    { name: "hit, runtime scope", run: () => cached.execute(CALL) },
  ];
}

function inSession(): readonly Contestant[] {
  return [sessionRow("uncached, in a session", undefined), sessionRow("hit, session scope", "session")];
}

function sessionRow(name: string, cache: CacheScope | undefined): Contestant {
  const runtime = createRuntime({ tools: [order(cache)] });
  let session = runtime.session();
  let calls = 0;
  return {
    name,
    run() {
      if (++calls % CALLS_A_SESSION === 0) {
        void session.close();
        session = runtime.session();
      }
      return session.execute(CALL);
    },
  };
}

/** The row would say nothing if its answers were not the cache's; what is stored is stored a little later. */
async function requireHit(execute: () => Promise<{ readonly origin: string }>): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) if ((await execute()).origin === "cache") return;
  throw new Error("The stored result was never found.");
}
