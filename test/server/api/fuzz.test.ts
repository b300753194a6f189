/** Every route by its schema with values that fit, nearly fit, and do not fit: no 500, no hang. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { inCI } from "../../ci.ts";
import { API, OPERATION_IDS, type OperationId } from "../../../src/server/api.ts";
import type { Parameters, Route } from "../../../src/server/api/requests/route.ts";
import { TOKEN, startApi } from "./api-server.ts";

/** Those that wait for what does not come, or end what others need, are asked with no wait. */
const LEFT_OUT: ReadonlySet<OperationId> = new Set<OperationId>(["listEvents"]);
/** HAFT_FUZZ_REQUESTS=100000 for the whole of it. */
const REQUESTS = Number(process.env["HAFT_FUZZ_REQUESTS"] ?? (inCI ? 3_000 : 150));
const WORDS = ["travel", "desk", "call_1", "clerk", "news", "notes::add", "notes::list", "..", "a/b", "%00", "é", "💥", "__proto__", " "];

/** Whole messages of models, in forms that may not be those that are named. */
const MESSAGES = [
  { role: "assistant", tool_calls: [{ id: "a", type: "function", function: { name: "notes__add", arguments: '{"text":"x"}' } }] },
  { role: "assistant", content: [{ type: "tool_use", id: "a", name: "notes__list", input: {} }] },
  { role: "model", parts: [{ functionCall: { name: "notes__list", args: null } }] },
  [{ type: "function_call", call_id: "a", name: "nothing", arguments: "{" }],
  '<tool_call>{"name": "notes__list"}</tool_call>',
];

const anyText = fc.oneof(fc.constantFrom(...WORDS), fc.string({ minLength: 1, maxLength: 20, unit: "binary" }));

/** JSON that readers of other languages stumble over. */
const HARD: readonly unknown[] = [
  2 ** 53,
  1e308,
  -1e308,
  0.5,
  "\ud800",
  "a\u0000b",
  "x".repeat(5_000),
  Object.fromEntries([["__proto__", { strict: true }]]),
  { constructor: null, toString: 1 },
];

/** Values of a schema, most of them as it says. */
function valueOf(schema: object): fc.Arbitrary<unknown> {
  const { type, enum: words, properties = {}, items, pattern, $ref } = schema as Schema;
  if ($ref !== undefined) return fc.record({ name: anyText, input: fc.jsonValue({ maxDepth: 2 }) }, { requiredKeys: ["name"] });
  const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(...HARD));
  const usual: fc.Arbitrary<unknown> =
    words !== undefined
      ? fc.constantFrom(...words)
      : type === "integer"
        ? fc.integer({ min: -1, max: 50 })
        : type === "boolean"
          ? fc.boolean()
          : type === "array"
            ? fc.array(valueOf(items ?? {}), { maxLength: 3 })
            : type === "object"
              ? fc.record(Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, fieldOf(name, field)])), {
                  requiredKeys: [],
                })
              : type === "string"
                ? pattern === undefined
                  ? anyText
                  : fc.stringMatching(new RegExp(pattern, "u"))
                : odd;
  return fc.oneof({ arbitrary: usual, weight: 12 }, { arbitrary: odd, weight: 1 });
}

function fieldOf(name: string, field: object): fc.Arbitrary<unknown> {
  return name === "message" ? fc.oneof(fc.constantFrom(...MESSAGES), valueOf(field)) : valueOf(field);
}

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, object>>;
  readonly items?: object;
  readonly pattern?: string;
  readonly $ref?: string;
}

interface FuzzedRequest {
  readonly id: OperationId;
  readonly path: string;
  readonly body: string | undefined;
  readonly key: string | undefined;
}

const request: fc.Arbitrary<FuzzedRequest> = fc.constantFrom(...OPERATION_IDS.filter((id) => !LEFT_OUT.has(id))).chain((id) => {
  const { path, params = {}, query = {}, body }: Route = API[id];
  return fc
    .record({
      params: texts(params, []),
      query: texts(query, Object.keys(query)),
      body: body === undefined ? fc.constant(undefined) : fc.oneof({ arbitrary: valueOf(body), weight: 9 }, fc.jsonValue()),
      key: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
    })
    .map((given) => ({
      id,
      path: pathOf(path, given.params, given.query),
      body:
        given.body === undefined
          ? undefined
          : JSON.stringify({
              ...Object(given.body),
              ...("calls" in Object(given.body) || "message" in Object(given.body) ? { waitMs: 0 } : {}),
            }),
      key: given.key,
    }));
});

/** Not every object has a text: `toString` may be a field of it. */
function textOf(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function texts(parameters: Parameters, optional: readonly string[]): fc.Arbitrary<Readonly<Record<string, string>>> {
  const fields = Object.entries(parameters).map(
    ([name, schema]) => [name, name.endsWith("Ms") ? fc.constant("0") : valueOf(schema).map(textOf)] as const,
  );
  const required = Object.keys(parameters).filter((name) => !optional.includes(name) || name.endsWith("Ms"));
  return fc.record(Object.fromEntries(fields), { requiredKeys: required });
}

function pathOf(path: string, params: Readonly<Record<string, string>>, query: Readonly<Record<string, string>>): string {
  const filled = path.replaceAll(/\{([A-Za-z]+)\}/gu, (_, name: string) => encodeURIComponent((params[name] ?? "").toWellFormed()));
  const search = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, value.toWellFormed()]));
  return search.size === 0 ? filled : `${filled}?${search.toString()}`;
}

test(
  `issue 19 L26 schema-generated requests to every route always get a response, and never a 500 (${REQUESTS} requests)`,
  { timeout: 3_600_000 },
  async () => {
    const api = await startApi({ limits: { maxRequestsPerMinute: 1_000_000_000 }, store: inCI ? "sqlite" : "none" });
    api.gate.open();
    await api.ask("POST", "/v1/sessions", { body: { id: "travel" } });
    await fc.assert(
      fc.asyncProperty(request, async ({ id, path, body, key }) => {
        const { method }: Route = API[id];
        const response = await api.server.fetch(
          new Request(`http://localhost${path}`, {
            method,
            headers: {
              authorization: `Bearer ${TOKEN}`,
              ...(body === undefined ? {} : { "content-type": "application/json" }),
              ...(key === undefined ? {} : { "idempotency-key": key }),
            },
            ...(body === undefined || method === "GET" ? {} : { body }),
          }),
        );
        if (response.headers.get("content-type")?.startsWith("text/event-stream") === true) await response.body?.cancel();
        const text = response.body === null || response.bodyUsed || response.body.locked ? "" : await response.text();
        expect({ status: response.status, text: response.status >= 500 && response.status !== 503 ? text : "" }).toEqual({
          status: response.status < 500 || response.status === 503 ? response.status : "no server error",
          text: "",
        });
      }),
      { numRuns: REQUESTS, seed: 19 },
    );
  },
);
