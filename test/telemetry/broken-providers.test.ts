/** Providers, propagators and spans of a program that throw: everything ends as it does without them. */
import { ROOT_CONTEXT, context, diag, metrics, propagation, trace, type ContextManager, type Span } from "@opentelemetry/api";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { createLoop } from "../../src/compose/loop.ts";
import { restEngine } from "../../src/engine/rest.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { telemetry } from "../../src/telemetry/telemetry.ts";
import { ONE_GET } from "../engine/rest/open-engine.ts";
import { headerServer } from "./header-server.ts";

const OBJECT = { type: "object" } as const;
const echo = defineTool({
  name: "echo",
  description: "Says it again.",
  inputSchema: OBJECT,
  effects: { reads: [] },
  execute: () => "hello",
});

const throwing = (): never => {
  throw new Error("It throws.");
};

afterEach(() => {
  for (const api of [trace, metrics, propagation, context, diag]) api.disable();
});

/** A span of which these methods throw. */
function spanThrowing(...names: readonly (keyof Span)[]): Span {
  const span = trace.wrapSpanContext({ traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 });
  return Object.assign(span, Object.fromEntries(names.map((name) => [name, throwing])));
}

function providerOf(span: Span): { getTracer(): never } {
  return { getTracer: () => ({ startSpan: () => span, startActiveSpan: () => ROOT_CONTEXT }) as never };
}

test.each([
  ["tracers that is given", { tracerProvider: { getTracer: throwing } }],
  ["meters that is given", { meterProvider: { getMeter: throwing } }],
  ["meters without instruments", { meterProvider: { getMeter: () => ({ createHistogram: throwing }) as never } }],
])("a provider of %s and throws does not fail calls", async (_title, options) => {
  const runtime = createRuntime({ tools: [echo] });
  const end = telemetry(runtime, options);
  expect((await runtime.execute({ name: "echo", input: {} })).status).toBe("ok");
  end();
  await runtime.close();
});

/** A request that comes with headers of a trace. */
function continued(runtime: Runtime): unknown {
  return runtime.tracing?.continueTrace(
    () => "sent",
    () => "done",
  );
}

test("a provider that is registered later and throws does not fail calls or requests", async () => {
  const runtime = createRuntime({ tools: [echo] });
  telemetry(runtime);
  trace.setGlobalTracerProvider({ getTracer: throwing });
  metrics.setGlobalMeterProvider({ getMeter: throwing });
  const result = await runtime.tracing?.continueTrace(
    () => "sent",
    () => runtime.execute({ name: "echo", input: {} }),
  );
  expect(result?.status).toBe("ok");
  await runtime.close();
});

test.each(["fields", "extract", "inject"] as const)("a propagator whose %s throws does not fail requests", async (broken) => {
  const propagator = { fields: () => ["traceparent"], extract: () => ROOT_CONTEXT, inject: () => {} };
  propagation.setGlobalPropagator({ ...propagator, [broken]: throwing });
  const runtime = createRuntime({ tools: [echo] });
  telemetry(runtime, { tracerProvider: providerOf(spanThrowing()) });
  const read = (): string => "sent";
  expect(runtime.tracing?.continueTrace(read, () => "done")).toBe("done");
  expect(runtime.tracing?.headersOf("call")).toBeUndefined();
  await runtime.close();
});

test("propagator fields that are invalid in HTTP are dropped", async () => {
  const { url: baseUrl, headers } = await headerServer();
  propagation.setGlobalPropagator({
    fields: () => ["own"],
    extract: () => ROOT_CONTEXT,
    inject: (_context, carrier) =>
      void Object.assign(carrier as object, { own: "1", "a b": "1", line: "1\n2", none: undefined, host: "other" }),
  });
  const runtime = createRuntime({
    toolsets: [{ name: "out", engine: restEngine({ document: ONE_GET, baseUrl }) }],
    approval: { never: ["*"] },
  });
  await runtime.open();
  telemetry(runtime, { tracerProvider: providerOf(spanThrowing()) });
  const [tool] = runtime.registry.list().filter(({ toolset }) => toolset.name === "out");
  expect((await runtime.execute({ name: tool?.qualifiedName ?? "", input: {} })).status).toBe("ok");
  expect(headers[0]).toMatchObject({ own: "1", host: baseUrl.slice("http://".length) });
  expect(Object.keys(headers[0] ?? {})).not.toContain("line");
  await runtime.close();
});

test("a server's span that throws does not fail requests", async () => {
  propagation.setGlobalPropagator({ fields: () => ["own"], extract: () => ROOT_CONTEXT, inject: () => {} });
  const runtime = createRuntime({ tools: [echo] });
  telemetry(runtime, { tracerProvider: providerOf(spanThrowing()) });
  const active = vi.spyOn(trace, "getSpan").mockReturnValue(spanThrowing("spanContext"));
  onTestFinished(() => active.mockRestore());
  expect(continued(runtime)).toBe("done");
  await runtime.close();
});

test.each(["addEvent", "end"] as const)(
  "a span whose %s throws prevents neither the hand-over of its call nor the end of telemetry",
  async (broken) => {
    const work = defineTool({
      name: "work",
      description: "Works.",
      inputSchema: OBJECT,
      effects: { reads: [] },
      mode: "background",
      execute: (_input, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    });
    const runtime = createRuntime({ tools: [work], store: memoryStore() });
    const silenced = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => silenced.mockRestore());
    const end = telemetry(runtime, { tracerProvider: providerOf(spanThrowing(broken)) });
    const jobs = await Promise.all(["trip", "other"].map((id) => runtime.session(id).submit({ name: "work" })));
    for (const { id } of jobs) while (runtime.jobs.get(id)?.state !== "running") await new Promise((resolve) => setImmediate(resolve));
    await runtime.sessions.handOver("trip");
    expect(runtime.jobs.get(jobs[0]?.id ?? "")?.state).not.toBe("failed");
    expect(end).not.toThrow();
    await runtime.close();
  },
);

