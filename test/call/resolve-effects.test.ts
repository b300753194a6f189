import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { external, isSameOrInside, pure, readOnly, type ResolvedEffects, type Effects } from "../../src/core/resources/effects.ts";
import type { ResourceKeys } from "../../src/core/resources/resource-keys.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Clock } from "../../src/core/ports.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createEffectsResolver } from "../../src/call/admit/resolve-effects.ts";
import { ResourceLocks } from "../../src/policy/locks/resource-locks.ts";
import { fakePorts, settle } from "../../src/testing/fake-ports.ts";

function toolWith(effects: Effects | undefined): Tool {
  return { name: "act", description: "Acts.", inputSchema: {}, ...(effects === undefined ? {} : { effects }) };
}

/** A resolver and what it warned of. */
function resolverOf(
  effects: Effects | undefined,
  toolset = "files",
): { readonly resolve: (input: JsonObject) => ResolvedEffects; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const { clock } = fakePorts();
  return { resolve: createEffectsResolver({ tool: toolWith(effects), toolsetName: toolset, warn, clock }), warnings };
}

function effectsOf(effects: Effects | undefined, toolset?: string): ResolvedEffects {
  return resolverOf(effects, toolset).resolve({});
}

/** What a caller in plain JavaScript, or a file, can put where keys belong. */
function unchecked(keys: unknown): ResourceKeys {
  return keys as ResourceKeys; // the one cast: wrong types are the case under test
}

const plain = { writesWorld: false, hasSessionKeys: false, undeclared: false, external: false, destructive: false, commutative: false };

const UNDECLARED: ResolvedEffects = {
  ...plain,
  reads: [],
  writes: ["toolset:files"],
  undeclared: true,
  writesWorld: true,
  repeatable: false,
  lock: { reads: [], writes: ["toolset:files"], commutative: false },
};

