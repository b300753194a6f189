/** Calls that a later process continues are linked to the trace in which they began. */
import { trace } from "@opentelemetry/api";
import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import type { Store } from "../../src/core/store/store.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import type { ReceivedSpan } from "./otlp-receiver.ts";
import { untraced } from "./untraced.ts";
import { withTelemetry } from "./with-telemetry.ts";

const OBJECT = { type: "object" } as const;

/** Whether the process is the first one, whose calls never end. */
interface Process {
  isFirst: boolean;
  readonly begun: PromiseWithResolvers<void>;
}

const EFFECTS = { "reads only": { reads: ["disk"] }, "is idempotent": { writes: ["disk"], idempotent: true } } as const;

function work(process: Process, options: object) {
  return defineTool({
    name: "work",
    description: "Works.",
    inputSchema: OBJECT,
    execute: () => {
      process.begun.resolve();
      return process.isFirst ? new Promise(() => {}) : "done";
    },
    ...options,
  });
}

/** Makes a call within a span, in a process that does not end it; a second process resumes the session. */
async function resumed(
  optionsOf: (process: Process, store: Store) => RuntimeOptions,
  begin: (runtime: Runtime, process: Process) => Promise<unknown>,
): Promise<{ readonly spans: readonly ReceivedSpan[]; readonly log: readonly SessionEvent[] }> {
  const log: SessionEvent[] = [];
  const { spans } = await withTelemetry(async () => {
    const store = memoryStore();
    const process: Process = { isFirst: true, begun: Promise.withResolvers<void>() };
    const first = createRuntime({ ...optionsOf(process, store), store });
    telemetry(first);
    await trace.getTracer("own").startActiveSpan("request", async (span) => {
      begin(first, process).catch(() => {}); // its session is taken over
      await process.begun.promise;
      span.end();
    });
    process.isFirst = false;
    const second = createRuntime({ ...optionsOf(process, store), store });
    telemetry(second);
    const session = await second.resume("trip", { takeOver: true });
    await Promise.all(second.jobs.list().map(({ id }) => second.jobs.wait(id)));
    log.push(...session.log);
    await second.close();
  });
  return { spans, log };
}

function linksOf(spans: readonly ReceivedSpan[], name: string): unknown {
  return spans.filter((span) => span.name === name).map(({ links }) => links.map(({ traceId, spanId }) => [traceId, spanId]));
}

test.each(Object.entries(EFFECTS))(
  "a call that %s and is run again is linked to the span in which it was made",
  async (_title, effects) => {
    const { spans, log } = await resumed(
      (process) => ({ tools: [work(process, { effects })], approval: { never: ["*"] } }),
      (runtime) => runtime.session("trip").execute({ name: "work", input: {} }),
    );
    const request = spans.find(({ name }) => name === "request");
    expect(linksOf(spans, "execute_tool work")).toEqual([[[request?.traceId, request?.spanId]]]);
    expect(log.filter(({ type }) => type === "call-end")).toEqual([
      expect.objectContaining({ result: expect.objectContaining({ status: "ok" }) }),
    ]);
  },
);

test("a call that waited for approval is linked to the span in which it was made", async () => {
  const { spans } = await resumed(
    (process) => ({
      tools: [work(process, { effects: { writes: ["disk"] } })],
      approval: {
        always: ["*"],
        approve: () => {
          process.begun.resolve();
          return process.isFirst ? new Promise<never>(() => {}) : "allow-once";
        },
      },
    }),
    (runtime) => runtime.session("trip").execute({ name: "work", input: {} }),
  );
  const request = spans.find(({ name }) => name === "request");
  expect(linksOf(spans, "execute_tool work")).toEqual([[[request?.traceId, request?.spanId]]]);
});

test("a call that a handler made is linked to the call around it, which the crash has ended", async () => {
  const { spans, log } = await resumed(
    (process) => ({
      tools: [
        work(process, { effects: { reads: ["disk"] } }),
        defineTool({
          name: "outer",
          description: "Calls another tool.",
          inputSchema: OBJECT,
          composite: true,
          mode: "background",
          execute: (_input, { execute }) => execute({ name: "work", input: {} }),
        }),
      ],
    }),
    (runtime) => runtime.session("trip").submit({ name: "outer" }),
  );
  const started = log.filter((event) => event.type === "call-start" || event.type === "job-start");
  const [ofCall, ofJob, ofInner] = started.map(({ traceparent }) => idOf(traceparent));
  const request = spans.find(({ name }) => name === "request");
  expect(ofCall).toEqual([request?.traceId, request?.spanId]);
  expect(ofInner).toEqual(ofJob); // the span of the job in the first process, which was never sent
  expect(linksOf(spans, "execute_tool outer")).toEqual([[ofJob]]);
  expect(linksOf(spans, "execute_tool work")).toEqual([[ofJob]]);
});

test("a resumed call that was not traced has no link, and neither has one with a damaged header", async () => {
  for (const traceparent of [undefined, "nonsense", "00-00000000000000000000000000000000-0000000000000000-01"]) {
    const { spans } = await withTelemetry(async () => {
      const store = memoryStore();
      const process: Process = { isFirst: true, begun: Promise.withResolvers<void>() };
      const options = { tools: [work(process, { effects: { reads: ["disk"] } })], store };
      const first = createRuntime(options);
      if (traceparent !== undefined) first.trace({ ...untraced, headersOf: () => ({ traceparent }) });
      first
        .session("trip")
        .execute({ name: "work", input: {} })
        .catch(() => {}); // its session is taken over
      await process.begun.promise;
      process.isFirst = false;
      const second = createRuntime(options);
      telemetry(second);
      await second.resume("trip", { takeOver: true });
      await second.close();
    });
    expect(linksOf(spans, "execute_tool work")).toEqual([[]]);
  }
});

/** The ids of trace and span. */
function idOf(traceparent = ""): readonly string[] {
  return traceparent.split("-").slice(1, 3);
}