test.each(["setAttribute", "setAttributes", "setStatus"] as const)("a span whose %s throws is ended", async (broken) => {
  const span = spanThrowing(broken);
  const end = vi.spyOn(Object.assign(span, { isRecording: () => true }), "end");
  const runtime = createRuntime({ tools: [defineTool({ ...echo, execute: throwing })] });
  onTestFinished(async () => void (await runtime.close()));
  telemetry(runtime, { recordInputs: true, recordOutputs: true, tracerProvider: providerOf(span) });
  expect((await runtime.execute({ name: "echo", input: {} })).error?.code).toBe("execution_failed");
  expect(end).toHaveBeenCalledOnce();
});

test("a provider of another version of the API is warned about once, even if it is registered later", async () => {
  const warned: string[] = [];
  const runtime = createRuntime({ tools: [echo], ports: { log: { debug: () => {}, warn: (message) => void warned.push(message) } } });
  telemetry(runtime);
  expect(warned).toEqual([]);
  const registered = Symbol.for("opentelemetry.js.api.1");
  const before: unknown = Reflect.get(globalThis, registered);
  onTestFinished(() => void Reflect.set(globalThis, registered, before));
  Reflect.set(globalThis, registered, { version: "1.0.0", trace: { getTracer: throwing } });
  for (let call = 0; call < 2; call += 1) expect((await runtime.execute({ name: "echo", input: {} })).status).toBe("ok");
  expect(warned).toEqual([expect.stringContaining("version 1.0.0 of @opentelemetry/api")]);
  await runtime.close();
});

test("a provider of the same version of the API causes no warning", async () => {
  const warned: string[] = [];
  trace.setGlobalTracerProvider(providerOf(spanThrowing()));
  const runtime = createRuntime({ tools: [echo], ports: { log: { debug: () => {}, warn: (message) => void warned.push(message) } } });
  telemetry(runtime);
  await runtime.execute({ name: "echo", input: {} });
  expect(warned).toEqual([]);
  await runtime.close();
});

const WITH = {
  "that throws before the work": throwing,
  "that throws after the work": (work: () => unknown) => {
    work();
    throwing();
  },
  "that does not do the work": () => {},
  "that does the work twice": (work: () => unknown) => [work(), work()],
  "that does the work later as well": (work: () => unknown) => queueMicrotask(work),
};

function managerOf(broken: object): ContextManager {
  const manager: ContextManager = {
    active: () => ROOT_CONTEXT,
    with: (_context, work, owner, ...given) => work.call(owner, ...given),
    bind: (_context, bound) => bound,
    enable: () => manager,
    disable: () => manager,
  };
  return Object.assign(manager, broken);
}

const MANAGERS: readonly (readonly [string, object])[] = [
  ...Object.entries(WITH).map(([of, run]) => [of, { with: (_context: unknown, work: () => unknown) => run(work) }] as const),
  ["whose active context throws", { active: throwing }],
  [
    "that does the work later, where its active context throws",
    { active: throwing, with: (_: unknown, work: () => void) => queueMicrotask(work) },
  ],
  ["whose active context is a text", { active: () => "none" }],
  ["whose active context can do nothing", { active: () => ({}) }],
  ["whose active context throws where it is read", { active: () => ({ getValue: throwing, setValue: throwing }) }],
  ["whose active context throws where it is continued", { active: () => ({ getValue: () => undefined, setValue: throwing }) }],
];

test.each(MANAGERS)(
  "a context manager %s does not fail runs, and a handler runs once, even if the handler itself throws",
  async (_of, broken) => {
    expect(context.setGlobalContextManager(managerOf(broken))).toBe(true);
    const ran: string[] = [];
    const throws = defineTool({
      name: "throws",
      description: "Throws at once.",
      inputSchema: OBJECT,
      effects: { reads: [] },
      execute: (): never => {
        ran.push("throws");
        throw new TypeError("The fault of the handler.");
      },
    });
    const says = defineTool({
      name: "says",
      description: "Says it.",
      inputSchema: OBJECT,
      execute: (_input, { traceHeaders }) => void ran.push("says", String(traceHeaders)),
    });
    const runtime = createRuntime({ tools: [throws, says], approval: { never: ["*"] } });
    telemetry(runtime, { tracerProvider: providerOf(spanThrowing()) });
    const model = scriptedModel([
      {
        calls: [
          { name: "throws", input: {} },
          { name: "says", input: {} },
        ],
      },
      { text: "Done." },
    ]);
    const { reason, text, results } = await createLoop({ model, session: runtime.session("trip") }).run("Begin.");
    await new Promise((resolve) => setImmediate(resolve));
    expect({ reason, text, ran }).toEqual({ reason: "answered", text: "Done.", ran: ["throws", "says", "undefined"] });
    expect(results.map(({ status, error, attempts }) => [status, error?.message, attempts])).toEqual([
      ["error", expect.stringContaining("The fault of the handler."), 1],
      ["ok", undefined, 1],
    ]);
    expect(continued(runtime)).toBe("done");
    await runtime.close();
  },
);

test("an OpenTelemetry diagnostic logger that throws while reporting another error does not fail calls", async () => {
  const quiet = (): void => {};
  diag.setLogger({ error: throwing, warn: quiet, info: quiet, debug: quiet, verbose: quiet });
  const runtime = createRuntime({ tools: [echo] });
  telemetry(runtime, { tracerProvider: { getTracer: throwing } });
  expect((await runtime.execute({ name: "echo", input: {} })).status).toBe("ok");
  await runtime.close();
});