describe("unusable keys", () => {
  test.each<readonly [string, ResourceKeys, string]>([
    [
      "a throw",
      () => {
        throw new Error("boom");
      },
      '"reads" threw: boom',
    ],
    ["a promise", unchecked(async () => ["file:/a"]), '"reads" returned a promise'],
    ["a promise that rejects", unchecked(async () => Promise.reject(new Error("late"))), '"reads" returned a promise'],
    ["a number", unchecked(5), '"reads" returned a value of type number instead of an array'],
    [
      "a template without an end",
      "stock:{item",
      '"reads" threw: The resource key "stock:{item" cannot be read: "{" has no matching brace.',
    ],
    ["a template without a name", ["a:", "stock:{}"], '"reads" threw: The resource key "stock:{}" cannot be read: "{}" names no property.'],
    ["a template without a value", "stock:{item}", '"reads" threw: the input has no text for "{item}"'],
    [
      "a key made of what is not there",
      (input) => `stock:${String(input["item"])}`,
      '"reads" returned the key "stock:undefined", which was made from a missing value',
    ],
    [
      "a key made of an object",
      () => [`file:/a/${String({})}/b`],
      '"reads" returned the key "file:/a/[object Object]/b", which was made from a missing value',
    ],
    ["null", unchecked(null), '"reads" returned null instead of an array'],
    ["undefined", unchecked(() => undefined), '"reads" returned a value of type undefined instead of an array'],
    ["a key that is not a string", unchecked(["a:", 5]), '"reads" returned a key of type number'],
    ["a hole", unchecked(Array.from({ length: 1 })), '"reads" returned a key of type undefined'],
    ["an empty key", [""], '"reads" returned an empty key'],
    ["a key of 1,025 characters", ["x".repeat(1_025)], '"reads" returned a key of 1025 characters'],
    ["65 keys", Array.from({ length: 65 }, (_, index) => `k:${index}`), '"reads" returned 65 keys'],
    [
      "an array whose entries throw",
      unchecked(new Proxy(["a:"], { get: (keys, name) => (name === "0" ? fail() : Reflect.get(keys, name)) })),
      '"reads" threw: no entry',
    ],
  ])("%s counts as undeclared, with one warning that has the tool and the reason", async (_, keys, reason) => {
    const { resolve, warnings } = resolverOf({ reads: keys, writes: [], commutative: true });
    expect(resolve({})).toEqual(UNDECLARED);
    expect(resolve({})).toEqual(UNDECLARED);
    expect(warnings).toEqual([
      `The effects of tool "files::act" could not be used: ${reason}. Such a call counts as undeclared, so it waits for every call of its toolset. ` +
        "Give at most 64 keys, each a string of 1 to 1024 characters made from values that the input has, or a function that returns them at once.",
    ]);
    await settle(); // a rejected promise left alone would fail the run here
  });

  test("unusable writes count as undeclared too", () => {
    const { resolve, warnings } = resolverOf({ reads: ["a:"], writes: (input) => [String(input["path"] ?? "")] });
    expect(resolve({})).toEqual(UNDECLARED);
    expect(resolve({ path: "b:" }).writes).toEqual(["b:"]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('"writes" returned an empty key');
  });

  test("a long reason is cut to 200 characters", () => {
    const { resolve, warnings } = resolverOf({
      reads: () => {
        throw new Error("x".repeat(10_000));
      },
    });
    resolve({});
    expect(warnings[0]).toContain(`threw: ${"x".repeat(200)}. Such`);
  });

  test("64 keys of 1,024 characters are usable", () => {
    const keys = Array.from({ length: 64 }, (_, index) => `${index}:`.padEnd(1_024, "x"));
    expect(effectsOf({ reads: keys })).toEqual({
      ...plain,
      reads: keys,
      writes: [],
      repeatable: true,
      lock: { reads: ["toolset:files/reads", ...keys], writes: [], commutative: false },
    });
  });

  test("an idempotent tool may be repeated although its keys are unusable", () => {
    expect(effectsOf({ writes: [""], idempotent: true })).toEqual({ ...UNDECLARED, repeatable: true });
  });

  test("functions that take more than 50 ms are logged once, and their keys are used", () => {
    const warnings: string[] = [];
    const tool = toolWith({ reads: () => ["a:"] });
    let now = 0;
    const slow: Clock = { now: () => (now += 50.5), wallTime: () => 0, timer: () => () => {} };
    const resolve = createEffectsResolver({ tool, toolsetName: "files", warn: (message) => void warnings.push(message), clock: slow });
    expect(resolve({}).reads).toEqual(["a:"]);
    resolve({});
    expect(warnings).toEqual([
      'The effects of tool "files::act" took 50.5 ms to work out; no other call runs during that time. Stay below 50 ms: no I/O, no heavy work.',
    ]);
  });
});

function fail(): never {
  throw new Error("no entry");
}

/** The locks of one written key: as itself, and among the writes of the toolset. */
const lockedWrite = (key: string): readonly string[] => [key, `toolset:files/writes/${key}`];

describe("resolved effects", () => {
  test.each<readonly [string, Effects | undefined, Partial<ResolvedEffects>]>([
    ["nothing declared writes the whole toolset", undefined, UNDECLARED],
    ["effects without keys too", external, { ...UNDECLARED, external: true }],
    ["undeclared but idempotent may be repeated", { idempotent: true }, { ...UNDECLARED, repeatable: true }],
    [
      "undeclared but commutative shares the toolset with its like",
      { commutative: true },
      { ...UNDECLARED, commutative: true, lock: { reads: [], writes: ["toolset:files"], commutative: true } },
    ],
    [
      "destructive is kept",
      { writes: ["a:"], destructive: true },
      {
        reads: [],
        writes: ["a:"],
        destructive: true,
        repeatable: false,
        lock: { reads: [], writes: lockedWrite("a:"), commutative: false },
      },
    ],
    ["pure locks nothing", pure, { reads: [], writes: [], repeatable: true, lock: { reads: [], writes: [], commutative: false } }],
    [
      "readOnly() reads the toolset",
      readOnly(),
      { reads: ["toolset:files"], writes: [], repeatable: true, lock: { reads: ["toolset:files"], writes: [], commutative: false } },
    ],
    [
      "no writes and nothing said of reads is the same",
      { writes: [] },
      { reads: ["toolset:files"], writes: [], repeatable: true, lock: { reads: ["toolset:files"], writes: [], commutative: false } },
    ],
    [
      "only reads declared writes nothing",
      { reads: ["a:"] },
      { reads: ["a:"], writes: [], repeatable: true, lock: { reads: ["toolset:files/reads", "a:"], writes: [], commutative: false } },
    ],
    [
      "only writes declared reads nothing",
      { writes: ["a:"] },
      { reads: [], writes: ["a:"], repeatable: false, lock: { reads: [], writes: lockedWrite("a:"), commutative: false } },
    ],
    [
      "an idempotent writer may be repeated",
      { writes: ["a:"], idempotent: true },
      { reads: [], writes: ["a:"], repeatable: true, lock: { reads: [], writes: lockedWrite("a:"), commutative: false } },
    ],
    [
      "slashes at the end and repeats go, and a key that is written is no read",
      { reads: ["file:/a/", "file:/a", "b:"], writes: ["b:/", "b:"] },
      {
        reads: ["file:/a"],
        writes: ["b:"],
        repeatable: false,
        lock: { reads: ["file:/a"], writes: lockedWrite("b:"), commutative: false },
      },
    ],
    [
      "a root keeps its meaning",
      { reads: ["file:/", "//"] },
      {
        reads: ["file:", "/"],
        writes: [],
        repeatable: true,
        lock: { reads: ["toolset:files/reads", "file:", "/"], writes: [], commutative: false },
      },
    ],
    [
      "commutative writers share",
      { writes: ["a:"], commutative: true },
      {
        reads: [],
        writes: ["a:"],
        repeatable: false,
        commutative: true,
        lock: { reads: [], writes: lockedWrite("a:"), commutative: true },
      },
    ],
  ])("%s", (_, effects, expected) => {
    const { resolve, warnings } = resolverOf(effects);
    expect(resolve({})).toEqual({ ...plain, writesWorld: (expected.writes?.length ?? 0) > 0, ...expected });
    expect(warnings).toEqual([]);
  });

  test("a slash in a toolset's name does not nest it in another toolset", () => {
    expect(effectsOf(undefined, "a/b%2Fc").writes).toEqual(["toolset:a%2Fb%252Fc"]);
    expect(isSameOrInside("toolset:a%2Fb", "toolset:a")).toBe(false);
  });

  test("functions receive the input and run again for each call", () => {
    const { resolve } = resolverOf({
      reads: (input) => [`file:${String(input["from"])}`],
      writes: (input) => [`file:${String(input["to"])}`],
    });
    expect(resolve({ from: "/a", to: "/b/" })).toEqual({
      ...plain,
      writesWorld: true,
      reads: ["file:/a"],
      writes: ["file:/b"],
      repeatable: false,
      lock: { reads: ["file:/a"], writes: lockedWrite("file:/b"), commutative: false },
    });
    expect(resolve({ from: "/c", to: "/c" })).toEqual({
      ...plain,
      writesWorld: true,
      reads: [],
      writes: ["file:/c"],
      repeatable: false,
      lock: { reads: [], writes: lockedWrite("file:/c"), commutative: false },
    });
  });

  test("a function that returns no writes makes the call a read of the toolset, or of nothing with reads: []", () => {
    expect(resolverOf({ writes: () => [] }).resolve({})).toEqual(effectsOf(readOnly()));
    expect(resolverOf({ reads: [], writes: () => [] }).resolve({})).toEqual(effectsOf(pure));
  });

  test("fixed keys resolve to one frozen object that later changes of the declaration do not affect", () => {
    const keys = ["a:"];
    const { resolve } = resolverOf({ reads: keys });
    const first = resolve({});
    keys.push("b:");
    expect(resolve({ x: 1 })).toBe(first);
    expect(first.reads).toEqual(["a:"]);
    for (const part of [first, first.reads, first.writes, first.lock, first.lock.reads, first.lock.writes])
      expect(Object.isFrozen(part)).toBe(true);
  });
});

/** True when a second call with these effects waits for the first. */
function waits(first: ResolvedEffects, second: ResolvedEffects): boolean {
  const locks = new ResourceLocks();
  locks.request({ owner: "first", ...first.lock });
  return !locks.request({ owner: "second", ...second.lock }).granted;
}

describe("which calls wait for each other", () => {
  const undeclared = undefined;
  const keyless = readOnly();
  const reader = readOnly("file:/a");
  const writer: Effects = { writes: ["file:/a"] };
  const otherWriter: Effects = { writes: ["file:/b"] };
  const adder: Effects = { writes: ["file:/a"], commutative: true };

  test.each<readonly [string, Effects | undefined, Effects | undefined, boolean]>([
    ["undeclared calls wait for each other", undeclared, undeclared, true],
    ["a keyless read waits for an undeclared call", undeclared, keyless, true],
    ["a read of keys waits for an undeclared call", undeclared, reader, true],
    ["a write of keys waits for an undeclared call", undeclared, writer, true],
    ["a pure call waits for nobody", undeclared, pure, false],
    ["keyless reads share", keyless, keyless, false],
    ["a keyless read shares with a read of keys", keyless, reader, false],
    ["a keyless read waits for any writer of the toolset", otherWriter, keyless, true],
    ["a keyless read waits for a commutative writer", adder, keyless, true],
    ["writers of different keys share", writer, otherWriter, false],
    ["writers of one key wait", writer, writer, true],
    ["a writer of a folder waits for a writer in it", writer, { writes: ["file:/"] }, true],
    ["commutative writers of one key share", adder, adder, false],
    ["a commutative writer waits for a plain one", writer, adder, true],
    ["a reader waits for the writer of its key", writer, reader, true],
    ["a reader shares with the writer of another key", otherWriter, reader, false],
    ["a writer of the toolset's own key waits for every reader of it", keyless, { writes: ["toolset:files"] }, true],
    ["writers of own keys inside the toolset share", { writes: ["toolset:files/a"] }, { writes: ["toolset:files/b"] }, false],
    ["undeclared commutative calls share", { commutative: true }, { commutative: true }, false],
    ["an undeclared commutative call waits for a plain undeclared one", undeclared, { commutative: true }, true],
  ])("%s", (_, first, second, expected) => {
    expect(waits(effectsOf(first), effectsOf(second))).toBe(expected);
    expect(waits(effectsOf(second), effectsOf(first))).toBe(expected);
  });

  test("an undeclared call and a read without keys do not wait for another toolset, but a shared key does", () => {
    for (const first of [undeclared, keyless, writer, reader]) {
      for (const second of [undeclared, keyless, otherWriter])
        expect(waits(effectsOf(first, "files"), effectsOf(second, "web"))).toBe(false);
    }
    expect(waits(effectsOf(writer, "files"), effectsOf(reader, "web"))).toBe(true);
  });

  test("implicit keys do not make two calls wait that may share under the rules", () => {
    const keys = fc.uniqueArray(fc.constantFrom("file:", "file:/a", "file:/a/b", "file:/ab", "db:t/1", "db:t"), {
      minLength: 1,
      maxLength: 3,
    });
    const declared = fc.oneof(
      fc.constant<Effects>({}),
      fc.constant<Effects>(readOnly()),
      fc.constant<Effects>(pure),
      fc.record({ reads: keys }),
      fc.record({ writes: keys, commutative: fc.boolean() }),
      fc.record({ reads: keys, writes: keys, commutative: fc.boolean() }),
    );
    fc.assert(
      fc.property(declared, declared, fc.boolean(), (one, other, sameToolset) => {
        const [first, second] = [effectsOf(one), effectsOf(other, sameToolset ? "files" : "web")];
        expect(waits(first, second)).toBe(mustWait(first, second, sameToolset));
      }),
      { seed: 3, numRuns: 3_000 },
    );
  });
});

const touchesNothing = (effects: ResolvedEffects): boolean => effects.reads.length + effects.writes.length === 0;
const readsToolset = (effects: ResolvedEffects): boolean => effects.reads.some((key) => key.startsWith("toolset:"));

function overlap(left: readonly string[], right: readonly string[]): boolean {
  return left.some((one) => right.some((other) => isSameOrInside(one, other) || isSameOrInside(other, one)));
}

/** The table of `ResolvedEffects`, in words. */
function mustWait(one: ResolvedEffects, other: ResolvedEffects, sameToolset: boolean): boolean {
  if (touchesNothing(one) || touchesNothing(other)) return false;
  if (sameToolset && (one.undeclared || other.undeclared)) return true;
  if (sameToolset && readsToolset(one) && other.writes.length > 0) return true;
  if (sameToolset && readsToolset(other) && one.writes.length > 0) return true;
  if (overlap(one.writes, other.writes) && !(one.commutative && other.commutative)) return true;
  return overlap(one.writes, other.reads) || overlap(one.reads, other.writes);
}

describe("key templates", () => {
  test.each<[ResourceKeys, JsonObject, readonly string[]]>([
    ["stock:{item}", { item: "bolt" }, ["stock:bolt"]],
    ["session:{note}", { note: "session:a" }, ["session:session:a"]],
    ["stock:{ item }/{count}", { item: "a/b", count: 3 }, ["stock:a/b/3"]],
    ["order:{order.id}", { order: { id: 7 } }, ["order:7"]],
    [["flag:{on}", "fixed:"], { on: false }, ["flag:false", "fixed:"]],
    ["file:{paths}", { paths: ["/a", "/b/"] }, ["file:/a", "file:/b"]],
    ["{folder}/{names}", { folder: "/a", names: ["x", "y"] }, ["/a/x", "/a/y"]],
    ["a{{b}}", {}, ["a{b}"]],
    ["{text}", { text: "{other}" }, ["{other}"]],
    [({ item }) => `stock:${String(item)}`, { item: "nut" }, ["stock:nut"]],
  ])("%j with %j writes %j", (writes, input, keys) => {
    const { resolve, warnings } = resolverOf({ reads: [], writes });
    expect(resolve(input)).toMatchObject({ undeclared: false, writes: keys });
    expect(warnings).toEqual([]);
  });

  test.each<[ResourceKeys, JsonObject]>([
    ["stock:{item}", {}],
    ["stock:{item}", { item: null }],
    ["{key}", { key: "session:notes" }],
    ["{keys}", { keys: ["file:/a", "session:notes"] }],
    ["sess{rest}", { rest: "ion:notes" }],
    ["stock:{item}", { item: { id: 1 } }],
    ["stock:{item.id}", { item: "id" }],
    ["stock:{toString}", {}],
    ["file:{paths}", { paths: ["/a", null] }],
    ["file:{paths}", { paths: [] }],
    ["{a}{a}{a}", { a: Array.from({ length: 60 }, (_, index) => index) }],
  ])("%j with %j counts as undeclared and warns", (writes, input) => {
    const { resolve, warnings } = resolverOf({ writes });
    expect(resolve(input)).toEqual(UNDECLARED);
    expect(warnings).toHaveLength(1);
  });
});
