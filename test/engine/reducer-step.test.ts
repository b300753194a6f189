import { describe, expect, test } from "vitest";
import type { ToolContext } from "../../src/core/context.ts";
import { ToolError } from "../../src/core/error.ts";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { Reducer } from "../../src/core/tool.ts";
import { runReducerStep } from "../../src/engine/reducer-step.ts";
import { toolContext } from "./engine-contexts.ts";
import { memoryState, toolWith } from "./lm/lm-calls.ts";

const KEY = "haft:world";

function given(reducer: Reducer | undefined, input: JsonObject = {}) {
  return { tool: toolWith(undefined, reducer === undefined ? {} : { reducer }), input };
}

function withState(value?: JsonValue): ToolContext {
  const state = memoryState();
  if (value !== undefined) state.update(KEY, () => value);
  return toolContext({ toolName: "bank::pay", state });
}

function reduceWorld(call: Parameters<typeof runReducerStep>[0], context: ToolContext): JsonValue | undefined {
  const step = runReducerStep(call, context);
  step?.commit();
  return step?.facts;
}

/** What plain JavaScript may write as a reducer. */
const loose = (reducer: unknown): Reducer => reducer as Reducer;
const count: Reducer = (state) => ({ state: Number(state ?? 0) + 1, facts: { before: state ?? null } });

describe("a reducer", () => {
  test("receives its previous state and the input, and its facts are returned", () => {
    const context = withState();
    const add: Reducer = (state, input) => {
      const sum = Number(state ?? 0) + Number(input["by"]);
      return { state: sum, facts: { sum } };
    };
    expect([reduceWorld(given(add, { by: 2 }), context), reduceWorld(given(add, { by: 3 }), context)]).toEqual([{ sum: 2 }, { sum: 5 }]);
    expect(context.state.get(KEY)).toBe(5);
  });

  test("is optional: without one there are no facts and the state is unchanged", () => {
    const context = withState(7);
    expect([reduceWorld(given(undefined), context), context.state.get(KEY)]).toEqual([undefined, 7]);
  });

  test("that returns no state leaves the state unchanged", () => {
    const context = withState({ a: 1 });
    expect(
      reduceWorld(
        given((state) => ({ facts: state ?? null })),
        context,
      ),
    ).toEqual({ a: 1 });
    expect(context.state.get(KEY)).toEqual({ a: 1 });
  });

  test("changes no state before its step is committed", () => {
    const context = withState(1);
    const step = runReducerStep(given(count), context);
    expect([step?.facts, context.state.get(KEY)]).toEqual([{ before: 1 }, 1]);
    step?.commit();
    expect(context.state.get(KEY)).toBe(2);
  });

  test("whose state another call changed meanwhile fails with a retryable conflict", () => {
    const context = withState(1);
    const step = runReducerStep(given(count), context);
    reduceWorld(given(count), context);
    expect(() => step?.commit()).toThrow(expect.objectContaining({ code: "conflict", retryable: true, outcome: "not_started" }));
    expect(context.state.get(KEY)).toBe(2);
  });

  test("cannot modify the state, only return a new one", () => {
    const context = withState({ list: [1] });
    const sneaky = loose((state: { list: number[] }) => {
      state.list.push(2);
      return { facts: {} };
    });
    expect(() => reduceWorld(given(sneaky), context)).toThrow(
      expect.objectContaining({ code: "execution_failed", hint: "A reducer must return the new state and must not change the old one." }),
    );
    expect(context.state.get(KEY)).toEqual({ list: [1] });
  });

  test("cannot change the state later through an object that it returned", () => {
    const context = withState();
    const kept = { list: [1] };
    const facts = reduceWorld(
      given(() => ({ state: kept, facts: kept })),
      context,
    );
    kept.list.push(2);
    expect([facts, context.state.get(KEY)]).toEqual([{ list: [1] }, { list: [1] }]);
  });
});

describe("a reducer fails", () => {
  const cases: readonly (readonly [string, unknown, object])[] = [
    [
      "with the error it throws, if that says what it is",
      () => {
        throw new ToolError("limit_exceeded", "Not enough money.", { hint: "Pay less." });
      },
      { code: "limit_exceeded", message: "Not enough money.", hint: "Pay less." },
    ],
    [
      "as execution_failed with any other",
      () => {
        throw new TypeError("x is not a function");
      },
      { code: "execution_failed", message: "The reducer of bank::pay failed: x is not a function", retryable: false, outcome: "failed" },
    ],
    ["with no facts", () => ({ state: 1 }), { code: "execution_failed", message: "The reducer of bank::pay returned no facts." }],
    ["with nothing", () => undefined, { code: "execution_failed", message: "The reducer of bank::pay returned no facts." }],
    [
      "with a promise",
      () => Promise.resolve({ facts: {} }),
      { code: "execution_failed", hint: "Return { state, facts }, and not a promise of them." },
    ],
    [
      "with facts that are no JSON",
      () => ({ facts: { n: 1n } }),
      { code: "not_json", message: "The reducer of bank::pay returned facts that cannot be kept: $.n: a bigint is not JSON" },
    ],
    [
      "with a state that is not JSON",
      () => ({ facts: {}, state: new Map() }),
      { code: "not_json", message: "The reducer of bank::pay returned state that cannot be kept: $: a Map is not JSON" },
    ],
    ["with facts that are too long", () => ({ facts: "x".repeat(2_000_000) }), { code: "too_large" }],
  ];
  test.each(cases)("%s", (_what, reducer, error) => {
    const context = withState(3);
    expect(() => reduceWorld(given(loose(reducer)), context)).toThrow(expect.objectContaining(error));
    expect(context.state.get(KEY)).toBe(3);
  });
});
