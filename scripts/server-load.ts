/**
 * Load on a server of the HTTP API that is too much, hostile, or long: `node --conditions=haft-source scripts/server-load.ts SCENARIO [--seconds N]`.
 * The server is a process of its own on loopback, and the client is this one. Prints what was answered, in what time, and what the server took.
 *
 *   overload   five times what the tools can do, then bursts of as much as 512 connections carry, then what they can do again (L12; 60 s)
 *   hostile    64 connections as fast as they are answered, where one request in a hundred is hostile (L21; as many seconds as 100,000 requests take)
 *   guard      hostile arguments and bodies, one after the other, beside 200 calls a second (L15; 30 s)
 *   soak       300 requests a second of every kind for long: memory, handles and times at the beginning and at the end (L18; 1,200 s)
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { createRuntime, defineTool } from "haft";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";

const EXECUTE = "/v1/execute";
/** The text of a call whose input is the given text. */
const echo = (input: string): string => `{"calls":[{"name":"load::echo","input":${input}}]}`;
const TOKEN = "the-token-of-the-load";
/** What the tool `work` takes, and how many of its calls run at a time: its capacity is 400 calls a second. */
const WORK_MS = 20;
const WORK_SLOTS = 8;
/** So many of its calls may run or wait at a time; the others are refused. */
const MOST_CALLS = 100;

/** What the server has used so far. */
export interface ServerUse {
  /** Calls of `work` and `echo` that ran. */
  readonly ran: number;
  readonly rssMb: number;
  readonly heapMb: number;
  readonly fileHandles: number;
  readonly timers: number;
  /** The longest time that the event loop was kept since the last question, in milliseconds. */
  readonly loopMs: number;
}

async function serve(folder: string): Promise<void> {
  let ran = 0;
  const any = { effects: { reads: [], writes: [] }, description: "For the load." } as const;
  const tools = [
    defineTool({
      ...any,
      name: "work",
      maxConcurrent: WORK_SLOTS,
      inputSchema: { type: "object" },
      execute: () => wait(WORK_MS, void ran++),
    }),
    defineTool({ ...any, name: "echo", inputSchema: { type: "object" }, execute: (input: object) => (ran++, input) }),
    defineTool({
      ...any,
      name: "strict",
      inputSchema: {
        type: "object",
        properties: {
          text: { type: "string", pattern: "^(a+)+$" },
          items: { type: "array", uniqueItems: true },
          numbers: { type: "array", items: { type: "integer" } },
          bomb: { $ref: "#/$defs/d12" },
        },
        $defs: Object.fromEntries([
          ["d0", { type: "string" }],
          ...Array.from(
            { length: 12 },
            (_, n) => [`d${n + 1}`, { allOf: [{ $ref: `#/$defs/d${n}` }, { $ref: `#/$defs/d${n}` }] }] as const,
          ),
        ]),
      },
      execute: (input: object) => input,
    }),
  ];
  const store = sqliteStore({ path: join(folder, "haft.db"), synchronous: "normal" });
  const runtime = createRuntime({ store, toolsets: [{ name: "load", tools }] });
  await runtime.open();
  const limits = { maxRequestsPerMinute: 1e9, maxBytesPerMinute: 1e12, maxConcurrentRequests: 1_000, maxConcurrentCalls: MOST_CALLS };
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), limits, mcp: {} });
  const { port } = await server.listen({ port: 0 });
  const loop = monitorEventLoopDelay({ resolution: 5 });
  loop.enable();
  process.on("message", () => {
    const { rss, heapUsed } = process.memoryUsage();
    const use: ServerUse = {
      ran,
      rssMb: rss / 1_048_576,
      heapMb: heapUsed / 1_048_576,
      fileHandles: readdirSync("/proc/self/fd").length,
      timers: process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length,
      loopMs: loop.max / 1e6,
    };
    loop.reset();
    process.send?.(use);
  });
  process.send?.(port);
}

/** A server in a process of its own. */
export class LoadedServer {
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #folder: string;
  readonly #agent: Agent;

  static async start(connections = 512): Promise<LoadedServer> {
    const folder = mkdtempSync(join(tmpdir(), "haft-load-"));
    const child = fork(fileURLToPath(import.meta.url), ["serve", folder], {
      execArgv: process.execArgv.includes("--conditions=haft-source") ? process.execArgv : ["--conditions=haft-source"],
    });
    const [port] = (await once(child, "message")) as [number];
    return new LoadedServer(child, port, { folder, connections });
  }

