import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/json.ts";
import { ToolError } from "../../src/core/error.ts";
import type { JsonSchema, Reducer, Tool } from "../../src/core/tool.ts";
import { exampleEngine } from "../../src/engine/example.ts";
import type { ExampleEngineOptions } from "../../src/engine/example.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import type { Runtime } from "../../src/runtime/runtime.ts";

const text = { type: "string" };
const whole = { type: "integer" };
const ORDER = {
  type: "object",
  properties: { order_id: text, item: text, quantity: whole, status: text },
  required: ["order_id", "item", "quantity", "status"],
};

function tool(name: string, input: JsonObject, outputSchema?: JsonSchema, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: "",
    inputSchema: { type: "object", properties: input },
    ...(outputSchema !== undefined && { outputSchema }),
    ...more,
  };
}

const object = (properties: JsonObject): JsonSchema => ({ type: "object", properties, required: Object.keys(properties) });

const SHOP = [
  tool("create_order", { item: text, quantity: whole }, ORDER),
  tool("get_order", { order_id: text }, object({ order: ORDER })),
  tool("updateOrder", { orderId: text, quantity: whole }, object({ success: { type: "boolean" }, order: ORDER })),
  tool("cancel_order", { order_id: text }, object({ success: { type: "boolean" } })),
  tool("list_orders", { limit: whole, status: text }, object({ orders: { type: "array", items: ORDER }, total: whole })),
  tool("get_weather", { city: text }, object({ city: text, temperature: { type: "number" }, unit: { enum: ["C", "F"] } })),
  tool("search_hotels", { city: text, limit: whole }, { type: "array", items: object({ hotel_id: text, name: text, city: text }) }),
];

function runtimeOf(tools: readonly Tool[], options: ExampleEngineOptions = { seed: 1 }): Runtime {
  const runtime = createRuntime({ toolsets: [{ name: "shop", tools, engine: exampleEngine(options) }] });
  onTestFinished(async () => {
    await runtime.close();
  });
  return runtime;
}

type Caller = (name: string, input?: JsonObject) => Promise<Readonly<Record<string, JsonValue>>>;

/** A session's calls: their outputs, or `{error}` with the code. */
async function callerOf(tools: readonly Tool[] = SHOP, options: ExampleEngineOptions = { seed: 1 }): Promise<Caller> {
  const session = runtimeOf(tools, options).session();
  return callsOf(session);
}

function callsOf(session: ReturnType<Runtime["session"]>): Caller {
  return async (name, input = {}) => {
    const result = await session.execute({ name: `shop::${name}`, input });
    if (result.error !== undefined) return { error: result.error.code, message: result.error.message };
    expect([result.status, result.origin]).toEqual(["ok", "simulated"]);
    return Object(Reflect.get(result, "output"));
  };
}

describe("F0.40 an answer of the example engine", () => {
  test("fits the output schema and repeats what the call said", async () => {
    const call = await callerOf();
    expect(await call("get_weather", { city: "Rome" })).toEqual({
      city: "Rome",
      temperature: expect.any(Number),
      unit: expect.any(String),
    });
  });

  test("is the same for the same call in every session of one seed, and another for another seed or call", async () => {
    const answers = await Promise.all([1, 1, 2].map(async (seed) => (await callerOf(SHOP, { seed }))("get_weather", { city: "Rome" })));
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).not.toEqual(answers[2]);
    const call = await callerOf();
    expect((await call("get_weather", { city: "Oslo" }))["temperature"]).not.toBe(answers[0]?.["temperature"]);
  });

  test("of a tool without output schema is an object of the call with an id or a status, without its secrets", async () => {
    const call = await callerOf([tool("ping", {}), tool("create_note", { body: text, api_key: text }), tool("list_notes", {})]);
    expect(await call("ping")).toEqual({ status: "ok", message: expect.any(String) });
    expect(await call("create_note", { body: "milk", api_key: "k" })).toEqual({ id: expect.any(String), status: "created", body: "milk" });
    expect(await call("list_notes")).toMatchObject({ notes: [{ body: "milk" }, {}, {}], total: 3 });
  });

  test("has lists no longer than the call asks for", async () => {
    const call = await callerOf();
    expect(await call("search_hotels", { city: "Rome", limit: 1 })).toEqual([
      { hotel_id: expect.any(String), name: expect.any(String), city: "Rome" },
    ]);
    expect(await call("search_hotels", { city: "Oslo", limit: 0 })).toEqual([]);
  });

  test("is partial where no value fits the output schema, and an error where the schema is none", async () => {
    const tools = [
      tool("never", {}, { type: "object", properties: { a: false }, required: ["a"] }),
      tool("huge", {}, { type: "array", minItems: 1e9 }),
    ];
    const runtime = runtimeOf([...tools, tool("broken", {}, { type: 5 })]);
    const statuses = await Promise.all(
      ["never", "huge", "broken"].map(async (name) => (await runtime.execute({ name: `shop::${name}`, input: {} })).status),
    );
    expect(statuses).toEqual(["partial", "partial", "error"]);
  });
});

