import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import { ToolError } from "../../src/core/error.ts";
import type { JsonSchema, Reducer, Tool } from "../../src/core/tool.ts";
import { exampleEngine, type ExampleEngineOptions } from "../../src/engine/example.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";

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

const object = (properties: JsonObject): JsonObject => ({ type: "object", properties, required: Object.keys(properties) });

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
  test("fits the output schema and repeats values of the input", async () => {
    const call = await callerOf();
    expect(await call("get_weather", { city: "Rome" })).toEqual({
      city: "Rome",
      temperature: expect.any(Number),
      unit: expect.any(String),
    });
  });

  test("is the same for the same call in every session with one seed, and differs for another seed or call", async () => {
    const answers = await Promise.all([1, 1, 2].map(async (seed) => (await callerOf(SHOP, { seed }))("get_weather", { city: "Rome" })));
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).not.toEqual(answers[2]);
    const call = await callerOf();
    expect((await call("get_weather", { city: "Oslo" }))["temperature"]).not.toBe(answers[0]?.["temperature"]);
  });

  test("differs with another variation, and is the same with the same variation", async () => {
    const answers = await Promise.all(
      [undefined, "", "a", "a", "b"].map(async (variation) => {
        const options = variation === undefined ? {} : { variation };
        const [result] = await runtimeOf(SHOP)
          .session()
          .execute([{ name: "shop::get_weather", input: { city: "Rome" } }], options);
        return JSON.stringify(Reflect.get(Object(result), "output"));
      }),
    );
    expect(answers[1]).toBe(answers[0]);
    expect(answers[3]).toBe(answers[2]);
    expect(new Set(answers).size).toBe(3);
  });

  test("of a tool without an output schema repeats the input without its secrets and adds a status or the usual fields", async () => {
    const names = ["ping", "create_note", "get_note", "complete_note", "list_notes", "delete_note", "search"];
    const call = await callerOf(names.map((name) => tool(name, {})));
    expect(await call("ping", { host: "a" })).toMatchObject({ host: "a" });
    const { id, ...made } = await call("create_note", { body: "milk", api_key: "k" });
    expect([typeof id, made]).toEqual(["string", { status: "created", body: "milk" }]);
    expect(await call("get_note", { id: id ?? null })).toMatchObject({ id, body: "milk" });
    const other = await call("get_note", { id: "n-2" });
    expect(other).toMatchObject({ id: "n-2", content: expect.any(String) });
    expect(await call("get_note", { id: "n-2" })).toEqual(other);
    expect(await call("complete_note", { id: id ?? null })).toMatchObject({ status: "completed", id, body: "milk" });
    const { notes } = await call("list_notes");
    expect(Array.isArray(notes) && notes[0]).toMatchObject({ id, body: "milk", status: "completed" });
    expect(await call("delete_note", { id: "n-2" })).toEqual({ status: "deleted", id: "n-2" });
    expect(Object.keys(await call("search", { query: "tea" }))).toEqual(["results", "total"]);
  });

  test("of a file tool without an output schema is what was written, and is stable for a file that was not written", async () => {
    const call = await callerOf([tool("write", {}), tool("read", {}), tool("fetch", {})]);
    expect(await call("write", { path: "a.txt", content: "tea" })).toEqual({ status: "created", path: "a.txt", content: "tea" });
    expect(await call("read", { path: "a.txt" })).toMatchObject({ path: "a.txt", content: "tea" });
    const other = await call("read", { path: "b.txt" });
    expect(other["path"]).toBe("b.txt");
    expect(await call("read", { path: "b.txt" })).toEqual(other);
  });

  test("has arrays no longer than the call's limit", async () => {
    const call = await callerOf();
    expect(await call("search_hotels", { city: "Rome", limit: 1 })).toEqual([
      { hotel_id: expect.any(String), name: expect.any(String), city: "Rome" },
    ]);
    expect(await call("search_hotels", { city: "Oslo", limit: 0 })).toEqual([]);
  });

  test("is partial if no value fits the output schema, and an error if the schema is invalid", async () => {
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
  test("a created entity can be read, listed, updated and removed", async () => {
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

  test("two entities created with equal input have different ids", async () => {
    const call = await callerOf();
    const [one, other] = [
      await call("create_order", { item: "tea", quantity: 3 }),
      await call("create_order", { item: "tea", quantity: 3 }),
    ];
    expect(one["order_id"]).not.toBe(other["order_id"]);
    expect(await call("get_order", { order_id: String(other["order_id"]) })).toEqual({ order: other });
  });

  test("an entity that was never created is made up once and then retained", async () => {
    const call = await callerOf();
    const before = await call("get_order", { order_id: "o-77" });
    expect(before).toMatchObject({ order: { order_id: "o-77" } });
    await call("updateOrder", { orderId: "o-77", quantity: 55 });
    expect(await call("get_order", { order_id: "o-77" })).toEqual({ order: { ...Object(before["order"]), quantity: 55 } });
    expect(JSON.stringify(await call("list_orders"))).toContain("o-77");
  });

  test("an entity from a made-up list can be read by its id, and the list stays the same", async () => {
    const call = await callerOf();
    const first = await call("list_orders");
    const orders = first["orders"];
    expect(await call("list_orders")).toEqual(first);
    for (const order of Array.isArray(orders) ? orders : [])
      expect(await call("get_order", { order_id: order.order_id })).toEqual({ order });
  });

  test("a list respects the filters of the call", async () => {
    const call = await callerOf([tool("add_task", { title: text, status: text }), tool("list_tasks", { status: text })]);
    await call("add_task", { title: "sweep", status: "open" });
    await call("add_task", { title: "paint", status: "done" });
    const listed = JSON.stringify(await call("list_tasks", { status: "open" }));
    expect([listed.includes("sweep"), listed.includes("paint")]).toEqual([true, false]);
  });

  test("removing an entity by an id does not remove another kind of entity with that id", async () => {
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

  test("a later call of a batch sees the effects of earlier calls", async () => {
    const session = runtimeOf([tool("add_task", { id: text, title: text }), tool("get_task", { id: text })]).session();
    const results = await session.execute([
      { name: "shop::add_task", input: { id: "t1", title: "sweep" } },
      { name: "shop::get_task", input: { id: "t1" } },
    ]);
    expect(results.map((result) => Reflect.get(result, "output"))).toMatchObject([{ title: "sweep" }, { title: "sweep" }]);
  });

  test("a session sees nothing of another session; a fork sees what came before it, and its changes stay in the fork", async () => {
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

  test("at most 256 entities are retained, the oldest are evicted first, and reads evict no created entity", async () => {
    const call = await callerOf([tool("add_task", { id: text, title: text }), tool("get_task", { id: text })]);
    for (let id = 0; id < 600; id++) await call("add_task", { id: `t${id}`, title: `number ${id}` });
    const known = async (id: number): Promise<boolean> => (await call("get_task", { id: `t${id}` }))["title"] === `number ${id}`;
    const kept = await Promise.all(Array.from({ length: 600 }, (_, id) => known(id)));
    expect(kept.slice(-100).filter(Boolean).length).toBeGreaterThanOrEqual(95);
    expect([kept.filter(Boolean).length > 200, kept.filter(Boolean).length <= 256]).toEqual([true, true]);
  });
});

describe("F0.40 the answers of a session are consistent", () => {
  const list = (items: JsonObject): JsonObject => ({ type: "array", items });
  const date = { type: "string", format: "date-time" };
  const number = { type: "number" };
  const line = object({ sku: text, quantity: whole, unit_price: number, line_total: number });
  const invoice = object({
    invoice_id: text,
    lines: list(line),
    subtotal: number,
    tax: number,
    total: number,
    currency: text,
    status: text,
  });

  test("in the totals of each entity and of each list", async () => {
    const call = await callerOf([
      tool("create_invoice", {}, invoice),
      tool("get_invoice", {}, invoice),
      tool(
        "list_invoices",
        {},
        object({ invoices: list(invoice), total: whole, has_more: { type: "boolean" }, next_cursor: { type: ["string", "null"] } }),
      ),
    ]);
    const made = await call("create_invoice", { currency: "CHF" });
    const lines = Object.values(Object(made["lines"])).map((one) => Object(one));
    for (const { quantity, unit_price, line_total } of lines) expect(line_total).toBeCloseTo(quantity * unit_price, 1);
    expect(made["subtotal"]).toBeCloseTo(
      lines.reduce((sum, { line_total }) => sum + line_total, 0),
      1,
    );
    expect(made["total"]).toBeCloseTo(Number(made["subtotal"]) + Number(made["tax"]), 1);
    expect(made["status"]).toBe("created");
    const listed = await call("list_invoices");
    expect(listed).toMatchObject({ invoices: [made, {}, {}], total: 3, has_more: false, next_cursor: null });
    expect(await call("get_invoice", { invoice_id: made["invoice_id"] ?? null })).toEqual(made);
  });

  test("in one currency, if no call names one", async () => {
    const call = await callerOf([
      tool("get_account", {}, object({ account_id: text, currency: text })),
      tool("get_fee", {}, object({ currency: text })),
    ]);
    const answers = [await call("get_account", { account_id: "1" }), await call("get_account", { account_id: "2" }), await call("get_fee")];
    expect(new Set(answers.map(({ currency }) => currency)).size).toBe(1);
  });

  test("in what is known of another entity that a call names; a booking is not confused with its flight", async () => {
    const flight = object({ flight_number: text, airline: text, price: number, departure_time: date, arrival_time: date });
    const call = await callerOf([
      tool("search_flights", {}, object({ flights: list(flight) })),
      tool("book_flight", {}, object({ booking_id: text, flight, status: { enum: ["pending", "cancelled", "confirmed"] } })),
      tool("get_booking", {}, object({ booking_id: text, flight_number: text, status: text })),
    ]);
    const input = { departure_date: "2026-05-01", max_price: 90 };
    const { flights } = await call("search_flights", input);
    const found = Object.values(Object(flights)).map((one) => Object(one));
    for (const { price, departure_time, arrival_time } of found) {
      expect([price <= 90, departure_time.slice(0, 10), departure_time < arrival_time]).toEqual([true, "2026-05-01", true]);
    }
    const { flight_number } = found[0];
    const booked = await call("book_flight", { flight_number });
    expect(booked).toMatchObject({ flight: found[0], status: "confirmed" });
    expect(await call("get_booking", { booking_id: booked["booking_id"] ?? null })).toEqual({
      booking_id: booked["booking_id"],
      flight_number,
      status: "confirmed",
    });
    expect(await call("search_flights", input)).toEqual({ flights: found });
  });

  test("in what is open and what is closed, by number as well as by id", async () => {
    const issue = object({
      id: whole,
      number: whole,
      title: text,
      state: { enum: ["open", "closed"] },
      closed_at: { type: ["string", "null"], format: "date-time" },
    });
    const call = await callerOf([
      tool("create_issue", {}, issue),
      tool("get_issue", {}, issue),
      tool("close_issue", {}, issue),
      tool("list_issues", {}, list(issue)),
    ]);
    const made = await call("create_issue", { title: "leak" });
    expect(made).toMatchObject({ state: "open", closed_at: null });
    const issue_number = made["number"] ?? null;
    expect(await call("get_issue", { issue_number })).toEqual(made);
    const closed = await call("close_issue", { issue_number });
    expect(closed).toEqual({ ...made, state: "closed", closed_at: expect.any(String) });
    expect(await call("get_issue", { issue_number })).toEqual(closed);
    const open = Object.values(await call("list_issues", { state: "open" })).map((one) => Object(one));
    expect([open.length > 0, open.every(({ state, id }) => state === "open" && id !== made["id"])]).toEqual([true, true]);
  });

  test("across the pages of a list: each entity appears once, and the last page has no cursor", async () => {
    const task = object({ task_id: text, title: text });
    const page = object({ tasks: list(task), total: whole, next_cursor: { type: ["string", "null"] } });
    const call = await callerOf([tool("add_task", {}, task), tool("list_tasks", {}, page)]);
    const titles = ["a", "b", "c", "d", "e"];
    for (const title of titles) await call("add_task", { title });
    const seen: unknown[] = [];
    let cursor: JsonValue = null;
    for (let turn = 0; turn < 5 && (turn === 0 || cursor !== null); turn++) {
      const answer = await call("list_tasks", { limit: 2, ...(cursor !== null && { cursor }) });
      seen.push(...Object.values(Object(answer["tasks"])).map((one) => Object(one).title));
      expect(answer["total"]).toBe(5);
      cursor = answer["next_cursor"] ?? null;
    }
    expect([seen, cursor]).toEqual([titles, null]);
    expect((await call("list_tasks", { limit: 2, page: 9 }))["tasks"]).toEqual([]);
  });

  test("in a fork and in a session created from a snapshot: both continue with the same answers as the original", async () => {
    const runtime = runtimeOf(SHOP);
    const session = runtime.session("one");
    await callsOf(session)("create_order", { item: "tea", quantity: 3 });
    await callsOf(session)("list_orders");
    const again = runtimeOf(SHOP).session("two", { from: JSON.parse(JSON.stringify(await session.snapshot())) });
    const rest = async (call: Caller): Promise<readonly unknown[]> => [
      await call("create_order", { item: "tea", quantity: 3 }),
      await call("list_orders", { limit: 9 }),
      await call("get_weather", { city: "Rome" }),
    ];
    const answers = [await rest(callsOf(session.fork())), await rest(callsOf(again)), await rest(callsOf(session))];
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });
});

describe("F0.40 a tool with a reducer", () => {
  const reducer: Reducer = (state, input) => {
    const before = typeof state === "number" ? state : 10;
    const left = before - Number(input["amount"]);
    if (left < 0) throw new ToolError("conflict", "There is not enough left.", { outcome: "failed", retryable: false });
    return { state: left, facts: { left, amount: input["amount"] ?? 0 } };
  };

  test("has the reducer's facts in its answer, and the reducer's errors as errors", async () => {
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

test("F0.40 a call that cannot be answered leaves the reducer's state unchanged", async () => {
  const reducer: Reducer = (state) => ({ state: Number(state ?? 0) + 1, facts: { count: Number(state ?? 0) + 1 } });
  const session = runtimeOf([tool("broken", {}, { type: "nothing" }, { reducer }), tool("count", {}, undefined, { reducer })]).session();
  expect((await session.execute({ name: "shop::broken", input: {} })).status).toBe("error");
  expect((await session.execute({ name: "shop::count", input: {} })).output).toEqual({ count: 1 });
});

test("F0.40 a seed that is neither a string nor a number throws at once", () => {
  for (const seed of [Number.NaN, null, {}]) expect(() => exampleEngine({ seed: JSON.parse(JSON.stringify(seed)) })).toThrow(/seed/u);
});

test.each([
  true,
  {},
  { type: "object" },
  { type: "object", additionalProperties: true, title: "Output" },
  { type: "object", properties: {} },
])("F0.40 an output schema without constraints counts as no schema: %j", async (outputSchema) => {
  const [plain, said] = await Promise.all(
    [undefined, outputSchema].map(async (schema) => {
      const call = await callerOf([tool("get_ticket", { ticket_id: text }, schema)]);
      return await call("get_ticket", { ticket_id: "T-1" });
    }),
  );
  expect(said).toEqual(plain);
});

test("F0.40 an output with free keys repeats the input and adds no text about the call", async () => {
  const call = await callerOf([tool("get_labels", { repo: text }, { type: "object", additionalProperties: text })]);
  expect(await call("get_labels", { repo: "haft" })).toEqual({ repo: "haft" });
});

test("F0.40 an entity nested in another of its kind has an id of its own", async () => {
  const comment: JsonSchema = {
    $ref: "#/$defs/c",
    $defs: { c: object({ comment_id: text, replies: { type: "array", items: { $ref: "#/$defs/c" } } }) },
  };
  const lone: JsonSchema = object({
    employee_id: text,
    manager: { anyOf: [object({ employee_id: text, manager: { type: "null" } }), { type: "null" }] },
  });
  const call = await callerOf([tool("get_comment", { comment_id: text }, comment), tool("get_employee", { employee_id: text }, lone)]);
  const { comment_id: id, replies } = Object(await call("get_comment", { comment_id: "c_1" }));
  expect(id).toBe("c_1");
  expect(new Set(["c_1", ...replies.map((reply: { comment_id: string }) => reply.comment_id)]).size).toBe(replies.length + 1);
  const { manager } = Object(await call("get_employee", { employee_id: "E-77" }));
  expect(manager.employee_id).not.toBe("E-77");
});