  private constructor(
    child: ChildProcess,
    port: number,
    { folder, connections }: { readonly folder: string; readonly connections: number },
  ) {
    this.#child = child;
    this.#port = port;
    this.#folder = folder;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, scheduling: "fifo" });
  }

  async use(): Promise<ServerUse> {
    this.#child.send("use");
    const [use] = (await once(this.#child, "message")) as [ServerUse];
    return use;
  }

  /** Sends one request, and reads its whole answer. One that meets a kept connection which the server has just closed is sent again. */
  async ask(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const answer = await this.#send(method, path, sent);
    return answer.wasClosed === true ? this.#send(method, path, sent) : answer;
  }

  #send(method: string, path: string, sent: Sent): Promise<Answer> {
    const body = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body));
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      ...(body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      ...sent.headers,
    };
    return new Promise((resolve) => {
      let at = performance.now();
      const request = httpRequest({ host: "127.0.0.1", port: this.#port, path, method, headers, agent: this.#agent }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        const end = (): void =>
          resolve({ status: response.statusCode ?? 0, text, ms: performance.now() - at, retryAfter: response.headers["retry-after"] });
        response.on("end", end).on("error", end);
      });
      request.on("socket", () => (at = performance.now())); // the wait for a connection is the client's own
      request.on("error", ({ message }) =>
        resolve({ status: 0, text: message, ms: performance.now() - at, retryAfter: undefined, wasClosed: request.reusedSocket }),
      );
      request.end(body);
    });
  }

  call(name: string, input: object = {}): Promise<Answer> {
    return this.ask("POST", EXECUTE, { body: { calls: [{ name: `load::${name}`, input }] } });
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    this.#child.kill();
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "exit");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

interface Sent {
  readonly body?: unknown;
  readonly raw?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answer {
  /** 0 = the connection broke. */
  readonly status: number;
  readonly text: string;
  readonly ms: number;
  readonly retryAfter: string | undefined;
  /** The connection was kept from an earlier request, and broke before an answer. */
  readonly wasClosed?: boolean;
}

/** What became of the requests of one phase. */
export interface PhaseCount {
  readonly phase: string;
  readonly sent: number;
  readonly accepted: number;
  readonly acceptedPerSecond: number;
  readonly acceptedP99Ms: number;
  readonly refused: number;
  /** Of them, those without a `Retry-After`. */
  readonly refusedWithoutWait: number;
  readonly refusedP99Ms: number;
  /** Any other answer, or none. */
  readonly other: number;
}

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function countOf(phase: string, answers: readonly Answer[], seconds: number): PhaseCount {
  const accepted = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 429);
  return {
    phase,
    sent: answers.length,
    accepted: accepted.length,
    acceptedPerSecond: Math.round(accepted.length / seconds),
    acceptedP99Ms: Math.round(
      percentile(
        accepted.map(({ ms }) => ms),
        0.99,
      ),
    ),
    refused: refused.length,
    refusedWithoutWait: refused.filter(({ retryAfter }) => retryAfter === undefined).length,
    refusedP99Ms: Math.round(
      percentile(
        refused.map(({ ms }) => ms),
        0.99,
      ),
    ),
    other: answers.length - accepted.length - refused.length,
  };
}

/** Sends so many calls a second, whatever is answered. */
async function openLoop(send: () => Promise<Answer>, perSecond: number, seconds: number): Promise<readonly Answer[]> {
  const answers: Promise<Answer>[] = [];
  const begin = performance.now();
  for (let now = 0; now < seconds * 1_000; now = performance.now() - begin) {
    while (answers.length < (now / 1_000) * perSecond) answers.push(send());
    await wait(5);
  }
  return Promise.all(answers);
}

/** So many clients that each send the next request when they have the answer to the last. */
async function closedLoop(send: () => Promise<Answer>, clients: number, goesOn: () => boolean): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  const client = async (): Promise<void> => {
    while (goesOn()) answers.push(await send());
  };
  await Promise.all(Array.from({ length: clients }, client));
  return answers;
}

const forSeconds = (seconds: number): (() => boolean) => {
  const until = performance.now() + seconds * 1_000;
  return () => performance.now() < until;
};

