/** One contestant of "10,000 sessions at once", in a process of its own so that its memory is its own: `node waiting.ts <contestant> <folder>`. */
import { createRuntime, defineTool } from "../src/index.ts";
import type { RuntimeOptions } from "../src/index.ts";
import { CROWD, WAIT_MS } from "./crowd.ts";
import type { CrowdFigures } from "./crowd.ts";

const WARM_UP = 200;

/** Makes what all sessions share, and returns how one session begins and makes its one call. */
type Contestant = (wait: (n: number) => Promise<number>) => Promise<(n: number) => Promise<unknown>>;

const CONTESTANTS: Readonly<Record<string, Contestant>> = {
  bare: async (wait) => {
    const sessions = new Map<string, { readonly log: unknown[] }>();
    return async (n) => {
      const log: unknown[] = [{ type: "start", n }];
      sessions.set(`s${n}`, { log });
      log.push({ type: "end", output: await wait(n) });
      sessions.delete(`s${n}`);
      return log.length;
    };
  },
  haft: async (wait) => haftSession(wait, {}),
  "haft-sqlite": async (wait) => {
    const { sqliteStore } = await import("../src/store/sqlite-store.ts");
    return haftSession(wait, { store: sqliteStore({ path: `${process.argv[3] ?? "."}/crowd-${process.pid}.db` }) });
  },
  "ai-sdk": async (wait) => (await import("./peers.ts")).aiSdkSession(wait),
  langgraph: async (wait) => (await import("./peers.ts")).langGraphSession(wait),
  "openai-agents": async (wait) => (await import("./peers.ts")).openAiSession(wait),
};

function haftSession(wait: (n: number) => Promise<number>, options: RuntimeOptions): (n: number) => Promise<unknown> {
  const tool = defineTool({
    name: "wait",
    description: "d",
    inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    effects: { writes: (input) => [`cell:${String(input["n"])}`] },
    execute: ({ n }: { n: number }) => wait(n),
  });
  const runtime = createRuntime({ ...options, tools: [tool] });
  return async (n) => {
    const session = runtime.session();
    const result = await session.execute({ id: "c", name: "wait", input: { n } });
    if (result.status !== "ok") throw new Error(result.error?.message);
    await session.close();
    return result;
  };
}

/** Calls that wait; each ends by itself, or when all are let go. */
class Waiting {
  readonly #calls: { readonly timer: NodeJS.Timeout; readonly end: () => void }[] = [];
  #whenAll: (() => void) | undefined;
  #count = 0;
  delayMs = 0;

  readonly wait = (n: number): Promise<number> =>
    new Promise((resolve) => {
      const end = (): void => resolve(n);
      this.#calls.push({ timer: setTimeout(end, this.delayMs), end });
      if (this.#calls.length === this.#count) this.#whenAll?.();
    });

  whenThere(count: number): Promise<void> {
    this.#count = count;
    return new Promise((resolve) => (this.#whenAll = resolve));
  }

  letGo(): void {
    for (const { timer, end } of this.#calls.splice(0)) {
      clearTimeout(timer);
      end();
    }
  }
}

async function measureCrowd(contestant: Contestant): Promise<CrowdFigures> {
  const waiting = new Waiting();
  const begin = await contestant(waiting.wait);
  const all = async (count: number): Promise<void> => {
    await Promise.all(Array.from({ length: count }, async (_, n) => begin(n)));
  };
  await all(WARM_UP);
  waiting.letGo();

  waiting.delayMs = 3_600_000;
  const before = await settledMemory();
  const there = waiting.whenThere(CROWD);
  const ended = all(CROWD);
  await Promise.race([there, ended]);
  const during = await settledMemory();
  waiting.letGo();
  await ended;

  waiting.delayMs = WAIT_MS;
  await settledMemory();
  const startedAt = performance.now();
  await all(CROWD);
  const finishMs = performance.now() - startedAt;
  return { heapEach: (during.heapUsed - before.heapUsed) / CROWD, rssEach: (during.rss - before.rss) / CROWD, finishMs };
}

async function settledMemory(): Promise<NodeJS.MemoryUsage> {
  for (let index = 0; index < 3; index++) {
    await new Promise((resolve) => setImmediate(resolve));
    globalThis.gc?.();
  }
  return process.memoryUsage();
}

const contestant = CONTESTANTS[process.argv[2] ?? ""];
if (contestant === undefined) {
  console.error(`Name one of ${Object.keys(CONTESTANTS).join(", ")}.`);
  process.exit(2);
}
console.log(JSON.stringify(await measureCrowd(contestant)));
process.exit(0);
