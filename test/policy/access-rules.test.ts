/** Issue 19.5: each principal sees and calls the tools that its rules allow, and no others. */
import { expect, test } from "vitest";
import { AccessRules, type AccessRule, type RuleSubject } from "../../src/policy/access-rules.ts";

const TOOLS = ["files::read", "files::delete", "web::fetch", "default::look"] as const;

function seen(rules: readonly AccessRule[], principal: Partial<RuleSubject> = {}): readonly string[] {
  const visibility = new AccessRules(rules).visibilityOf({ id: "key:a1", name: "CI", ...principal });
  return TOOLS.filter((name) => visibility?.permits(name) ?? true);
}

const FILES: AccessRule = { principals: ["key:*"], allow: ["files::*"] };

test("issue 19.5 without rules a principal sees every tool; with rules of which none applies it sees none", () => {
  expect(seen([])).toEqual(TOOLS);
  expect(seen([{ principals: ["token:*"], allow: ["*"] }])).toEqual([]);
  expect(seen([FILES], { id: "token:https://a#b", name: "b" })).toEqual([]);
});

test("issue 19.5 rules that apply are combined: one must allow the tool, and none may deny it", () => {
  expect(seen([FILES])).toEqual(["files::read", "files::delete"]);
  expect(seen([FILES, { principals: ["CI"], allow: ["web::*"] }])).toEqual(["files::read", "files::delete", "web::fetch"]);
  expect(seen([FILES, { deny: ["*::delete"] }])).toEqual(["files::read"]);
  expect(seen([{ deny: ["*::delete"] }])).toEqual(["files::read", "web::fetch", "default::look"]);
});

test("issue 19.5 the patterns of a key can only narrow the tools", () => {
  expect(seen([], { tools: { allow: ["web::*"] } })).toEqual(["web::fetch"]);
  expect(seen([FILES], { tools: { allow: ["web::*", "files::read"] } })).toEqual(["files::read"]);
  expect(seen([FILES], { tools: { deny: ["files::delete"] } })).toEqual(["files::read"]);
});

test("issue 19.5 a principal created by another never has a tool that its maker lacks, with rules or without", () => {
  const maker = { id: "key:b2", name: "ops", tools: { allow: ["files::*"] } };
  expect(seen([], { maker })).toEqual(["files::read", "files::delete"]);
  expect(seen([], { maker, tools: { allow: ["web::fetch", "files::read"] } })).toEqual(["files::read"]);
  expect(seen([{ deny: ["*::delete"] }], { maker })).toEqual(["files::read"]);
  expect(seen([FILES], { maker: { ...maker, id: "local" } })).toEqual([]);
});

test("issue 19.5 claims match by value, as one of several values, and by JSON Pointer; all claims of a rule must match", () => {
  const roles: AccessRule = { claims: { "/realm_access/roles": "ops", team: "blue" }, allow: ["*"] };
  const claims = { team: ["blue", "red"], realm_access: { roles: ["dev", "ops"] } };
  expect(seen([roles], { claims })).toEqual(TOOLS);
  for (const other of [
    undefined,
    {},
    { ...claims, team: "BLUE" },
    { ...claims, realm_access: { roles: "opsy" } },
    { team: { blue: "blue" } },
  ])
    expect(seen([roles], other === undefined ? {} : { claims: other })).toEqual([]);
  expect(seen([{ claims: { constructor: "x", __proto__: "y" }, allow: ["*"] }], { claims: {} })).toEqual([]);
});

test("issue 19.5 patterns over ids are literal except for the star", () => {
  const id = "token:https://login.example/a*b#u.v";
  expect(seen([{ principals: ["token:https://login.example/*#u.v"], allow: ["*"] }], { id })).toEqual(TOOLS);
  for (const pattern of ["token:https://login.example/*#u", "token:.*", "*#uxv", "key:*"])
    expect(seen([{ principals: [pattern], allow: ["*"] }], { id })).toEqual([]);
});

test.each<[unknown, string]>([
  [{}, "has neither allow nor deny"],
  [{ principals: [], allow: ["*"] }, "principals of the rule 1"],
  [{ principals: ["a", 7], allow: ["*"] }, "principals of the rule 1"],
  [{ claims: {}, allow: ["*"] }, "claims of the rule 1"],
  [{ claims: { team: ["a"] }, allow: ["*"] }, 'The claim "team" of the rule 1'],
  [{ allow: [""] }, "empty pattern"],
  [{ alow: ["*"] }, '"alow"'],
])("issue 19.5 the rule %j is rejected", (rule, message) => {
  expect(() => new AccessRules([rule as AccessRule])).toThrow(
    expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(message) }),
  );
});

test("issue 19.5 the name in a token is a claim that its user may have chosen: it matches no pattern over names and ids", () => {
  const rules: readonly AccessRule[] = [
    FILES,
    { principals: ["CI"], allow: ["web::*"] },
    { principals: ["token:*"], allow: ["default::*"] },
  ];
  for (const name of ["CI", "key:a1"])
    expect(seen(rules, { id: "token:https://a#b", name, claims: { sub: "b", name } })).toEqual(["default::look"]);
});