/** @returns the phases, and how many calls ran for the answers that say so */
export async function overload(
  server: LoadedServer,
  seconds: number,
): Promise<{ readonly phases: readonly PhaseCount[]; readonly ran: number }> {
  const capacity = (1_000 / WORK_MS) * WORK_SLOTS;
  const work = (): Promise<Answer> => server.call("work");
  const phases: PhaseCount[] = [];
  const play = async (phase: string, perSecond: number, forS: number): Promise<void> => {
    phases.push(countOf(phase, await openLoop(work, perSecond, forS), forS));
  };
  phases.push(countOf("as fast as it goes", await closedLoop(work, 64, forSeconds(seconds / 10)), seconds / 10));
  await play("1×", capacity * 0.9, seconds / 10);
  await play("5×", capacity * 5, seconds * 0.6);
  await play("1× again", capacity * 0.9, seconds / 10);
  await play("a burst", capacity * 50, Math.min(2, seconds / 10));
  await play("1× after it", capacity * 0.9, seconds / 10);
  return { phases, ran: (await server.use()).ran };
}

/** A request that must be refused, or answered with less than it asks for. */
interface Hostile {
  readonly what: string;
  /** The statuses that say so; 0 = the connection may be closed. */
  readonly statuses: readonly number[];
  /** It only takes long where it is badly done, and its call may run. */
  readonly mayRun?: true;
  readonly send: (server: LoadedServer) => Promise<Answer>;
}

const strict = (input: object) => (server: LoadedServer) => server.call("strict", input);
const raw =
  (path: string, body: string | Buffer, headers: Readonly<Record<string, string>> = {}) =>
  (server: LoadedServer) =>
    server.ask("POST", path, { raw: body, headers });
/** A call that could not be run is answered 200 with an error in its result, or refused as a request. */
const REFUSED = [200, 400, 413, 422];

function hostileRequests(): readonly Hostile[] {
  const deep = echo(`{"a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`);
  const keys = echo(JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, 1]))));
  const distinct = Array.from({ length: 20_000 }, (_, n) => ({ n, m: n % 7 }));
  return [
    { what: "A05 arguments 500,000 deep", statuses: REFUSED, send: raw(EXECUTE, deep) },
    { what: "A06 a body of 5 MB", statuses: [413, 0], send: raw(EXECUTE, echo(`{"text":"${"x".repeat(5_000_000)}"}`)) },
    { what: "A06 100,000 keys", statuses: REFUSED, mayRun: true, send: raw(EXECUTE, keys) },
    { what: "A06 an array of 1,000,000", statuses: REFUSED, mayRun: true, send: raw(EXECUTE, echo(`{"a":[${"1,".repeat(999_999)}1]}`)) },
    { what: "A10 a pattern that backtracks", statuses: REFUSED, send: strict({ text: `${"a".repeat(50_000)}!` }) },
    { what: "A11 20,000 items that must differ", statuses: REFUSED, mayRun: true, send: strict({ items: distinct }) },
    { what: "A12 references that double", statuses: REFUSED, mayRun: true, send: strict({ bomb: "x" }) },
    { what: "A22 200,000 wrong items", statuses: REFUSED, send: strict({ numbers: Array.from({ length: 200_000 }, () => "x") }) },
    {
      what: "A19 openers without an end",
      statuses: [...REFUSED, 404],
      send: raw("/v1/sessions/guard/messages", JSON.stringify({ message: "<tool_call>".repeat(50_000) })),
    },
    {
      what: "E06 a compressed body",
      statuses: [400, 413, 415],
      send: raw(EXECUTE, gzipSync(Buffer.alloc(50_000_000)), { "content-encoding": "gzip" }),
    },
    {
      what: "E08 100,000 messages in one",
      statuses: [400, 413],
      send: raw("/mcp", `[${Array.from({ length: 50_000 }, (_, n) => `{"jsonrpc":"2.0","id":${n},"method":"ping"}`).join(",")}]`, {
        accept: "application/json, text/event-stream",
      }),
    },
  ];
}

export interface GuardCount {
  /** Those that were answered with another status than they may be. */
  readonly wrong: readonly string[];
  /** The longest that one of them kept the server's event loop, in milliseconds. */
  readonly loopMs: number;
  readonly slowest: string;
  readonly othersFailed: number;
  readonly othersP99Ms: readonly [alone: number, beside: number];
}

