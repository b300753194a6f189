/**
 * A program without a type checker is told at once what a function takes and what it was given. Every argument of every public call, and
 * every option, is replaced by values of other kinds: none may fail inside of this package, or be ignored.
 */
import { rmSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { ToolError } from "../../src/index.ts";
import { securityHeaders } from "../../src/server.ts";
import { testInCI } from "../test-in-ci.ts";
import { folder, listOf, PUBLIC_CALLS, type PublicCall } from "./public-calls.ts";

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Public functions without a row, each with the reason. */
const WITHOUT_ROW: Readonly<Record<string, string>> = {
  ApiError: "made by a client alone",
  Artifacts: "made by enrich()",
  DataflowGraph: "made by enrich()",
  Enriched: "made by enrich()",
  Keys: "made by openServerAccess()",
  MemoryLog: "takes nothing",
  NoAnswer: "an error",
  PartialJson: "takes nothing",
  RemoteJob: "takes what an engine has made",
  Runtime: "createRuntime() makes it",
  SamplingError: "an error",
  ServerAccess: "made by openServerAccess()",
  ToolError: "an error: test/core/error.test.ts",
  ToolExecutionError: "an error",
  ToolNeighbors: "made by enrich()",
  ToolVectors: "made by enrich()",
  ValidationResult: "made by validateInput()",
  Visibility: "visibilityOf() makes it",
  anthropicMessages: "takes nothing",
  bedrockConverse: "takes nothing",
  cohere: "takes nothing",
  countingIds: "takes nothing",
  createClient: "throws errors of its own: test/client",
  geminiInteractions: "takes nothing",
  mcpApprover: "called by the runtime alone",
  mistral: "takes nothing",
  ollama: "takes nothing",
  openAiResponses: "takes nothing",
  plainWriter: "takes nothing",
  serveMcpStdio: "would read the input of this process",
  settle: "takes nothing",
  supersedesSameInput: "called by the runtime alone",
  virtualClock: "takes nothing",
};

const WRONG: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  null: null,
  string: "5s",
  number: 5,
  "not a number": Number.NaN,
  boolean: true,
  function: () => "x",
  array: ["a"],
  "array of symbols": [Symbol("s")],
  bigint: 5n,
  symbol: Symbol("s"),
  object: { id: "s" },
  promise: Promise.resolve("x"),
  Map: new Map([["a", 1]]),
  Date: new Date(0),
  URL: new URL("https://a.example"),
  Headers: new Headers(),
  Error: new Error("e"),
};

/** Kinds that have no options of any function. */
const NOT_OPTIONS = ["string", "number", "boolean", "function", "promise", "Map", "Date", "URL", "Headers", "Error"];

/** A toolset may be of a class of the program. */
const ANY_OBJECT: ReadonlySet<string> = new Set(["Registry.addToolset"]);

/** Strings in whose place anything is taken, each with the reason. */
const ANY_TEXT: ReadonlySet<string> = new Set([
  "Registry.unregister 0", // false, as for every name that is not there
  "Registry.removeToolset 0",
  "Registry.sizeOf 0",
  "Registry.has 0",
  "Registry.get 0",
  "Registry.overloads 0",
  "Registry.getByFingerprint 0",
  "Registry.getByFingerprint 1",
  "Registry.listDenied 0",
  "Registry.resolve 0", // returns the error
  "Registry.setToolsetState 0", // false, as for every toolset that is not there
  "artifactId 0", // undefined, as for every text without an id
  "endedWell 0", // false, as for every reason that there is not
  "qualifiedName 0", // called for each call
  "qualifiedName 1",
]);

/** Called for each call: a symbol in the place of a name fails as JavaScript says. */
const HOT: ReadonlySet<string> = new Set(["qualifiedName", "Registry.match"]);

type Outcome = { readonly accepted: true } | { readonly error: unknown };

/** An iterator is read to its end: it fails when it is read. */
async function outcomeOf([call]: PublicCall, given: readonly unknown[]): Promise<Outcome> {
  try {
    const value: unknown = await Reflect.apply(call, undefined, given);
    if (typeof value === "object" && value !== null && Symbol.asyncIterator in value && "next" in value)
      await listOf(value as AsyncIterable<unknown>);
    const error: unknown = typeof value === "object" && value !== null && "status" in value && "error" in value ? value.error : undefined;
    if (typeof value === "object" && value !== null && "close" in value && "port" in value)
      await Reflect.apply(value.close as () => unknown, value, []);
    return error === undefined ? { accepted: true } : { error };
  } catch (error: unknown) {
    return { error };
  }
}

function replaced(good: readonly unknown[], at: number, value: unknown): readonly unknown[] {
  return good.with(at, value);
}

