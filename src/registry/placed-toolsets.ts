/** Toolsets whose resources are at one place, such as a disk or a browser: only a process that has the place runs their calls. */
import { isObject } from "../core/base/is-object.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { Engine } from "../core/engine.ts";
import type { ToolSource } from "../core/source.ts";
import type { Store } from "../core/store/store.ts";
import type { Toolset } from "../core/toolset.ts";

/** The options of a runtime that affect places. */
export interface PlacedOptions {
  readonly toolsets?: readonly Toolset[];
  readonly sources?: readonly ToolSource[];
  readonly places?: readonly string[];
  /** Its processes announce their places. */
  readonly store?: Store;
  readonly strict?: boolean;
}

interface PlaceOptions {
  /** The places that this process has. */
  readonly places: readonly string[];
  readonly store: Store | undefined;
  /** Whether a toolset that fails to open fails the others. */
  readonly strict: boolean;
}

/** Returns the toolsets and sources, with those replaced that this process cannot run. */
export function applyPlaces(options: PlacedOptions): Required<Pick<PlacedOptions, "toolsets" | "sources">> {
  const { toolsets = [], sources = [], places = [], store, strict = false } = options;
  const placing = { places, store, strict };
  return {
    toolsets: toolsets.map((toolset) => applyPlace(toolset, placing)),
    sources: sources.map((source) => applyPlaceToSource(source, placing)),
  };
}

/**
 * Returns the toolset unchanged if this process has its place. Otherwise returns one with the same declared tools, whose calls end with `unavailable`
 * and name the process that has the place; nothing of the toolset is opened or run here.
 */
function applyPlace(toolset: Toolset, options: PlaceOptions): Toolset {
  const place = isObject(toolset) ? toolset.place : undefined; // an invalid toolset is rejected when it is registered
  if (place === undefined || options.places.includes(place)) return toolset;
  const { engine, tools, ...rest } = toolset;
  const listsTools = tools === undefined && engine?.open !== undefined && !options.strict;
  return {
    ...rest,
    engine: createUnavailableEngine(toolset.name, place, { ...options, listsTools }),
    ...(tools === undefined ? {} : { tools: tools.map(({ execute: _execute, ...described }) => described) }),
  };
}

/** Returns a source whose toolsets are replaced likewise. Each toolset keeps the same engine object across loads. */
function applyPlaceToSource(source: ToolSource, options: PlaceOptions): ToolSource {
  if (!isObject(source) || typeof source.load !== "function") return source; // it is rejected when it is opened
  const engines = new Map<string, Engine>();
  const place = (toolset: Toolset): Toolset => {
    const placed = applyPlace(toolset, options);
    if (placed === toolset || placed.engine === undefined) return placed;
    const engine = engines.get(toolset.name) ?? placed.engine;
    engines.set(toolset.name, engine);
    return { ...placed, engine };
  };
  return {
    name: source.name,
    load: async (context) => (await source.load(context)).map(place),
    ...(source.watch === undefined ? {} : { watch: (changed) => source.watch?.(changed) ?? (() => {}) }),
  };
}

/** @param options.listsTools true if the replaced engine lists tools, unknown here: calls of them end with the reason, as if opening had failed */
function createUnavailableEngine(toolset: string, place: string, options: PlaceOptions & { readonly listsTools: boolean }): Engine {
  const failure = (): Promise<ToolError> => wrongPlaceError(toolset, place, options.store);
  return {
    kind: "elsewhere",
    async call() {
      throw await failure();
    },
    ...(options.listsTools
      ? {
          async open() {
            throw await failure();
          },
        }
      : {}),
  };
}

async function wrongPlaceError(toolset: string, place: string, store: Store | undefined): Promise<ToolError> {
  const having = await describeHolders(place, store);
  return new ToolError("unavailable", `The toolset ${JSON.stringify(toolset)} is at the place ${JSON.stringify(place)}, ${having}.`, {
    retryable: false,
    outcome: "not_started",
    hint: "Continue without it, or say that it would be needed.",
    operatorHint: `Begin sessions that need it in a process that has the place: with ?place=${encodeURIComponent(place)}.`,
  });
}

async function describeHolders(place: string, store: Store | undefined): Promise<string> {
  try {
    const found = (await store?.processes())?.filter(({ alive, places }) => alive && places?.includes(place) === true) ?? [];
    if (found.length === 0) return "which no process has now";
    return `which this process does not have: ${found.map(({ name, host, pid }) => `${name ?? "a process"} (process ${pid} on host ${host})`).join(", ")} has it`;
  } catch (thrown: unknown) {
    return `which this process does not have; which one has it is not known: ${describeThrown(thrown)}`;
  }
}
