/** `x-haft`, and which operations are taken. */
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { imported, only, openApi } from "./imported.ts";

const KEY = "http:pets.json";

function extended(method: string, extension: JsonValue, isTrusted: boolean = false): ReturnType<typeof imported> {
  return imported(openApi("3.0", { "/a": { [method]: { operationId: "a", "x-haft": extension, responses: {} } } }), {
    trustExtensions: isTrusted,
  });
}

test("F11 an untrusted document can add caution: keys, destructive, external, not idempotent", () => {
  expect(extended("get", { effects: { writes: ["orders:"], reads: ["stock:"], destructive: true } })).toMatchObject({
    operations: [{ tool: { effects: { reads: [KEY, "stock:"], writes: [KEY, "orders:"], destructive: true, external: true } } }],
    warnings: [],
  });
  expect(extended("get", { effects: { external: true } }).operations[0]?.tool.effects).toEqual({
    reads: [KEY],
    writes: [],
    idempotent: true,
    external: true,
  });
  expect(extended("delete", { effects: { idempotent: false } }).operations[0]?.tool.effects).toEqual({
    writes: [KEY],
    destructive: true,
    external: true,
  });
});

test("F11 an untrusted document cannot remove caution: its claims cause a warning and change nothing", () => {
  const claims = { writes: [], idempotent: true, commutative: true, external: false };
  const { operations, warnings } = extended("post", { effects: claims });
  expect(operations[0]?.tool.effects).toEqual({ writes: [KEY], external: true });
  expect(warnings).toEqual([
    "#/paths/~1a/post/x-haft: effects.writes and effects.idempotent and effects.commutative and effects.external would weaken safeguards and are ignored. Trust the extensions of this document to use it.",
  ]);
  expect(extended("delete", { effects: { destructive: false } }).operations[0]?.tool.effects).toEqual({
    writes: [KEY],
    idempotent: true,
    destructive: true,
    external: true,
  });
});

test("F11 a trusted document overrides the effects", () => {
  const { operations, warnings } = extended(
    "post",
    { effects: { reads: ["stock:"], writes: [], external: false, idempotent: true } },
    true,
  );
  expect([operations[0]?.tool.effects, warnings]).toEqual([{ reads: ["stock:"], writes: [], external: false, idempotent: true }, []]);
});

test("F0.19 x-haft sets name, texts and settings of a tool; the operation takes precedence over its path and the document", () => {
  const document = openApi(
    "3.0",
    {
      "/a": {
        "x-haft": { maxAttempts: 2, effects: { external: true } },
        get: {
          operationId: "a",
          summary: "Old",
          "x-haft": {
            name: "read_a",
            title: "New",
            description: "Reads a.",
            timeoutMs: 500,
            category: "SAFE_CHAIN",
            oncePerTurn: true,
            maxConcurrent: 2,
          },
          responses: {},
        },
      },
    },
    { "x-haft": { timeoutMs: 100, maxAttempts: 1, enabled: false } },
  );
  expect(only(document).tool).toEqual({
    name: "read_a",
    title: "New",
    description: "Reads a.",
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
    effects: { reads: [KEY], writes: [], idempotent: true, external: true },
    enabled: false,
    oncePerTurn: true,
    timeoutMs: 500,
    maxAttempts: 2,
    maxConcurrent: 2,
    category: "SAFE_CHAIN",
    metadata: { http: { method: "GET", path: "/a", operationId: "a", tags: [] } },
  });
});

test("F11 an unusable value in x-haft causes a warning and leaves the tool unchanged", () => {
  const plain = extended("get", {}).operations;
  const cases: readonly (readonly [JsonObject | string, string])[] = [
    ["all", "x-haft must be an object"],
    [{ nmae: "b" }, '"nmae" is unknown; known fields: name, title'],
    [{ name: "a b" }, "name must be 1 to 64 of"],
    [{ enabled: "yes" }, "enabled must be a boolean"],
    [{ category: "TOP" }, "category must be one of"],
    [{ title: 3 }, "title must be a string"],
    [{ timeoutMs: -1 }, "timeoutMs must be an integer"],
    [{ timeoutMs: 0 }, "timeoutMs would weaken safeguards with 0"],
    [{ timeoutMs: 60_000 }, "timeoutMs would weaken safeguards with 60000"],
    [{ maxAttempts: 50 }, "maxAttempts would weaken safeguards with 50"],
    [{ effects: "none" }, "effects must be an object"],
    [{ effects: { pure: true } }, "effects.pure is unknown"],
    [{ effects: { external: 1 } }, "effects.external must be a boolean"],
    [{ effects: { writes: "all" } }, "effects.writes must be an array"],
    [{ effects: { writes: ["session:x"] } }, "effects.writes must be an array"],
    [{ effects: { reads: [""] } }, "effects.reads must be an array"],
  ];
  for (const [extension, warning] of cases) {
    const { operations, warnings } = extended("get", extension);
    expect([operations, warnings]).toEqual([plain, [expect.stringContaining(warning)]]);
    expect(warnings[0]).toMatch(/^#\/paths\/~1a\/get\/x-haft: /u);
  }
  expect(extended("get", { timeoutMs: 0, maxAttempts: 50 }, true)).toMatchObject({
    operations: [{ tool: { timeoutMs: 0, maxAttempts: 50 } }],
    warnings: [],
  });
});

const MANY = openApi("3.0", {
  "/users": {
    get: { operationId: "users/list", tags: ["users"], responses: {} },
    post: { operationId: "users/add", tags: ["users", "admin"], responses: {} },
  },
  "/users/{id}": { delete: { operationId: "users/remove", tags: ["admin"], responses: {} } },
  "/admin/stats": { get: { tags: ["admin"], responses: {} } },
});

const CHOICES: readonly (readonly [options: Parameters<typeof imported>[1], names: readonly string[]])[] = [
  [{ include: { tags: ["users"] } }, ["users_list", "users_add"]],
  [{ include: { tags: ["users"], paths: ["POST *"] } }, ["users_add"]],
  [{ include: { paths: ["/users/*", "get /admin/*"] } }, ["users_remove", "get_admin_stats"]],
  [{ include: { operations: ["users/l*", "get_admin_stats"] } }, ["users_list", "get_admin_stats"]],
  [{ include: { operations: ["users_add"] } }, ["users_add"]],
  [{ exclude: { tags: ["admin"] } }, ["users_list"]],
  [{ exclude: { tags: ["users"], paths: ["DELETE /users/*"] } }, ["get_admin_stats"]],
  [{ include: { tags: ["admin"] }, exclude: { operations: ["*remove"] } }, ["users_add", "get_admin_stats"]],
  [{ include: { tags: [] } }, []],
];

test.each(CHOICES)("F0.19 operations are selected by %j", (options, names) => {
  const { operations, warnings } = imported(MANY, options);
  expect([operations.map(({ tool }) => tool.name), warnings]).toEqual([names, []]);
});

test("F0.19 an entry of include or exclude that matches nothing causes a warning, with a suggestion", () => {
  const { operations, warnings } = imported(MANY, {
    include: { tags: ["user", "users"] },
    exclude: { paths: ["/user", "PUT /users"], operations: ["nothing like it at all"] },
  });
  expect(operations).toHaveLength(2);
  expect(warnings).toEqual([
    'include.tags: "user" matches no operation of this document. Did you mean "users"?',
    'exclude.paths: "/user" matches no operation of this document. Did you mean "/users"?',
    'exclude.paths: "PUT /users" matches no operation of this document.',
    'exclude.operations: "nothing like it at all" matches no operation of this document.',
  ]);
});