/** What is wrong with an outcome; undefined for what is accepted, and for an error that says what was given. */
function faultOf(outcome: Outcome): string | undefined {
  if ("accepted" in outcome || outcome.error instanceof ToolError) return undefined;
  const { error } = outcome;
  if (typeof error === "object" && error !== null && "code" in error && "outcome" in error) return undefined; // of a result
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

async function hasOptionsAt(row: PublicCall, good: readonly unknown[], at: number): Promise<readonly string[] | undefined> {
  const given = good[at];
  if (typeof given !== "object" || given === null || Object.getPrototypeOf(given) !== Object.prototype) return undefined;
  const outcome = await outcomeOf(row, replaced(good, at, { ...given, quuxzz: 1 }));
  const error = "error" in outcome && outcome.error instanceof ToolError ? outcome.error : undefined;
  if (error === undefined || !error.message.endsWith(' has no option "quuxzz".')) return undefined;
  return /^There are (.*)\.$/u.exec(error.hint ?? "")?.[1]?.split(", ") ?? [];
}

const rows = Object.entries(PUBLIC_CALLS).map(([name, row]) => ({ name, row, good: row.slice(1) as readonly unknown[] }));

test("every public function has a row, or a reason for having none", async () => {
  const root = new URL("../../", import.meta.url);
  const { exports } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly "haft-source": string }>>;
  };
  const names = new Set<string>();
  for (const entry of Object.values(exports)) {
    if (typeof entry === "string") continue;
    const module = (await import(pathToFileURL(join(root.pathname, entry["haft-source"])).href)) as Readonly<Record<string, unknown>>;
    for (const [name, value] of Object.entries(module)) if (typeof value === "function") names.add(name);
  }
  const without = [...names].filter((name) => !Object.hasOwn(PUBLIC_CALLS, name) && !Object.hasOwn(PUBLIC_CALLS, `new ${name}`)).toSorted();
  expect(without).toEqual(Object.keys(WITHOUT_ROW).toSorted());
});

describe("an argument of the wrong type is reported instead of failing inside", () => {
  test.each(rows)("$name", async ({ name, row, good }) => {
    const faults: string[] = [];
    for (const at of good.keys()) {
      const isOptions = (await hasOptionsAt(row, good, at)) !== undefined && !ANY_OBJECT.has(name);
      for (const [kind, value] of Object.entries(WRONG)) {
        if (HOT.has(name) && kind.includes("symbol")) continue;
        const outcome = await outcomeOf(row, replaced(good, at, value));
        const fault = faultOf(outcome);
        if (fault !== undefined) faults.push(`argument ${at}, ${kind}: ${fault}`);
        if (isOptions && NOT_OPTIONS.includes(kind) && "accepted" in outcome)
          faults.push(`argument ${at}: options that are ${kind} are ignored`);
        const isText = typeof good[at] === "string" && !ANY_TEXT.has(`${name} ${at}`);
        if (isText && ["object", "promise"].includes(kind) && "accepted" in outcome)
          faults.push(`argument ${at}: ${kind} is taken for a string`);
      }
    }
    expect(faults).toEqual([]);
  });
});

testInCI(
  "an option of the wrong type is reported instead of failing inside",
  async () => {
    const faults: string[] = [];
    for (const { name, row, good } of rows)
      for (const at of good.keys())
        for (const option of (await hasOptionsAt(row, good, at)) ?? [])
          for (const [kind, value] of Object.entries(WRONG)) {
            const fault = faultOf(await outcomeOf(row, replaced(good, at, { ...(good[at] as object), [option]: value })));
            if (fault !== undefined) faults.push(`${name}, ${option}, ${kind}: ${fault}`);
          }
    expect(faults).toEqual([]);
  },
  120_000,
);

test("a promise that was not awaited is reported, with a hint", async () => {
  const { buildPrompt, createRuntime } = { ...(await import("../../src/public/prompt.ts")), ...(await import("../../src/index.ts")) };
  const awaited = Promise.resolve(createRuntime().registry) as never;
  expect(() => buildPrompt(awaited)).toThrow(
    expect.objectContaining({
      code: "invalid_argument",
      message: "buildPrompt() takes a registry of tools, not a promise.",
      hint: "A promise was given: put await before it.",
    }),
  );
});

test("an undefined item, as in [process.env.HOST], is reported", () => {
  expect(() => securityHeaders({ corsOrigins: ["https://a.example", undefined as never] })).toThrow(
    expect.objectContaining({
      code: "invalid_argument",
      message: 'The option "corsOrigins" of securityHeaders() must be an array of strings, not an array.',
      hint: "Its item 1 is undefined.",
    }),
  );
});
