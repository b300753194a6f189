/** Jobs begun, promoted, answered, cancelled and closed in any order: each call has one end, each job one more, and nothing is left behind. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { testRuntime } from "../bench-runtime.ts";
import { repeated } from "../../ci.ts";

type Step =
  | { readonly do: "submit" | "execute" | "talk"; readonly key: number }
  | { readonly do: "promote" | "cancel" | "answer" | "succeed" | "fail" | "read"; readonly which: number }
  | { readonly do: "pass" };

const which = fc.nat(7);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom("submit" as const, "execute" as const, "talk" as const), key: fc.nat(2) }),
  fc.record({ do: fc.constantFrom("promote", "cancel", "answer", "succeed", "fail", "read") as fc.Arbitrary<"promote">, which }),
  fc.constant({ do: "pass" as const }),
);

test("every call has one end, directly followed by one job-end if it is a job, whatever happens in any order", async () => {
  const seen = { promoted: 0, ok: 0, error: 0, cancelled: 0, asked: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), fc.integer({ min: 1, max: 4 }), async (steps, maxRunning) => {
      const { tools, handlers } = heldTools();
      const { runtime, events } = testRuntime({ tools, jobs: { maxRunning, maxQueued: 2 } });
      const session = runtime.session("s");
      const answers: Promise<unknown>[] = [];
      for (const one of steps) {
        if ("key" in one) {
          const call = { name: one.do === "talk" ? "talk" : "work", input: { key: one.key } };
          answers.push(
            (one.do === "submit" ? session.submit(call) : session.execute(call, { concurrent: true })).catch((thrown: unknown) => thrown),
          );
        } else if ("which" in one) act(one);
        await settle();
      }
      const jobs = runtime.jobs.list({ states: ["running", "queued", "waiting"] });
      expect(session.jobs.map(({ id }) => id).toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
      await runtime.close();
      await Promise.all(answers);
      expect(runtime.running).toEqual([]);
      expect(runtime.jobs.list({ states: ["running", "queued", "waiting"] })).toEqual([]);
      checkEnds(session.log);
      const ends = events.filter(({ type }) => type === "job-end");
      for (const event of events) {
        if (event.type === "job-end" && event.status in seen) seen[event.status as "ok"]++;
        if (event.type === "job-input") seen.asked++;
      }
      expect(ends).toHaveLength(events.filter(({ type }) => type === "job-start").length);
      const roles = session.messages({ maxTurns: 0 });
      const called = roles.filter(({ role }) => role === "call").length;
      expect(roles.filter(({ role }) => role === "result")).toHaveLength(called);

      function act({ do: action, which: place }: Extract<Step, { readonly which: number }>): void {
        const running = runtime.running[place % Math.max(1, runtime.running.length)]?.callId;
        const job = runtime.jobs.list()[place % Math.max(1, runtime.jobs.list().length)]?.id;
        if (action === "promote" && running !== undefined && runtime.jobs.promote(running)) seen.promoted++;
        if (action === "cancel" && job !== undefined) runtime.jobs.cancel(job);
        if (action === "read" && job !== undefined) expect(runtime.jobs.read(job).total).toBeGreaterThanOrEqual(0);
        if (action === "answer" && job !== undefined) attempt(() => runtime.jobs.send(job, place));
        const handler = handlers[place % Math.max(1, handlers.length)];
        if (action === "succeed") handler?.resolve(place);
        if (action === "fail") handler?.reject(new Error("no"));
      }
    }),
    { numRuns: repeated(300) },
  );
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(5);
});

/** A log that a session keeps: one end for each call, and that of a job right behind it. */
function checkEnds(log: readonly SessionEvent[]): void {
  const started = log.flatMap((event) => (event.type === "call-start" ? [event.callId] : []));
  const ended = log.flatMap((event) => (event.type === "call-end" ? [event.callId] : []));
  expect(ended.toSorted()).toEqual(started.toSorted());
  const jobs = log.flatMap((event) => (event.type === "job-start" ? [event.callId] : []));
  const over = log.flatMap((event, at) => {
    if (event.type !== "job-end") return [];
    expect(log[at - 1]).toMatchObject({ type: "call-end", callId: event.callId, result: { status: event.status } });
    return [event.callId];
  });
  expect(over.toSorted()).toEqual(jobs.toSorted());
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // it has ended, or takes no input
  }
}

function heldTools(): { readonly tools: readonly Tool[]; readonly handlers: PromiseWithResolvers<unknown>[] } {
  const handlers: PromiseWithResolvers<unknown>[] = [];
  const held = (signal: AbortSignal): Promise<unknown> => {
    const handler = Promise.withResolvers<unknown>();
    signal.addEventListener("abort", () => handler.reject(signal.reason));
    handlers.push(handler);
    return handler.promise;
  };
  const inputSchema = { type: "object", properties: { key: { type: "integer" } } } as const;
  const effects = { reads: [], writes: "place:{key}" };
  const work: Tool = { name: "work", description: "Works.", inputSchema, effects, execute: (_input: unknown, { signal }) => held(signal) };
  const talk: Tool = {
    name: "talk",
    description: "Talks.",
    inputSchema,
    effects,
    mode: "stateful",
    execute: async function* (_input: unknown, { signal, output }) {
      output("begun\n");
      const answer: unknown = yield "Go on?";
      await held(signal);
      return answer;
    },
  };
  return { tools: [work, talk], handlers };
}
