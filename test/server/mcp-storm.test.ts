/** Clients over stdio that call, cancel, answer and go away between any two steps: what must hold however they behave. */
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RuntimeEvent } from "../../src/core/event.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { serveMcpStdio, type McpStdioServer } from "../../src/server/mcp.ts";
import { mcpApprover } from "../../src/server/mcp/approver.ts";
import { FakeClock, MemoryLog, settle } from "../../src/testing/fake-ports.ts";
import { repeated } from "../ci.ts";

const NAMES = ["nap", "deaf", "note", "ask", "burn"] as const;
const command = fc.record({
  what: fc.constantFrom("call", "call", "call", "cancel", "answer", "answer again", "garbage"),
  name: fc.constantFrom(...NAMES),
  at: fc.nat(30),
  ms: fc.constantFrom(0, 0, 1, 3),
  settles: fc.boolean(),
});
const storm = fc.record({
  isModern: fc.boolean(),
  commands: fc.array(command, { minLength: 3, maxLength: 25, size: "max" }),
  end: fc.constantFrom("hang up", "close", "break off"),
  graceMs: fc.constantFrom(0, 5),
});
type Storm = typeof storm extends fc.Arbitrary<infer T> ? T : never;
type Command = Storm["commands"][number];

const META = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
const ACCEPT = { action: "accept", content: { allow: true } };

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly resultType?: string; readonly requestState?: string; readonly inputRequests?: object };
}

class Weather {
  readonly clock = new FakeClock();
  readonly #log = new MemoryLog();
  readonly #input = new PassThrough();
  readonly #output = new PassThrough();
  readonly #isModern: boolean;
  /** What was called, by request. */
  readonly #called: string[] = [];
  readonly #questions: Message[] = [];
  #unread = "";
  readonly ends = new Map<string, number>();
  readonly answered = new Map<number, number>();
  readonly runtime: Runtime;

