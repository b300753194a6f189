/** Sessions that clients end in every way while calls run in them or wait for a person, over HTTP and a store that answers late. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { RuntimeEvent } from "../../../src/core/event.ts";
import { inCI } from "../../ci.ts";
import { gate } from "../../runtime/bench-runtime.ts";
import { numbersOf, slowed, turns } from "../../runtime/session/slow-store.ts";
import { startApi, type Answered, type ApiServer } from "./api-server.ts";

const step = fc.record({
  what: fc.constantFrom("execute", "execute", "execute", "fork", "fork", "commit", "discard", "discard", "delete", "answer"),
  on: fc.nat(2),
  tools: fc.array(fc.constantFrom("add", "list", "wait", "erase"), { minLength: 1, maxLength: 3 }),
  /** How many turns of the event loop come before the next step. */
  pause: fc.constantFrom(0, 1, 5, 20, 60, 120),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const race = fc.record({ seed: fc.nat(1_000_000), steps: fc.array(step, { minLength: 4, maxLength: 14, size: "max" }) });

interface Asked {
  readonly names: readonly string[];
  readonly answer: Promise<Answered>;
}

class Clients {
  readonly asked: Asked[] = [];
  readonly others: Promise<Answered>[] = [];
  readonly begun = new Set<string>();
  readonly #api: ApiServer;
  #count = 0;

  constructor(api: ApiServer) {
    this.#api = api;
    api.runtime.subscribe((event: RuntimeEvent) => {
      if (event.type === "call-start") this.begun.add(JSON.stringify(event.call.input));
    });
  }

  /** The sessions are the one that began first, and two branches; a later fork begins one again that has ended. */
  take({ what, on, tools }: Step): void {
    const id = ["desk", "left", "right"][on] ?? "desk";
    const branch = on === 2 ? "right" : "left";
    const { others } = this;
    const ask = this.#api.ask.bind(this.#api);
    if (what === "execute") this.#execute(id, tools);
    else if (what === "fork") others.push(ask("POST", "/v1/sessions/desk/fork", { body: { id: branch } }));
    else if (what === "delete") others.push(ask("DELETE", `/v1/sessions/${branch}`));
    else if (what === "answer") others.push(this.answerAll().then(() => ask("GET", "/v1/approvals")));
    else others.push(ask("POST", `/v1/sessions/${branch}/${what}`));
  }

  #execute(id: string, tools: readonly string[]): void {
    const calls = tools.map((tool) => {
      const text = `n${this.#count++}`;
      return { name: `notes::${tool}`, input: tool === "add" ? { text } : { note: text } };
    });
    const answer = this.#api.ask("POST", `/v1/sessions/${id}/execute`, { body: { calls } });
    this.asked.push({ names: calls.map(({ input }) => JSON.stringify(input)), answer });
  }

  async answerAll(): Promise<void> {
    const { approvals } = this.#api.runtime;
    for (const { id, digest } of await approvals.pending()) await approvals.answer({ id, digest, answer: "allow-once" });
  }

  async check(): Promise<void> {
    for (const { status, text } of await Promise.all(this.others)) expect([200, 201, 204, 400, 404, 409, 503], text).toContain(status);
    for (const { names, answer } of this.asked) {
      const { status, json, text } = await answer;
      if (status === 200) expect(json.results, text).toHaveLength(names.length);
      else
        expect([[400, 404, 409].includes(status), names.filter((name) => this.begun.has(name))], `${status} ${text}`).toEqual([true, []]);
    }
  }
}

async function play({ seed, steps }: { readonly seed: number; readonly steps: readonly Step[] }): Promise<void> {
  const api = await startApi();
  if (api.runtime.store !== undefined) slowed(api.runtime.store, numbersOf(seed));
  const clients = new Clients(api);
  for (const one of steps) {
    clients.take(one);
    await turns(one.pause);
  }
  api.gate.open();
  let over = false;
  const checked = clients.check().finally(() => (over = true));
  while (!over) {
    await clients.answerAll();
    await turns(5);
  }
  await checked;
  await api.server.close();
  await api.runtime.close();
}

test("every call returns one result to its client, however its session ends meanwhile", async () => {
  await fc.assert(fc.asyncProperty(race, play), { numRuns: inCI ? 25 : 5, endOnFailure: true, interruptAfterTimeLimit: 90_000 });
}, 180_000);

test.each(["discard", "delete"] as const)(
  "a call gets a cancelled result when its session ends while its question is being stored: %s",
  async (way) => {
    const api = await startApi();
    const { approvals } = api.runtime.store ?? expect.fail("no store");
    await api.ask("POST", "/v1/sessions/desk/fork", { body: { id: "branch" } });
    const log = api.runtime.sessions.get("branch")?.eventLog ?? expect.fail("no branch");
    const kept = gate();
    const held = gate();
    const { put } = approvals;
    const { whenDurable } = log;
    Object.assign(approvals, {
      async put(...asked: Parameters<typeof put>) {
        const answer = await put.apply(approvals, asked);
        Object.assign(log, { whenDurable: () => held.promise.then(() => whenDurable.call(log)) }); // the event of the question is on its way
        kept.open();
        return answer;
      },
    });
    const asked = api.ask("POST", "/v1/sessions/branch/execute", { body: { calls: [{ name: "notes::erase" }] } });
    await kept.promise;
    await turns(5);
    const ended = way === "discard" ? api.ask("POST", "/v1/sessions/branch/discard") : api.ask("DELETE", "/v1/sessions/branch");
    await expect.poll(() => api.runtime.running, { timeout: 30_000 }).toEqual([]);
    await turns(20);
    held.open();
    expect((await ended).status).toBe(204);
    expect(await asked).toMatchObject({ status: 200, json: { results: [{ status: "cancelled" }] } });
    await expect.poll(() => api.runtime.approvals.pending()).toEqual([]);
  },
);