describe("F0.40 within a session", () => {
  test("what was created is read, listed, changed and removed again", async () => {
    const call = await callerOf();
    const made = await call("create_order", { item: "tea", quantity: 3 });
    const order_id = String(made["order_id"]);

    expect(made).toMatchObject({ item: "tea", quantity: 3 });
    expect(await call("get_order", { order_id })).toEqual({ order: made });
    expect(await call("list_orders")).toMatchObject({ orders: [made, {}, {}], total: 3 });
    expect(await call("updateOrder", { orderId: order_id, quantity: 9 })).toMatchObject({ order: { ...made, quantity: 9 } });
    expect(await call("get_order", { order_id })).toEqual({ order: { ...made, quantity: 9 } });
    expect(await call("list_orders")).toMatchObject({ orders: [{ ...made, quantity: 9 }, {}, {}], total: 3 });
    expect(Object.keys(await call("cancel_order", { order_id }))).toEqual(["success"]);
    expect(await call("get_order", { order_id })).toEqual({
      error: "not_found",
      message: expect.stringContaining("was removed earlier in this session"),
    });
    expect(await call("updateOrder", { orderId: order_id, quantity: 1 })).toMatchObject({ error: "not_found" });
    expect(await call("list_orders")).toMatchObject({ total: 2 });
    expect(JSON.stringify(await call("list_orders"))).not.toContain(order_id);
  });

  test("two equal things that are created have ids of their own", async () => {
    const call = await callerOf();
    const [one, other] = [
      await call("create_order", { item: "tea", quantity: 3 }),
      await call("create_order", { item: "tea", quantity: 3 }),
    ];
    expect(one["order_id"]).not.toBe(other["order_id"]);
    expect(await call("get_order", { order_id: String(other["order_id"]) })).toEqual({ order: other });
  });

  test("what was never created is made up once, and stays as it was", async () => {
    const call = await callerOf();
    const before = await call("get_order", { order_id: "o-77" });
    expect(before).toMatchObject({ order: { order_id: "o-77" } });
    await call("updateOrder", { orderId: "o-77", quantity: 55 });
    expect(await call("get_order", { order_id: "o-77" })).toEqual({ order: { ...Object(before["order"]), quantity: 55 } });
    expect(JSON.stringify(await call("list_orders"))).toContain("o-77");
  });

  test("what a list made up is found again by its id, and the list stays the same", async () => {
    const call = await callerOf();
    const first = await call("list_orders");
    const orders = first["orders"];
    expect(await call("list_orders")).toEqual(first);
    for (const order of Array.isArray(orders) ? orders : [])
      expect(await call("get_order", { order_id: order.order_id })).toEqual({ order });
  });

  test("a list keeps to the filters of the call", async () => {
    const call = await callerOf([tool("add_task", { title: text, status: text }), tool("list_tasks", { status: text })]);
    await call("add_task", { title: "sweep", status: "open" });
    await call("add_task", { title: "paint", status: "done" });
    const listed = JSON.stringify(await call("list_tasks", { status: "open" }));
    expect([listed.includes("sweep"), listed.includes("paint")]).toEqual([true, false]);
  });

  test("an id of something else removes nothing of that", async () => {
    const call = await callerOf([
      tool("get_user", { user_id: text }),
      tool("get_subscription", { user_id: text }),
      tool("cancel_subscription", { user_id: text }),
    ]);
    await call("get_user", { user_id: "7" });
    await call("cancel_subscription", { user_id: "7" });
    expect(await call("get_user", { user_id: "7" })).toMatchObject({ user_id: "7" });
    expect(await call("get_subscription", { user_id: "7" })).toMatchObject({ error: "not_found" });
  });

  test("a later call of a batch sees what earlier ones did", async () => {
    const session = runtimeOf([tool("add_task", { id: text, title: text }), tool("get_task", { id: text })]).session();
    const results = await session.execute([
      { name: "shop::add_task", input: { id: "t1", title: "sweep" } },
      { name: "shop::get_task", input: { id: "t1" } },
    ]);
    expect(results.map((result) => Reflect.get(result, "output"))).toMatchObject([{ title: "sweep" }, { title: "sweep" }]);
  });

  test("nothing is known of another session, and a fork knows what was before and keeps the rest to itself", async () => {
    const runtime = runtimeOf(SHOP);
    const session = runtime.session();
    const made = await callsOf(session)("create_order", { item: "tea", quantity: 3 });
    const order_id = String(made["order_id"]);
    const fork = session.fork();
    await callsOf(fork)("cancel_order", { order_id });

    expect(await callsOf(fork)("get_order", { order_id })).toMatchObject({ error: "not_found" });
    expect(await callsOf(session)("get_order", { order_id })).toEqual({ order: made });
    expect(await callsOf(runtime.session())("get_order", { order_id })).not.toEqual({ order: made });
  });

  test("hundreds of things are held, the oldest are forgotten, and reading displaces nothing that was created", async () => {
    const call = await callerOf([tool("add_task", { id: text, title: text }), tool("get_task", { id: text })]);
    for (let id = 0; id < 600; id++) await call("add_task", { id: `t${id}`, title: `number ${id}` });
    const known = async (id: number): Promise<boolean> => (await call("get_task", { id: `t${id}` }))["title"] === `number ${id}`;
    const kept = await Promise.all(Array.from({ length: 600 }, (_, id) => known(id)));
    expect(kept.slice(-100).filter(Boolean).length).toBeGreaterThanOrEqual(95);
    expect([kept.filter(Boolean).length > 200, kept.filter(Boolean).length <= 256]).toEqual([true, true]);
  });
});

