/**
 * Load on streams of events, and streams that continue over restarts of their server.
 *
 * `node --conditions=haft-source scripts/stream-load.ts fan-out [idle] [events per second] [slow readers] [seconds]` prints memory and delay;
 * `node --conditions=haft-source scripts/stream-load.ts restarts [kills] [events]` kills a server again and again and counts what its client got.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { SessionEvent } from "../src/core/event.ts";
import { createRuntime } from "../src/runtime/runtime.ts";
import { EventHub } from "../src/server/events/event-hub.ts";
import { sqliteStore } from "../src/store/sqlite-store.ts";
import { StreamClient } from "./stream-client.ts";
import { serveEvents } from "./stream-server.ts";

const SERVER = fileURLToPath(new URL("stream-server.ts", import.meta.url));

export interface RestartCount {
  readonly kills: number;
  /** Events of the log. */
  readonly events: number;
  /** Positions that the client of the session did not get, and those that it got again. */
  readonly missing: number;
  readonly repeated: number;
  /** The same of the client of all sessions. */
  readonly missingOfAll: number;
  readonly repeatedOfAll: number;
}

/** Kills the server when its client has got so many more events each time, and lets the client continue with the next. */
export async function resumeOverRestarts({ kills, events }: { readonly kills: number; readonly events: number }): Promise<RestartCount> {
  const folder = mkdtempSync(join(tmpdir(), "haft-streams-"));
  const path = join(folder, "sessions.db");
  const [one, all] = [new StreamClient(), new StreamClient()];
  all.lastEventId = "0";
  try {
    const each = Math.floor(events / (kills + 1));
    for (let kill = 1; kill <= kills; kill++) {
      const server = await startServer(path, events);
      const reading = one.read(`${server.url}?session=drill`, () => one.messages.length >= each * kill);
      // However the first reader ends, the server is killed: the second one ends with it.
      await Promise.allSettled([reading.finally(() => server.kill()), all.read(server.url, () => server.isKilled())]);
      await server.ended;
    }
    const last = await startServer(path, events);
    const length = await last.done;
    await one.read(`${last.url}?session=drill`, ({ id }) => id === String(length));
    const log = await readLog(path);
    const whole = log.map((event) => JSON.stringify(event));
    // A server may have filled the log, and told all of it, before it was killed.
    if (all.messages.at(-1)?.data !== whole.at(-1)) await all.read(last.url, ({ data }) => data === whole.at(-1));
    last.kill();
    await last.ended;
    return { kills, events: log.length, ...counted(positionsOf(one), log.length), ...countedOfAll(all, whole) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface StartedServer {
  readonly url: string;
  /** Ends it without a warning. */
  kill(): boolean;
  isKilled(): boolean;
  /** The length of the log when it was full. */
  readonly done: Promise<number>;
  readonly ended: Promise<void>;
}

async function startServer(path: string, events: number): Promise<StartedServer> {
  const child: ChildProcess = spawn(process.execPath, ["--conditions=haft-source", SERVER, path, String(events)], {
    stdio: ["ignore", "pipe", "inherit", "ipc"], // by its channel it ends with this process
  });
  if (child.stdout === null) throw new Error("The server has no output.");
  const { promise: started, resolve: begin } = Promise.withResolvers<string>();
  const { promise: done, resolve: finish } = Promise.withResolvers<number>();
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  createInterface(child.stdout).on("line", (text) => (text.startsWith("done ") ? finish(Number(text.slice(5))) : begin(text)));
  const url = await Promise.race([started, ended.then(() => Promise.reject(new Error("The server ended before it listened.")))]);
  return { url, kill: () => child.kill("SIGKILL"), isKilled: () => child.killed, done, ended };
}

async function readLog(path: string): Promise<readonly SessionEvent[]> {
  const store = sqliteStore({ path, readOnly: true });
  const events: SessionEvent[] = [];
  for (let next: number | undefined = 1; next !== undefined;) {
    const page = await store.read("drill", { from: next });
    events.push(...page.events);
    ({ next } = page);
  }
  await store.close();
  return events;
}

function positionsOf({ messages }: StreamClient): readonly number[] {
  return messages.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
}

function counted(positions: readonly number[], length: number): Pick<RestartCount, "missing" | "repeated"> {
  const known = new Set(positions);
  return { missing: length - known.size, repeated: positions.length - known.size };
}

/** By what they say: the places in the order of all sessions are numbers of their own. */
function countedOfAll({ messages }: StreamClient, whole: readonly string[]): Pick<RestartCount, "missingOfAll" | "repeatedOfAll"> {
  const got = messages.flatMap(({ id, data }) => (id === undefined ? [] : [data]));
  const known = new Set(got);
  return { missingOfAll: whole.filter((text) => !known.has(text)).length, repeatedOfAll: got.length - known.size };
}

export interface FanOutOptions {
  readonly idle: number;
  readonly readers: number;
  readonly slow: number;
  readonly eventsPerSecond: number;
  readonly seconds: number;
}

export interface FanOutFigures {
  readonly events: number;
  /** Events that each reader got, the fewest and the most. */
  readonly received: readonly [number, number];
  readonly delayMsMedian: number;
  readonly delayMs99: number;
  readonly bytesPerIdleStream: number;
  readonly slowGrowthMiB: number;
}

/**
 * Readers that follow a busy session, others whose sessions are quiet, and some that never read what they are sent. The quiet ones are connected by a
 * process of their own: with both ends in one process, 10,000 of them need more open files than most systems allow.
 */
export async function fanOut({ idle, readers, slow, eventsPerSecond, seconds }: FanOutOptions): Promise<FanOutFigures> {
  const folder = mkdtempSync(join(tmpdir(), "haft-fan-out-"));
  const note = {
    name: "note",
    description: "Notes.",
    inputSchema: { type: "object" },
    effects: { reads: [], writes: [] },
    execute: () => "x".repeat(200),
  };
  const runtime = createRuntime({ tools: [note], store: sqliteStore({ path: join(folder, "sessions.db") }) });
  const served = await serveEvents(new EventHub(runtime));
  const agent = new Agent({ maxSockets: Infinity, keepAlive: false });
  const open: IncomingMessage[] = [];
  const holders: ChildProcess[] = [];
  const connect = async (session: string): Promise<IncomingMessage> => {
    const response = await connectTo(`${served.url}?session=${session}`, agent);
    open.push(response);
    return response;
  };
  try {
    for (const id of ["quiet", "busy"]) await runtime.session(id).addMessage({ role: "user", content: "hello" });
    const before = process.memoryUsage().rss;
    const holder = await holdElsewhere(served.url, idle);
    holders.push(holder);
    const bytesPerIdleStream = Math.round((process.memoryUsage().rss - before) / Math.max(1, idle));
    for (let count = 0; count < slow; count++) await connect("busy"); // never read
    const received = Array.from({ length: readers }, () => 0);
    const delays: number[] = [];
    for (let reader = 0; reader < readers; reader++) {
      const lines = createInterface(await connect("busy"));
      lines.on("line", (text) => {
        const at = /^data: .*"at":(\d+),"type":"call-end"/u.exec(text)?.[1];
        if (at === undefined) return;
        received[reader] = (received[reader] ?? 0) + 1;
        delays.push(Date.now() - Number(at));
      });
    }
    const beforeLoad = process.memoryUsage().rss;
    const session = runtime.sessions.get("busy");
    const calls = Math.max(1, Math.round(eventsPerSecond / 2 / 20));
    let events = 0;
    for (const end = Date.now() + seconds * 1_000; Date.now() < end; await wait(50)) {
      await session?.execute(Array.from({ length: calls }, () => ({ name: "note" })));
      events += calls;
    }
    while (received.some((count) => count < events)) await wait(20);
    delays.sort((a, b) => a - b);
    return {
      events: events * 2,
      received: [Math.min(...received), Math.max(...received)],
      delayMsMedian: delays[Math.floor(delays.length / 2)] ?? 0,
      delayMs99: delays[Math.floor(delays.length * 0.99)] ?? 0,
      bytesPerIdleStream,
      slowGrowthMiB: Math.round((process.memoryUsage().rss - beforeLoad) / 2 ** 20),
    };
  } finally {
    for (const holder of holders) holder.kill();
    for (const response of open) response.destroy();
    agent.destroy();
    await served.close();
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function connectTo(url: string, agent: Agent): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  get(url, { agent }, resolve).once("error", reject);
  const response = await promise;
  response.on("error", () => {});
  return response;
}

/** A process that holds so many streams of the session `quiet` open until it is killed, once all of them are. */
async function holdElsewhere(url: string, streams: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--conditions=haft-source", fileURLToPath(import.meta.url), "hold", url, String(streams)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { promise: ended, reject: fail } = Promise.withResolvers<never>();
  child.once("close", () => fail(new Error("The process that holds the quiet streams ended.")));
  ended.catch(() => {});
  if (child.stdout === null) throw new Error("The process that holds the quiet streams has no output.");
  await Promise.race([once(child.stdout, "data"), ended]);
  return child;
}

async function hold(url: string, streams: number): Promise<void> {
  const agent = new Agent({ maxSockets: Infinity, keepAlive: false });
  for (let at = 0; at < streams; at += 100)
    await Promise.all(
      Array.from({ length: Math.min(100, streams - at) }, async () => (await connectTo(`${url}?session=quiet`, agent)).resume()),
    );
  console.log("open");
}

async function main([what = "fan-out", ...numbers]: readonly string[]): Promise<void> {
  if (what === "hold") return hold(numbers[0] ?? "", Number(numbers[1]));
  const [first, second, third, fourth] = numbers.map(Number);
  const shown =
    what === "restarts"
      ? await resumeOverRestarts({ kills: first ?? 50, events: second ?? 10_000 })
      : await fanOut({ idle: first ?? 10_000, readers: 20, eventsPerSecond: second ?? 1_000, slow: third ?? 1_000, seconds: fourth ?? 20 });
  console.log(JSON.stringify(shown, null, 2));
}

if (import.meta.main) await main(process.argv.slice(2));
