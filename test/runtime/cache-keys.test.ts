import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { readOnly } from "../../src/core/resources/effects.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { VisibilityRules } from "../../src/policy/visibility.ts";
import type { Random } from "../../src/core/ports.ts";
import type { CacheScope } from "../../src/core/tool.ts";
import { seededRandom } from "../../src/testing/fake-ports.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { testRuntime, tool } from "./bench-runtime.ts";
import { repeated } from "../ci.ts";

function pick<T>(random: Random, items: readonly T[]): T {
  const [item] = items.slice(Math.floor(random.next() * items.length));
  return item as T; // there are items, and undefined may be one of them
}

const ROUNDS = repeated(10_000);

test("C01 in 100,000 calls (a fifth of them outside CI) of several principals none gets another's answer", async () => {
  const random = seededRandom(1);
  const answer = (input: unknown, data: Readonly<Record<string, unknown>>): string =>
    `${JSON.stringify(data["user"])} ${JSON.stringify(input)}`;
  const scopes: readonly CacheScope[] = ["turn", "session", "runtime"];
  const runtime = createRuntime({
    tools: scopes.map((scope) =>
      tool(scope, (input, { data }) => answer(input, data), { effects: readOnly("a"), cache: { scope, identity: ["user"] } }),
    ),
  });
  const users = ["ann", "bob", "a", "b", "1", 1, null, undefined, "ann,bob", ["ann"], { id: "ann" }, { id: 1 }, ""];
  const sessions = Array.from({ length: 4 }, () => runtime.session());
  let crossed = 0;
  let hits = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const user = pick(random, users);
    const calls = Array.from({ length: 10 }, () => ({ name: pick(random, scopes), input: { n: Math.floor(random.next() * 5) } }));
    const results = await pick(random, [runtime, ...sessions]).execute(calls, { data: { user } });
    for (const [index, { output, origin }] of results.entries()) {
      if (output !== answer(calls[index]?.input, { user })) crossed++;
      if (origin === "cache") hits++;
    }
  }
  expect(crossed).toBe(0);
  expect(hits).toBeGreaterThan(5 * ROUNDS);
  await runtime.close();
});

/** Values of which many are alike without being equal. */
const ALIKE: readonly JsonValue[] = [
  1,
  "1",
  true,
  "true",
  null,
  "null",
  "",
  [],
  {},
  [[]],
  [null],
  "a|b",
  "a",
  "b|c",
  "c",
  "\u00e9",
  "e\u0301",
  "\u0000",
  "\ud800",
  "\udc00",
  '","',
  "1:{}",
  0,
  0.1,
  1e21,
];

function anyValue(random: Random, depth: number): JsonValue {
  const kind = random.next();
  if (depth === 0 || kind < 0.6) return pick(random, ALIKE);
  if (kind < 0.75) return Array.from({ length: Math.floor(random.next() * 3) }, () => anyValue(random, depth - 1));
  return anyObject(random, depth - 1);
}

function anyObject(random: Random, depth: number): Record<string, JsonValue> {
  const object: Record<string, JsonValue> = {};
  for (let left = Math.floor(random.next() * 4); left > 0; left--)
    object[pick(random, ["a", "b", "a|b", "1", "\u00e9", "e\u0301"])] = anyValue(random, depth);
  return object;
}

/** An equal value whose keys come in another order. */
function reordered(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => reordered(item));
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, reordered(item)]),
  );
}

test("C03 of 10,000 generated pairs the equal ones share a result and the others never do", async () => {
  const random = seededRandom(3);
  const runtime = createRuntime({ tools: [tool("read", (input) => input, { effects: readOnly("a"), cache: "session" })] });
  const wrong: unknown[] = [];
  let equal = 0;
  for (let pair = 0; pair < 10_000; pair++) {
    const one = anyObject(random, 2);
    const other = random.next() < 0.4 ? reordered(one) : anyObject(random, 2);
    const session = runtime.session();
    await session.execute({ name: "read", input: one });
    const { origin, output } = await session.execute({ name: "read", input: other });
    const areEqual = isDeepStrictEqual(one, other);
    if (areEqual) equal++;
    if ((origin === "cache") !== areEqual || !isDeepStrictEqual(output, other)) wrong.push([one, other]);
    await session.close();
  }
  expect(wrong).toEqual([]);
  expect(equal).toBeGreaterThan(3_000);
  expect(equal).toBeLessThan(7_000);
});

test.each<[string, unknown, unknown, boolean]>([
  ["the order of keys", { a: 1, b: 2 }, { b: 2, a: 1 }, true],
  ["1 and 1.0", JSON.parse('{"a":1}'), JSON.parse('{"a":1.0}'), true],
  ["a value and its text", { a: 1 }, { a: "1" }, false],
  ["a missing value and null", {}, { a: null }, false],
  ["a missing value and undefined", {}, { a: undefined }, true],
  ["where two texts meet", { a: ["a|b", "c"] }, { a: ["a", "b|c"] }, false],
  ["composed and decomposed letters", { a: "\u00e9" }, { a: "e\u0301" }, false],
  ["a list and an object", { a: ["x"] }, { a: { 0: "x" } }, false],
])("C03 %s", async (_, one, other, areEqual) => {
  const { runtime } = testRuntime({ tools: [tool("read", (input) => input, { effects: readOnly("a"), cache: "runtime" })] });
  await runtime.execute({ name: "read", input: one });
  expect((await runtime.execute({ name: "read", input: other })).origin).toBe(areEqual ? "cache" : "live");
});