describe("F0.40 a tool that keeps its world by code", () => {
  const reducer: Reducer = (state, input) => {
    const before = typeof state === "number" ? state : 10;
    const left = before - Number(input["amount"]);
    if (left < 0) throw new ToolError("conflict", "There is not enough left.", { outcome: "failed", retryable: false });
    return { state: left, facts: { left, amount: input["amount"] ?? 0 } };
  };

  test("has its facts in the answer, and its errors as errors", async () => {
    const call = await callerOf([
      tool("take", { amount: whole }, object({ left: whole, note: text }), { reducer }),
      tool("take_openly", { amount: whole }, { type: "object" }, { reducer }),
      tool("take_plainly", { amount: whole }, undefined, { reducer }),
    ]);
    expect(await call("take", { amount: 4 })).toEqual({ left: 6, amount: 4, note: expect.any(String) });
    expect(await call("take_plainly", { amount: 5 })).toEqual({ left: 1, amount: 5 });
    expect(await call("take_openly", { amount: 0 })).toMatchObject({ left: 1, amount: 0 });
    expect(await call("take", { amount: 4 })).toMatchObject({ error: "conflict" });
    expect(await call("take", { amount: 1 })).toMatchObject({ left: 0 });
  });
});

test("F0.40 a seed that is neither text nor number is refused at once", () => {
  for (const seed of [Number.NaN, null, {}]) expect(() => exampleEngine({ seed: JSON.parse(JSON.stringify(seed)) })).toThrow(/seed/u);
});
