/** The contract of every model, as cases for any test runner. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { FINISH_REASONS, endedWell, type ModelCall, type ModelEvent, type ModelReply } from "../core/model.ts";
import { modelCase, assertFails, getReply, toComparableReply, type ModelBench, type ModelCase } from "./model-case.ts";

const replyCases: readonly ModelCase[] = [
  modelCase("the last event is the end of the reply, and there is no other", async (bench) => {
    for (const events of await collectAllEvents(bench)) {
      getReply(events);
      equal(events.filter(({ type }) => type === "reply-end").length, 1);
    }
  }),
  modelCase("pieces of text and of reasoning, where there are any, are those of the reply", async (bench) => {
    for (const events of await collectAllEvents(bench)) {
      const { text, reasoning } = getReply(events);
      const said = eventsSinceVoid(events);
      for (const [type, whole] of [
        ["text-delta", text],
        ["reasoning-delta", reasoning],
      ] as const) {
        const pieces = said.flatMap((event) => (event.type === type ? [event.text] : []));
        if (pieces.length > 0) equal(pieces.join(""), whole);
      }
    }
  }),
  modelCase("calls are sealed in order, each once and before the end, and are those of the reply", async (bench) => {
    for (const events of await collectAllEvents(bench)) checkCalls(eventsSinceVoid(events), getReply(events));
  }),
  modelCase("a reply says why it ended, and what it cost in tokens", async (bench) => {
    for (const events of await collectAllEvents(bench)) {
      const { finish, usage, calls } = getReply(events);
      ok(FINISH_REASONS.includes(finish), `${finish} is no reason`);
      ok(endedWell(finish) || calls.length === 0, `a reply that ended with ${finish} has calls to run`);
      for (const count of Object.values(usage)) ok(Number.isFinite(count) && count >= 0, `${String(count)} is not a count of tokens`);
      for (const name of ["inputTokens", "outputTokens"] as const) equal(typeof usage[name], "number", name);
    }
  }),
  modelCase("a request is left as it was", async (bench) => {
    const { model, requests } = bench.subject;
    const one = await model();
    for (const request of requests) {
      const before = JSON.stringify(request);
      await bench.events(one, request);
      equal(JSON.stringify(request), before);
    }
  }),
];

const streamCases: readonly ModelCase[] = [
  modelCase("two replies at once do not mix", async (bench) => {
    const { model, requests } = bench.subject;
    const alone = (await bench.replies(await model())).map(toComparableReply);
    const one = await model();
    const twice = [...requests, ...requests];
    const together = await Promise.all(twice.map(async (request) => toComparableReply(getReply(await bench.events(one, request)))));
    deepEqual(together, [...alone, ...alone]);
  }),
  modelCase("an abandoned reply does not affect other replies", async (bench) => {
    const { model } = bench.subject;
    const one = await model();
    const leave = async (): Promise<void> => {
      for await (const event of one.stream(bench.request)) if (event.type.length > 0) break;
    };
    await bench.withinPatience(leave(), "a reply is left");
    deepEqual((await bench.replies(one)).map(toComparableReply), (await bench.replies(await model())).map(toComparableReply));
  }),
  modelCase("a request whose signal aborts before it begins is cancelled, and sends no events", async (bench) => {
    const model = await bench.subject.model();
    const events: ModelEvent[] = [];
    const ask = async (): Promise<void> => {
      for await (const event of model.stream(bench.request, { signal: AbortSignal.abort() })) events.push(event);
    };
    await assertFails(bench.withinPatience(ask(), "the reply ends"), "cancelled");
    deepEqual(events, []);
  }),
  modelCase(
    "a reply that is aborted on the way is cancelled in time",
    async (bench) => {
      const model = await bench.subject.stalling?.();
      const controller = new AbortController();
      const stream = model?.stream(bench.request, { signal: controller.signal })[Symbol.asyncIterator]();
      ok(stream !== undefined);
      const first = await bench.withinPatience(stream.next(), "the reply begins");
      equal(first.done ?? false, false);
      const rest = async (): Promise<void> => {
        for (let next = await stream.next(); next.done !== true; next = await stream.next());
      };
      const ended = rest();
      controller.abort();
      await assertFails(bench.withinPatience(ended, "a reply that is aborted ends"), "cancelled");
    },
    ({ stalling }) => stalling !== undefined,
  ),
  modelCase(
    "a failure is thrown as a ToolError, in place of the end",
    async (bench) => {
      const model = await bench.subject.failing?.();
      ok(model !== undefined);
      const events: ModelEvent[] = [];
      const ask = async (): Promise<void> => {
        for await (const event of model.stream(bench.request)) events.push(event);
      };
      await assertFails(bench.withinPatience(ask(), "the reply ends"));
      equal(events.filter(({ type }) => type === "reply-end").length, 0);
    },
    ({ failing }) => failing !== undefined,
  ),
];

/** Sends the requests one after the other, and returns the events of each. */
async function collectAllEvents(bench: ModelBench): Promise<readonly (readonly ModelEvent[])[]> {
  const model = await bench.subject.model();
  const all: (readonly ModelEvent[])[] = [];
  for (const request of bench.subject.requests) all.push(await bench.events(model, request));
  return all;
}

/** Returns the events that were not voided. */
function eventsSinceVoid(events: readonly ModelEvent[]): readonly ModelEvent[] {
  return events.slice(events.findLastIndex(({ type }) => type === "reply-void") + 1);
}

function checkCalls(events: readonly ModelEvent[], { calls, finish }: ModelReply): void {
  const sealed: ModelCall[] = [];
  for (const event of events) {
    if (event.type === "call-seal") {
      equal(event.index, sealed.length, "calls are sealed in their order");
      sealed.push(event.call);
    } else if (event.type === "call-open" || event.type === "call-delta")
      ok(event.index >= sealed.length, `${event.type} of a call that is sealed`);
  }
  if (endedWell(finish)) deepEqual(sealed, calls);
}

/** The cases. Each needs a subject of its own; skip those that do not apply to it. */
export const modelContract: readonly ModelCase[] = [...replyCases, ...streamCases];
