import { describe, expect, test } from "vitest";
import type { ResolvedEffects } from "../../src/core/resources/effects.ts";
import type { Engine } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import { createEffectsResolver } from "../../src/call/admit/resolve-effects.ts";
import { isSequential, liveRoute, route, type RouteQuestion, type RouteRules } from "../../src/call/route.ts";
import { SimulationMode, NO_SIDE_EFFECTS } from "../../src/session/simulation-mode.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";

function engine(more: Partial<Engine> = {}): Engine {
  return { kind: "own", call: () => 1, ...more };
}

function effects(writes: readonly string[], external = false): ResolvedEffects {
  const tool = { name: "act", description: "Acts.", inputSchema: {}, effects: { reads: [], writes, external } };
  return createEffectsResolver({ tool, toolsetName: "shop", warn: () => {}, clock: fakePorts().clock })({});
}

function rulesOf(own: Engine, more: Partial<RouteQuestion> = {}): RouteRules {
  const found = route({
    toolName: "shop::act",
    effects: effects(["item"]),
    liveRoute: liveRoute(own),
    hasNoHandler: false,
    answerers: [],
    simulation: undefined,
    isBranch: false,
    standIns: [],
    ...more,
  });
  if (found instanceof ToolError) throw found;
  return found.rules;
}

const simulation = new SimulationMode(NO_SIDE_EFFECTS);

describe("the rules of a call depend on what answers it", () => {
  test("the tool itself: every call waits for its locks, approval may apply, and equal calls share its answer", () => {
    expect(rulesOf(engine())).toMatchObject({ locks: "all", isConsequential: true, isLiveTool: true, isPretended: false, caches: true });
  });

  test("an engine in its place that may have effects: as the tool, but its answers are not cached as the tool's", () => {
    expect(rulesOf(engine({ origin: "simulated" }))).toMatchObject({
      locks: "all",
      isConsequential: true,
      isLiveTool: false,
      caches: false,
    });
  });

  test("an effect-free engine: only calls of its session wait for it, and approval does not apply", () => {
    const played = engine({ origin: "simulated", effectFree: true });
    expect(rulesOf(played)).toMatchObject({ locks: "session", isConsequential: false, isLiveTool: false, isPretended: false });
  });

  test("simulate of the engine, and a stand-in: no call waits for them, and writes are only pretended", () => {
    const own = engine({ simulate: () => 1 });
    expect(rulesOf(own, { simulation })).toMatchObject({ locks: "none", isPretended: true, usesSimulate: true, sharesParentSession: true });
    const standIns = [{ source: "stub", engine: engine() }] as const;
    expect(rulesOf(engine(), { simulation, standIns })).toMatchObject({
      locks: "none",
      isPretended: true,
      usesSimulate: false,
      sharesParentSession: false,
    });
  });

  test("the cache: no engine is asked, and only answers of the tool itself are stored there", () => {
    const answerers = [{ source: "cache", engine: undefined }] as const;
    expect(rulesOf(engine(), { answerers })).toMatchObject({ onlyCached: true, caches: true, isConsequential: false });
    expect(rulesOf(engine({ origin: "simulated" }), { answerers })).toMatchObject({ onlyCached: true, caches: false });
  });

  test("a pretended answer is never consequential, never counts as the tool's, and never falls back to the tool", () => {
    const answerers = [
      { source: "cache", engine: undefined },
      { source: "stub", engine: engine() },
    ] as const;
    for (const rules of [rulesOf(engine(), { answerers }), rulesOf(engine({ simulate: () => 1 }), { simulation })])
      expect(rules).toMatchObject({ isPretended: true, isConsequential: false, isLiveTool: false });
  });
});

test("a route is sequential if one of its engines is, but not for a cache look-up only", () => {
  const inOrder = liveRoute(engine({ order: "sequential" }));
  expect(isSequential(inOrder)).toBe(true);
  expect(isSequential({ ...liveRoute(engine()), next: inOrder })).toBe(true);
  expect(isSequential({ ...inOrder, rules: { ...inOrder.rules, onlyCached: true } })).toBe(false);
  expect(isSequential(undefined)).toBe(false);
});