test("C03 inputs are compared after validation: repaired, and with their defaults", async () => {
  const inputSchema = {
    type: "object",
    properties: { n: { type: "integer" }, unit: { type: "string", default: "km" } },
    additionalProperties: false,
  };
  const { runtime } = testRuntime({ tools: [tool("read", (input) => input, { effects: readOnly("a"), cache: "runtime", inputSchema })] });
  const origins: string[] = [];
  for (const input of [{ n: 1 }, { n: "1" }, { n: 1, unit: "km" }, '{"n": 1}', { n: 1, unit: "mi" }])
    origins.push((await runtime.execute({ name: "read", input })).origin);
  expect(origins).toEqual(["live", "cache", "cache", "cache", "live"]);
});

test("C03 equal inputs of two tools, of two toolsets and of two overloads share nothing", async () => {
  const reading = (name: string, answer: string, type: string): ReturnType<typeof tool> =>
    tool(name, () => answer, {
      effects: readOnly("a"),
      cache: "runtime",
      inputSchema: { type: "object", properties: { a: { type } }, required: ["a"] },
    });
  const { runtime } = testRuntime({
    tools: [reading("one", "one", "integer"), reading("two", "two", "integer")],
    toolsets: [{ name: "t", tools: [reading("one", "t::one", "integer")] }],
  });
  runtime.registry.register(reading("one", "overload", "string"), "default", { overload: true });
  await runtime.open();
  const ask = async (name: string, a: unknown): Promise<unknown> => (await runtime.execute({ name, input: { a } })).output;
  for (let round = 0; round < 2; round++) {
    expect([await ask("default::one", 1), await ask("two", 1), await ask("t::one", 1), await ask("default::one", "1")]).toEqual([
      "one",
      "two",
      "t::one",
      "overload",
    ]);
  }
});

class User {
  readonly #id: string;

  constructor(id: string) {
    this.#id = id;
  }

  toJSON(): unknown {
    return { role: "user" };
  }

  get id(): string {
    return this.#id;
  }
}

test.each<[string, unknown, unknown]>([
  ["instances that look alike as JSON", new User("ann"), new User("bob")],
  ["dates", new Date(0), new Date(0)],
  ["functions", () => 1, () => 1],
  ["symbols", Symbol("a"), Symbol("a")],
  ["maps", new Map([["id", "ann"]]), new Map([["id", "bob"]])],
  ["sets of what is not JSON", new Set([new User("ann")]), new Set([new User("bob")])],
  ["sets with names", Object.assign(new Set(["x"]), { id: "ann" }), Object.assign(new Set(["x"]), { id: "bob" })],
  ["numbers that are none", Number.NaN, Number.NaN],
  ["objects with something hidden", Object.defineProperty({}, "id", { value: "ann" }), Object.defineProperty({}, "id", { value: "bob" })],
  ["objects with symbols for keys", { [Symbol.for("id")]: "ann" }, { [Symbol.for("id")]: "bob" }],
  ["objects with what is not JSON inside", { id: new User("ann") }, { id: new User("bob") }],
  ["lists with gaps", Object.assign([], { length: 1 }), [undefined]],
  ["lists with names", Object.assign(["x"], { id: "ann" }), Object.assign(["x"], { id: "bob" })],
  ["what cannot be read", Object.defineProperty({}, "id", { enumerable: true, get: () => fail() }), {}],
  ["a cycle", cycle(), cycle()],
])("C01 principals that cannot be reliably distinguished share nothing: %s", async (_, one, other) => {
  const { runtime } = testRuntime({
    tools: [tool("read", () => 1, { effects: readOnly("a"), cache: { scope: "runtime", identity: ["user"] } })],
  });
  const origins: string[] = [];
  for (const user of [one, other, one]) origins.push((await runtime.execute({ name: "read" }, { data: { user } })).origin);
  expect(origins.slice(0, 2)).toEqual(["live", "live"]);
});

function fail(): never {
  throw new Error("no");
}

function cycle(): unknown {
  const own: Record<string, unknown> = {};
  own["self"] = own;
  return own;
}

test("C01 an inherited key of the data is no identity, and null differs from a missing key", async () => {
  const { runtime } = testRuntime({
    tools: [tool("read", () => 1, { effects: readOnly("a"), cache: { scope: "runtime", identity: ["user", "tenant"] } })],
  });
  const inherited: Record<string, unknown> = Object.create({ user: "ann" });
  const origins: string[] = [];
  for (const data of [
    { user: "ann" },
    inherited,
    {},
    { user: undefined },
    { user: null },
    { tenant: "ann" },
    { tenant: "t", user: "ann" },
    { user: "ann", tenant: "t" },
  ])
    origins.push((await runtime.execute({ name: "read" }, { data })).origin);
  expect(origins).toEqual(["live", "live", "cache", "cache", "live", "live", "live", "cache"]);
});