/** Hostile requests one after the other, beside calls of others. */
export async function guard(server: LoadedServer, seconds: number): Promise<GuardCount> {
  const others = (): Promise<Answer> => server.call("echo", { text: "hello" });
  const alone = await openLoop(others, 200, seconds / 3);
  await server.use();
  const wrong: string[] = [];
  let [loopMs, slowest] = [0, ""];
  const attack = async (goesOn: () => boolean): Promise<void> => {
    const requests = hostileRequests();
    for (let first = true; first || goesOn(); first = false) {
      for (const { what, statuses, mayRun, send } of requests) {
        const { status, text } = await send(server);
        if (!statuses.includes(status) || (mayRun !== true && text.includes('"status":"ok"')))
          wrong.push(`${what}: ${status} ${text.slice(0, 200)}`);
        const use = await server.use();
        if (use.loopMs > loopMs) [loopMs, slowest] = [use.loopMs, what];
      }
    }
  };
  const [beside] = await Promise.all([openLoop(others, 200, (seconds * 2) / 3), attack(forSeconds((seconds * 2) / 3))]);
  const p99 = (answers: readonly Answer[]): number =>
    percentile(
      answers.map(({ ms }) => ms),
      0.99,
    );
  const othersFailed = [...alone, ...beside].filter(({ status }) => status !== 200).length;
  return { wrong, loopMs, slowest, othersFailed, othersP99Ms: [p99(alone), p99(beside)] };
}

export interface HostileCount {
  readonly requests: number;
  readonly perSecond: number;
  readonly p99Ms: number;
  readonly wrong: readonly string[];
  readonly grownMb: number;
}

/** Every hundredth request is hostile. */
export async function hostile(server: LoadedServer, requests: number): Promise<HostileCount> {
  const small: readonly Hostile[] = [
    {
      what: "E07 a type with a tab",
      statuses: [200, 400, 415],
      send: raw(EXECUTE, echo("{}"), { "content-type": "application/json\t;x" }),
    },
    { what: "E07 another type", statuses: [415], send: raw(EXECUTE, echo("{}"), { "content-type": "text/json" }) },
    { what: "E07 another charset", statuses: [415], send: raw(EXECUTE, echo("{}"), { "content-type": "application/json; charset=utf-7" }) },
    {
      what: "E06 a compressed body",
      statuses: [415],
      send: raw(EXECUTE, gzipSync(Buffer.alloc(1_000_000)), { "content-encoding": "gzip" }),
    },
    {
      what: "E08 a batch",
      statuses: [400],
      send: raw("/mcp", `[${'{"jsonrpc":"2.0","id":1,"method":"ping"},'.repeat(500)}1]`, { accept: "application/json, text/event-stream" }),
    },
    { what: "half of a body", statuses: [400], send: raw(EXECUTE, echo("").slice(0, -3)) },
  ];
  let sent = 0;
  const wrong: string[] = [];
  const one = async (): Promise<Answer> => {
    const n = ++sent;
    const attack = n % 100 === 0 ? small[(n / 100) % small.length] : undefined;
    const answer = await (attack === undefined ? server.call("echo", { n }) : attack.send(server));
    const isRight =
      attack === undefined ? answer.status === 200 && answer.text.includes(`"n":${n}}`) : attack.statuses.includes(answer.status);
    if (!isRight) wrong.push(`${attack?.what ?? "a call"}: ${answer.status} ${answer.text.slice(0, 200)}`);
    return answer;
  };
  await closedLoop(one, 64, () => sent < requests / 10); // warm
  const [before, from] = [await server.use(), sent];
  const begin = performance.now();
  const answers = await closedLoop(one, 64, () => sent - from < requests);
  const seconds = (performance.now() - begin) / 1_000;
  const after = await server.use();
  return {
    requests: answers.length,
    perSecond: Math.round(answers.length / seconds),
    p99Ms: percentile(
      answers.map(({ ms }) => ms),
      0.99,
    ),
    wrong,
    grownMb: after.rssMb - before.rssMb,
  };
}

export interface SoakCount {
  readonly requests: number;
  readonly wrong: readonly string[];
  /** At a tenth of the time, and at the end. */
  readonly uses: readonly [ServerUse, ServerUse];
  readonly p99Ms: readonly [first: number, last: number];
}

