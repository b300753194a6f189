/** Names of tools: legal, plain, unique and stable. */
import { hash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { operationName } from "../../../src/engine/openapi/operations.ts";
import { imported, openApi } from "./imported.ts";

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/u;

function nameOf(operationId: string | undefined, method: string = "GET", path: string = "/"): string {
  return operationName({ method, path, operationId });
}

test("F14 a valid operationId becomes the name; slashes and dots become underscores", () => {
  expect(["listPets", "read_items_items__item_id__get", "repos/get-content", "chat.postMessage"].map((id) => nameOf(id))).toEqual([
    "listPets",
    "read_items_items__item_id__get",
    "repos_get-content",
    "chat_postMessage",
  ]);
});

test("F14 an operation without an id is named after method and path", () => {
  expect([
    nameOf(undefined, "GET", "/pets/{petId}"),
    nameOf("", "PATCH", "/a/b.txt"),
    nameOf(undefined, "GET", "/"),
    nameOf(undefined, "GET", "/a/"),
  ]).toEqual(["get_pets_by_petId", "patch_a_b_txt", "get_", "get_a_"]);
});

test("F14 an id with other characters, with a hash-like ending or over 64 characters ends with a hash of the original", () => {
  const ids = ["é é", "é/é", "a+b", "a_b_0123abcd", "x".repeat(90), `${"x".repeat(89)}y`];
  const hashOf = (id: string): string => hash("sha256", JSON.stringify(id)).slice(0, 8);
  expect(ids.map((id) => nameOf(id).slice(0, -8))).toEqual([
    "____",
    "____",
    "a_b_",
    "a_b_0123abcd_",
    `${"x".repeat(55)}_`,
    `${"x".repeat(55)}_`,
  ]);
  expect(ids.map((id) => nameOf(id).slice(-8))).toEqual(ids.map(hashOf));
  expect(["repos--get", "a b"].map((id) => nameOf(id))).toEqual(["repos--get", "a_b"]); // a space is a separator
});

test("F14 names are valid and unique within a document, and get a hash only where two would be equal", () => {
  const id = fc.oneof(fc.string({ maxLength: 80, unit: "binary" }), fc.stringMatching(/^[ab/._-]{1,8}$/u), fc.constant(undefined));
  fc.assert(
    fc.property(fc.array(id, { minLength: 1, maxLength: 8 }), (ids) => {
      const paths = Object.fromEntries(
        ids.map((operationId, at) => [`/p${at}`, { get: { ...(operationId === undefined ? {} : { operationId }), responses: {} } }]),
      );
      const { operations } = imported(openApi("3.0", paths));
      const names = operations.map(({ tool }) => tool.name);
      const alone = ids.map((operationId, at) => nameOf(operationId, "GET", `/p${at}`));
      expect(new Set(names).size).toBe(ids.length);
      for (const [at, name] of names.entries()) {
        expect(name).toMatch(LEGAL);
        if (alone.filter((other) => other === alone[at]).length === 1) expect(name).toBe(alone[at]);
      }
    }),
    { numRuns: 100 },
  );
});

test("F14 ids that differ only in their separators are distinguished by a hash of method and path", () => {
  const responses = {};
  const { operations } = imported(
    openApi("3.0", {
      "/a": { get: { operationId: "orders.create", responses } },
      "/b": { get: { operationId: "orders/create", responses } },
    }),
  );
  for (const { tool } of operations) expect(tool.name).toMatch(/^orders_create_[0-9a-f]{8}$/u);
});

test.each([["orders.delete"], ["orders/delete"], ["orders delete"]])(
  "F14 an operation whose id is a valid name keeps it beside the id %j, so that rules for that name still apply",
  (other) => {
    const responses = {};
    const { operations } = imported(
      openApi("3.0", {
        "/a": { get: { operationId: other, responses } },
        "/b": { delete: { operationId: "orders_delete", responses } },
        "/orders/delete": { get: { responses } },
      }),
    );
    const names = operations.map(({ tool }) => tool.name);
    expect(names[1]).toBe("orders_delete");
    expect(names[0]).toMatch(/^orders_delete_[0-9a-f]{8}$/u);
    expect(new Set(names).size).toBe(3);
  },
);

test("F14 operations with the same id are distinguished by method and path, in any order", () => {
  const responses = {};
  const one = { get: { operationId: "same", responses } };
  const forwards = imported(openApi("3.0", { "/a": one, "/b": one, "/c": { get: { operationId: "other", responses } } }));
  const backwards = imported(openApi("3.0", { "/c": { get: { operationId: "other", responses } }, "/b": one, "/a": one }));
  const names = (document: typeof forwards): unknown =>
    Object.fromEntries(document.operations.map(({ tool, operation }) => [operation.path, tool.name]));
  expect(names(forwards)).toEqual({
    "/a": expect.stringMatching(/^same_[0-9a-f]{8}$/u),
    "/b": expect.stringMatching(/^same_[0-9a-f]{8}$/u),
    "/c": "other",
  });
  expect(names(backwards)).toEqual(names(forwards));
  expect(new Set(Object.values(Object(names(forwards)))).size).toBe(3);
  expect(forwards.warnings).toHaveLength(2);
});

test("F14 the original operationId is kept in the metadata", () => {
  const [operation] = imported(openApi("3.0", { "/a": { get: { operationId: "very odd id!", tags: ["t"], responses: {} } } })).operations;
  expect(operation?.tool.metadata).toEqual({ http: { method: "GET", path: "/a", operationId: "very odd id!", tags: ["t"] } });
});