/** As an authenticator makes it. */
function principal(id: string, scopes: readonly string[] = ["read", "execute"]): object {
  return Object.freeze({ id, name: id, scopes: new Set(scopes), claims: { sub: id } });
}

test.each(["runtime", "persistent"] as const)(
  "an answer computed for one principal never reaches another, whatever the identity keys are (scope %s)",
  async (scope) => {
    for (const identity of [["principal"], ["user"], ["tenant", "user"], ["principal", "locale"]]) {
      const read = tool("read", (_, { data }) => (data["principal"] as { readonly id: string }).id, {
        effects: readOnly("a"),
        cache: { scope, identity },
      });
      const { runtime } = testRuntime({ tools: [read] });
      const found: unknown[] = [];
      for (const one of [principal("ada"), principal("grace"), principal("ada", ["execute", "read"]), principal("grace", ["read"])]) {
        const { origin, output } = await runtime.execute({ name: "read" }, { data: { principal: one } });
        found.push([origin, output]);
      }
      expect(found).toEqual([
        ["live", "ada"],
        ["live", "grace"],
        ["cache", "ada"],
        ["live", "grace"],
      ]);
    }
  },
);

test("a user whose token is renewed still gets their cached answers", async () => {
  const read = tool("read", () => 1, { effects: readOnly("a"), cache: { scope: "runtime", identity: ["user"] } });
  const { runtime } = testRuntime({ tools: [read] });
  const origins: string[] = [];
  for (const [exp, groups] of [
    [1, "ops"],
    [2, "ops"],
    [2, "none"],
  ] as const) {
    const claims = { sub: "ada", groups: [groups], exp, iat: exp, jti: `t${exp}` };
    const ada = { id: "ada", name: "Ada", scopes: new Set(["read"]), expiresAt: exp, claims };
    origins.push((await runtime.execute({ name: "read" }, { data: { principal: ada } })).origin);
  }
  expect(origins).toEqual(["live", "cache", "live"]);
});

test("a call of a principal that cannot be distinguished is answered live, with one log line", async () => {
  const messages: string[] = [];
  const read = tool("read", () => 1, { effects: readOnly("a"), cache: { scope: "runtime", identity: ["user"] } });
  const log = { debug() {}, info() {}, error() {}, warn: (message: string) => void messages.push(message) };
  const { runtime } = testRuntime({ tools: [read], ports: { log } });
  for (let round = 0; round < 3; round++)
    expect((await runtime.execute({ name: "read" }, { data: { principal: { id: "ada", key: () => 1 } } })).origin).toBe("live");
  expect(messages).toEqual([
    'A call of default::read was not cached because of its cache.identity: context.data has no "user", and its "principal" is not plain JSON of at most 65536 characters.',
  ]);
});

test("a cached answer is not given to a call under other visibility rules", async () => {
  const asks = async (_input: unknown, context: ToolContext): Promise<unknown> => {
    const { output, error } = await context.execute({ name: "secret", input: {} });
    return error?.code ?? output;
  };
  const reads = { effects: { reads: ["a"] } } as const;
  const { runtime } = testRuntime({ tools: [tool("secret", () => "secret", reads), tool("asks", asks, { ...reads, cache: "runtime" })] });
  const ask = async (allow?: VisibilityRules): Promise<unknown> => {
    const { origin, output } = await runtime.session().execute({ name: "asks", input: {} }, allow === undefined ? {} : { allow });
    return [origin, output];
  };
  const deny = { deny: ["default::secret"] };
  expect([await ask(), await ask(deny), await ask(), await ask(deny)]).toEqual([
    ["live", "secret"],
    ["live", "permission_denied"],
    ["cache", "secret"],
    ["cache", "permission_denied"],
  ]);
});

test("an answer made with one session's folder or environment is not given to another", async () => {
  const where = tool("where", (_input, { workingFolder, environment }) => `${environment["USER"]} in ${workingFolder}`, {
    effects: readOnly("a"),
    cache: "runtime",
  });
  const { runtime } = testRuntime({ tools: [where] });
  const options = [
    { workingFolder: "/a", environment: { USER: "ann" } },
    { workingFolder: "/a", environment: { USER: "bob" } },
    { workingFolder: "/b", environment: { USER: "bob" } },
    { workingFolder: "/b", environment: { USER: "bob" } },
  ];
  const results = [];
  for (const one of options) results.push(await runtime.session(undefined, one).execute({ name: "where" }));
  expect(results.map(({ output, origin }) => [output, origin])).toEqual([
    ["ann in /a", "live"],
    ["bob in /a", "live"],
    ["bob in /b", "live"],
    ["bob in /b", "cache"],
  ]);
  await runtime.close();
});
