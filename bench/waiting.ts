/** One contestant of "10,000 sessions at once", in a process of its own so that its memory is its own: `node waiting.ts <contestant> <folder>`. */
import { createRuntime, defineTool, type RuntimeOptions, type RuntimeSession } from "../src/index.ts";
import { CROWD, WAIT_MS, type CrowdFigures } from "./crowd.ts";

const WARM_UP = 200;

type Wait = (n: number) => Promise<number>;

interface Contestant {
  /** Begins a session and makes its one call. */
  begin(n: number): Promise<unknown>;
  /** Lets go of every session; told what the calls came to. */
  end?(answers: readonly unknown[]): Promise<unknown>;
}

/** Each makes what all of its sessions share. */
const CONTESTANTS: Readonly<Record<string, (wait: Wait) => Promise<Contestant>>> = {
  bare: async (wait) => {
    const sessions = new Map<string, unknown[]>();
    return {
      begin(n) {
        const log: unknown[] = [{ type: "start", n }];
        sessions.set(`s${n}`, log);
        return wait(n).then((output) => log.push({ type: "end", output }));
      },
      end: async () => sessions.clear(),
    };
  },
  haft: async (wait) => haft(wait, {}),
  "haft-sqlite": async (wait) => {
    const { sqliteStore } = await import("../src/store/sqlite-store.ts");
    return haft(wait, { store: sqliteStore({ path: `${process.argv[3] ?? "."}/crowd-${process.pid}.db` }) });
  },
  "ai-sdk": async (wait) => ({ begin: (await import("./peers.ts")).aiSdkSession(wait) }),
  langgraph: async (wait) => ({ begin: await (await import("./peers.ts")).langGraphSession(wait) }),
  "openai-agents": async (wait) => ({ begin: (await import("./peers.ts")).openAiSession(wait) }),
};

function haft(wait: Wait, options: RuntimeOptions): Contestant {
  const tool = defineTool({
    name: "wait",
    description: "d",
    inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    effects: { writes: (input) => [`cell:${input.n}`] },
    execute: ({ n }: { n: number }) => wait(n),
  });
  const runtime = createRuntime({ ...options, tools: [tool] });
  const sessions: RuntimeSession[] = [];
  return {
    begin(n) {
      const session = runtime.session();
      sessions.push(session);
      return session.execute({ id: "c", name: "wait", input: { n } });
    },
    end(answers) {
      if (!answers.every((answer) => isOk(answer)))
        throw new Error(`A call failed: ${JSON.stringify(answers.find((answer) => !isOk(answer)))}`);
      return Promise.all(sessions.splice(0).map((session) => session.close()));
    },
  };
}

function isOk(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "status" in answer && answer.status === "ok";
}

/** Calls that wait; each ends by itself, or when all are let go. */
class Waiting {
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #ends: ((n: number) => void)[] = [];
  #whenAll: (() => void) | undefined;
  #count = 0;
  delayMs = 0;

  readonly wait: Wait = (n) =>
    new Promise((resolve) => {
      this.#ends.push(resolve);
      if (this.#timers.push(setTimeout(resolve, this.delayMs, n)) === this.#count) this.#whenAll?.();
    });

  whenThere(count: number): Promise<void> {
    this.#count = count;
    return new Promise((resolve) => (this.#whenAll = resolve));
  }

  letGo(): void {
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    for (const end of this.#ends.splice(0)) end(0);
  }
}

async function measureCrowd(contestant: (wait: Wait) => Promise<Contestant>): Promise<CrowdFigures> {
  const waiting = new Waiting();
  const crowd = await contestant(waiting.wait);
  await runAll(crowd, WARM_UP);
  waiting.letGo();

  waiting.delayMs = 3_600_000;
  const before = await settledMemory();
  const there = waiting.whenThere(CROWD);
  const ended = runAll(crowd, CROWD);
  await Promise.race([there, ended]);
  const during = await settledMemory();
  waiting.letGo();
  await ended;

  waiting.delayMs = WAIT_MS;
  await settledMemory();
  const startedAt = performance.now();
  await runAll(crowd, CROWD);
  const finishMs = performance.now() - startedAt;
  return { heapEach: (during.heapUsed - before.heapUsed) / CROWD, rssEach: (during.rss - before.rss) / CROWD, finishMs };
}

async function runAll(crowd: Contestant, count: number): Promise<void> {
  const answers = await Promise.all(Array.from({ length: count }, (_, n) => crowd.begin(n)));
  await crowd.end?.(answers);
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