/** Requests of every kind in turn, for long. */
export async function soak(server: LoadedServer, seconds: number, perSecond = 300): Promise<SoakCount> {
  const wrong: string[] = [];
  let n = 0;
  const expectStatus = async (asked: Promise<Answer>, ...statuses: readonly number[]): Promise<Answer> => {
    const answer = await asked;
    if (!statuses.includes(answer.status)) wrong.push(`${answer.status} ${answer.text.slice(0, 200)}`);
    return answer;
  };
  /** The life of one session: begun, used, branched, read and ended. */
  const life = async (): Promise<readonly Answer[]> => {
    const id = `soak-${++n}`;
    const path = `/v1/sessions/${id}`;
    const call = { calls: [{ name: "load::echo", input: { n } }] };
    const begun = await expectStatus(server.ask("POST", "/v1/sessions", { body: { id } }), 201);
    const ran = await expectStatus(server.ask("POST", `${path}/execute`, { body: call }), 200);
    const tried = await expectStatus(server.ask("POST", `${path}/simulate`, { body: call }), 200);
    const forked = await expectStatus(server.ask("POST", `${path}/fork`, { body: { id: `${id}-branch` } }), 201);
    const branch = await expectStatus(server.ask("POST", `/v1/sessions/${id}-branch/execute`, { body: call }), 200);
    const committed = await expectStatus(server.ask("POST", `/v1/sessions/${id}-branch/commit`, { body: {} }), 200);
    const events = await expectStatus(server.ask("GET", `${path}/events`), 200);
    const odd = await expectStatus(server.call("nothing"), 200);
    const bad = await expectStatus(server.ask("POST", EXECUTE, { raw: "{" }), 400);
    const deleted = await expectStatus(server.ask("DELETE", path), 200, 204);
    return [begun, ran, tried, forked, branch, committed, events, odd, bad, deleted];
  };
  const REQUESTS_OF_A_LIFE = 10;
  const play = async (forS: number): Promise<readonly Answer[]> => {
    const lives: Promise<readonly Answer[]>[] = [];
    const begin = performance.now();
    for (let now = 0; now < forS * 1_000; now = performance.now() - begin) {
      while (lives.length < (now / 1_000) * (perSecond / REQUESTS_OF_A_LIFE)) lives.push(life());
      await wait(5);
    }
    return (await Promise.all(lives)).flat();
  };
  const p99 = (answers: readonly Answer[]): number =>
    percentile(
      answers.map(({ ms }) => ms),
      0.99,
    );
  const first = await play(seconds / 10);
  const early = await server.use();
  let middle = 0;
  for (let part = 0; part < 8; part++) middle += (await play(seconds / 10)).length;
  const last = await play(seconds / 10);
  return {
    requests: first.length + middle + last.length,
    wrong,
    uses: [early, await server.use()],
    p99Ms: [p99(first), p99(last)],
  };
}

const SCENARIOS: Readonly<Record<string, (server: LoadedServer, seconds: number | undefined) => Promise<boolean>>> = {
  async overload(server, seconds = 60) {
    const { phases, ran } = await overload(server, seconds);
    console.table(phases);
    const accepted = phases.reduce((sum, phase) => sum + phase.accepted, 0);
    console.log(`${accepted} answers say that a call ran, ${ran} calls ran`);
    return accepted === ran && phases.every(({ other, refusedWithoutWait }) => other + refusedWithoutWait === 0);
  },
  async guard(server, seconds = 30) {
    const {
      wrong,
      loopMs,
      slowest,
      othersFailed,
      othersP99Ms: [alone, beside],
    } = await guard(server, seconds);
    console.log(`the event loop was kept for ${loopMs.toFixed(0)} ms at most (${slowest})`);
    console.log(`calls of others: p99 ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside; ${othersFailed} failed`);
    for (const line of wrong) console.log(`not refused: ${line}`);
    return wrong.length + othersFailed === 0;
  },
  async hostile(server, seconds) {
    const { requests, perSecond, p99Ms, wrong, grownMb } = await hostile(server, seconds === undefined ? 100_000 : seconds * 2_000);
    console.log(
      `${requests} requests, ${perSecond}/s, p99 ${p99Ms.toFixed(1)} ms, ${grownMb.toFixed(0)} MB more, ${wrong.length} answered wrongly`,
    );
    for (const line of wrong.slice(0, 10)) console.log(line);
    return wrong.length === 0;
  },
  async soak(server, seconds = 1_200) {
    const {
      requests,
      wrong,
      uses,
      p99Ms: [first, last],
    } = await soak(server, seconds);
    console.table(uses);
    console.log(
      `${requests} requests, p99 ${first.toFixed(1)} ms at first, ${last.toFixed(1)} ms at last, ${wrong.length} answered wrongly`,
    );
    for (const line of wrong.slice(0, 10)) console.log(line);
    return wrong.length === 0;
  },
};

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { seconds: { type: "string" } } });
  const [name = "", folder = ""] = positionals;
  if (name === "serve") return serve(folder);
  const scenario = SCENARIOS[name];
  if (scenario === undefined) {
    console.error(`There is no scenario ${JSON.stringify(name)}. Say which: ${Object.keys(SCENARIOS).join(", ")}.`);
    process.exitCode = 2;
    return;
  }
  const server = await LoadedServer.start(name === "hostile" ? 64 : 512);
  try {
    if (!(await scenario(server, values.seconds === undefined ? undefined : Number(values.seconds)))) process.exitCode = 1;
  } finally {
    await server.stop();
  }
}

if (import.meta.main) await main();
