/** Names of tools: legal, unique, stable, and with a way back. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { operationName } from "../../../src/engine/openapi/operation-name.ts";
import { imported, openApi } from "./imported.ts";

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/u;

function nameOf(operationId: string | undefined, method: string = "GET", path: string = "/"): string {
  return operationName({ method, path, operationId });
}

test("F14 an id that can stand as it is does; slashes and dots are written so that one can read them", () => {
  expect(["listPets", "read_items_items__item_id__get", "repos/get-content", "chat.postMessage"].map((id) => nameOf(id))).toEqual([
    "listPets",
    "read_items_items__item_id__get",
    "repos--get-content",
    "chat-_postMessage",
  ]);
});

test("F14 an operation without an id is named after method and path", () => {
  expect([
    nameOf(undefined, "GET", "/pets/{petId}"),
    nameOf("", "PATCH", "/a/b.txt"),
    nameOf(undefined, "GET", "/"),
    nameOf(undefined, "GET", "/a/"),
  ]).toEqual(["get_pets--by-petId", "patch_a--b-_txt", "get_", "get_a--"]);
});

test("F14 a name that would not lead back, or is too long, ends with a hash of the original", () => {
  const names = ["repos--get", "a b", "a_b_0123abcd", "é", "x".repeat(90), `${"x".repeat(89)}y`, "a-/b", "a/-b"].map((id) => nameOf(id));
  expect(names.map((name) => name.replace(/_[0-9a-f]{8}$/u, "_#"))).toEqual([
    "repos--get_#",
    "a_b_#",
    "a_b_0123abcd_#",
    "__#",
    `${"x".repeat(55)}_#`,
    `${"x".repeat(55)}_#`,
    "a---b_#",
    "a---b",
  ]);
  expect(new Set(names).size).toBe(names.length);
});

test("F14 names are legal, and different for different operations, whatever the document has", () => {
  const text = fc.oneof(fc.string({ maxLength: 80, unit: "binary" }), fc.stringMatching(/^[ab/._-]{1,8}$/u), fc.constant(undefined));
  const path = fc.stringMatching(/^\/[ab{}/._-]{0,8}$/u);
  fc.assert(
    fc.property(fc.array(fc.tuple(text, path), { minLength: 2, maxLength: 30 }), (all) => {
      const byName = new Map<string, string>();
      for (const [id, at] of all) {
        const name = nameOf(id, "GET", at);
        const original = id === undefined || id === "" ? `GET ${at}` : id;
        expect(name).toMatch(LEGAL);
        // Only an id that is spelled like another's method and path can meet it.
        if (!original.startsWith("get_") && !(byName.get(name) ?? "").startsWith("get_"))
          expect(byName.get(name) ?? original).toBe(original);
        byName.set(name, original);
      }
    }),
    { numRuns: 500 },
  );
});

test("F14 operations of one id are told apart by method and path, in whatever order they come", () => {
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

test("F14 the original is kept beside the name", () => {
  const [operation] = imported(openApi("3.0", { "/a": { get: { operationId: "very odd id!", tags: ["t"], responses: {} } } })).operations;
  expect(operation?.tool.metadata).toEqual({ http: { method: "GET", path: "/a", operationId: "very odd id!", tags: ["t"] } });
});