  constructor(isModern: boolean) {
    this.#isModern = isModern;
    this.runtime = createRuntime({
      tools: this.#tools(),
      approval: { approve: mcpApprover },
      onEvent: (event) => this.#count(event),
      ports: { clock: this.clock, log: this.#log },
    });
    this.#output.setEncoding("utf8").on("data", (text: string) => this.#read(text));
  }

  async serve(graceMs: number): Promise<McpStdioServer> {
    await this.runtime.open();
    const ports = { clock: this.clock, log: this.#log };
    const server = await serveMcpStdio(this.runtime, { input: this.#input, output: this.#output, graceMs, suspendedTtlMs: 50, ports });
    if (this.#isModern) return server;
    const params = { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name: "x", version: "1" } };
    this.#send({ id: "hello", method: "initialize", params });
    this.#send({ method: "notifications/initialized" });
    return server;
  }

  async go({ what, name, at, ms, settles }: Command): Promise<void> {
    const question = this.#questions[at % (this.#questions.length || 1)];
    if (what === "call") this.#call(name, {});
    if (what === "garbage") this.#input.write('{"jsonrpc":"2.0","id":\n[]\n');
    if (what === "cancel") {
      for (let twice = 0; twice < 2; twice++) this.#send({ method: "notifications/cancelled", params: { requestId: at } });
    } else if (question !== undefined && (what === "answer" || what === "answer again")) {
      this.#answer(question, at % 5 === 0 ? 7 : ACCEPT);
      if (what === "answer") this.#questions.splice(this.#questions.indexOf(question), 1);
    }
    if (settles) await settle();
    if (ms > 0) await this.clock.advance(ms);
  }

  leave(server: McpStdioServer, end: Storm["end"]): void {
    if (end === "hang up") this.#input.end();
    else if (end === "close") void server.close();
    else this.#input.destroy();
  }

  #answer({ id = 0, method, result }: Message, answer: unknown): void {
    if (method !== undefined) return this.#send({ id, result: answer });
    const inputResponses = Object.fromEntries(Object.keys(result?.inputRequests ?? {}).map((key) => [key, answer]));
    this.#call(this.#called[id] ?? "", { requestState: result?.requestState, inputResponses });
  }

  #call(name: string, more: object): void {
    const id = this.#called.push(name) - 1;
    this.#send({ id, method: "tools/call", params: { name, arguments: {}, ...more, ...(this.#isModern ? { _meta: META } : {}) } });
  }

  #send(message: object): void {
    if (!this.#input.destroyed) this.#input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #read(text: string): void {
    const lines = `${this.#unread}${text}`.split("\n");
    this.#unread = lines.pop() ?? "";
    for (const line of lines) {
      const message: Message = JSON.parse(line);
      if (message.method === "elicitation/create" || message.result?.resultType === "input_required") this.#questions.push(message);
      // An answer with id null is one to garbage.
      if (message.method === undefined && typeof message.id === "number")
        this.answered.set(message.id, (this.answered.get(message.id) ?? 0) + 1);
    }
  }

  #count(event: RuntimeEvent): void {
    if (event.type === "call-start") this.ends.set(event.callId, 0);
    if (event.type !== "call-end") return;
    this.ends.set(event.callId, (this.ends.get(event.callId) ?? Number.NaN) + 1);
    seen.add(`${event.result.name} ${event.result.status}`);
  }

  #tools(): readonly Tool[] {
    const tool = (name: (typeof NAMES)[number], more: Partial<Tool>): Tool => ({
      name,
      description: "d",
      inputSchema: true,
      effects: { reads: [], writes: [] },
      timeoutMs: 0,
      ...more,
    });
    return [
      tool("nap", { execute: () => new Promise((resolve) => void this.clock.timer(() => resolve("up"), 2)) }),
      tool("deaf", { execute: () => new Promise(() => {}) }),
      tool("note", {
        effects: { writes: ["session:notes"] },
        execute: async (_, { state }) => {
          await new Promise<void>((resolve) => void this.clock.timer(resolve, 1));
          state.update("notes", (count) => Number(count ?? 0) + 1);
        },
      }),
      tool("ask", { effects: { writes: ["desk"] }, execute: async (_, { ask }) => (await ask({ message: "?" })).action }),
      tool("burn", { effects: { writes: ["desk"], destructive: true }, execute: () => "burnt" }),
    ];
  }
}

/** What calls came to. */
const seen = new Set<string>();

async function check({ isModern, commands, end, graceMs }: Storm): Promise<void> {
  const weather = new Weather(isModern);
  const server = await weather.serve(graceMs);
  for (const one of commands) await weather.go(one);
  weather.leave(server, end);
  let isClosed = false;
  void server.closed.then(() => (isClosed = true));
  const stepMs = end === "hang up" ? 1_000 : 50; // what runs is then answered for a minute
  for (let step = 0; step < 100 && !isClosed; step++) await weather.clock.advance(stepMs);
  expect([isClosed, weather.runtime.running]).toEqual([true, []]);
  expect([...weather.ends.values()].filter((count) => count !== 1)).toEqual([]);
  expect([...weather.answered.values()].filter((count) => count !== 1)).toEqual([]);
  await weather.clock.advance(60_000); // the locks of what goes on are let go
  await weather.runtime.close();
  expect(weather.clock.pending).toBe(0);
}

test(
  "F0.36 E15 however a client calls, cancels, answers and disconnects, every call has one result and nothing is left",
  { timeout: 240_000 },
  async () => {
    await fc.assert(fc.asyncProperty(storm, check), { seed: 4, numRuns: repeated(150) });
    // Less would be too tame to prove anything.
    const both = ["ask", "burn", "nap", "note"].flatMap((name) => [`default::${name} cancelled`, `default::${name} ok`]);
    expect([...seen].sort()).toEqual([...both, "default::burn error", "default::deaf cancelled"].sort());
  },
);
