/** Draws the tools of a conversation, in the order in which they are called. */
import { pushAll } from "../../core/collections/push-all.ts";
import { addTo } from "../../core/base/add-to.ts";
import { ToolError } from "../../core/error.ts";
import type { Random } from "../../core/ports.ts";
import { shuffle, seededRandom } from "../../core/base/seeded-random.ts";
import { plural, formatListWithCount } from "../../core/base/wording.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { toolSubject } from "./tool-subject.ts";
import type { CatalogTool } from "../catalog.ts";
import { dataflow, DATAFLOW } from "../dataflow.ts";
import { DataflowGraph } from "../dataflow-graph.ts";
import { enrich } from "../enrich.ts";
import { matchByWords } from "../text-match.ts";
import type { Tool } from "../../core/tool.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { yieldToEventLoop } from "../run-limited.ts";
import { DEFAULT_CALLS, type SampledPlan, type SampleKind } from "./conversation-plan.ts";
import { hasAsyncRules, canBeCalled } from "./turn-planner.ts";
import { ToolFlow } from "./tool-flow.ts";

/** Draws the tools that a conversation calls, in order; deterministic for the same seed. */
export type DrawTools = (seed: string) => readonly CatalogTool[];

export interface PreparedToolDraw {
  readonly draw: DrawTools;
  readonly flow: ToolFlow;
  /** Returns remarks for the person who generates the conversations, on what was drawn so far as well. */
  notes(): readonly string[];
}

export interface ToolDrawOptions {
  readonly registry: Registry;
  /** The qualified names of the tools that may be called. */
  readonly offered: ReadonlySet<string>;
  readonly signal?: AbortSignal | undefined;
}

/** Prepares the draw of a sampled plan. @throws ToolError `invalid_argument` if there are no tools to draw from; `cancelled` if the signal aborts */
export async function prepareToolDraw(plan: SampledPlan, { registry, offered, signal }: ToolDrawOptions): Promise<PreparedToolDraw> {
  const { calls = DEFAULT_CALLS, sampler } = plan;
  const { usable: listed, quarantined } = await checkTools(
    registry.list().filter(({ qualifiedName }) => offered.has(qualifiedName)),
    signal,
  );
  const enriched = await enrich({ list: () => listed }, [dataflow()], omitUndefined({ signal }));
  const { silent = [], refused = [], usable = [] } = Object.groupBy(enriched.tools, ({ tool }) => classifyTool(tool));
  const notes = [
    ...omissionNotes(namesOf(quarantined), "they cannot be used"),
    ...omissionNotes(namesOf(silent), "they do not describe their input"),
    ...omissionNotes(namesOf(refused), "their own rules refuse every generated input"),
    ...asyncRuleNotes(namesOf(usable.filter(({ tool }) => hasAsyncRules(tool)))),
  ];
  await yieldToEventLoop(signal);
  const flow = new ToolFlow(usable, enriched.artifacts.require(DATAFLOW, DataflowGraph));
  await yieldToEventLoop(signal);
  if (sampler !== undefined) return { ...withCallNotes((seed) => sampler.sample({ seed }), notes), flow };
  if (usable.length === 0)
    throw new ToolError("invalid_argument", "There are no tools to draw from.", { details: notes, hint: "Offer some, or allow more." });
  const asked: SampleKind = plan.sample ?? "chain";
  const isLinked = asked !== "chain" || flow.hasEdges;
  if (!isLinked) notes.push(`No tool takes what another returns, so the tools are drawn at random.`);
  const kind = isLinked ? asked : "random";
  if (calls > usable.length)
    notes.push(`${plural(calls, "call")} were requested, but ${formatToolCount(usable.length)} called more than once.`);
  const size = Math.min(calls, usable.length);
  const draw = withCallableTool(createDraw(kind, { usable, flow, size }));
  if (kind === "chain") pushAll(notes, findChainLengthNotes(flow, draw, size));
  return { ...withCallNotes(draw, notes), flow };
}

/** Notes each drawn tool for which no input can be generated. */
function withCallNotes(draw: DrawTools, notes: readonly string[]): Omit<PreparedToolDraw, "flow"> {
  const uncalled = new Set<string>();
  return {
    draw(seed) {
      const tools = draw(seed);
      for (const { tool, qualifiedName } of tools) if (!canBeCalled(tool)) uncalled.add(qualifiedName);
      return tools;
    },
    notes: () => [
      ...notes,
      ...(uncalled.size === 0
        ? []
        : [`Drawn but not called, since no input that fits their schema was found: ${formatListWithCount([...uncalled].sort())}.`]),
    ],
  };
}

/** Number of tools that are compiled before yielding to the event loop. */
const AT_ONCE = 50;

async function checkTools(
  tools: readonly RegisteredTool[],
  signal: AbortSignal | undefined,
): Promise<{ readonly usable: readonly RegisteredTool[]; readonly quarantined: readonly RegisteredTool[] }> {
  const usable: RegisteredTool[] = [];
  const quarantined: RegisteredTool[] = [];
  for (const [index, tool] of tools.entries()) {
    (tool.quarantine === undefined ? usable : quarantined).push(tool);
    if (index % AT_ONCE === AT_ONCE - 1) await yieldToEventLoop(signal);
  }
  return { usable, quarantined };
}

function formatToolCount(tools: number): string {
  return tools === 1 ? "there is 1 tool: it is" : `there are ${tools} tools: they are`;
}

/** `silent`: an empty schema; `refused`: by the tool's own rules. Tools without rules are only tried when drawn, because there may be many. */
function classifyTool(tool: Tool): "silent" | "refused" | "usable" {
  const { inputSchema, validate, parseInput } = tool;
  if (typeof inputSchema !== "object" || Object.keys(inputSchema).length === 0) return "silent";
  const hasRules = validate !== undefined || parseInput !== undefined;
  return hasRules && !canBeCalled(tool) ? "refused" : "usable";
}

function namesOf(tools: readonly { readonly qualifiedName: string }[]): readonly string[] {
  return tools.map(({ qualifiedName }) => qualifiedName);
}

function omissionNotes(names: readonly string[], reason: string): readonly string[] {
  return names.length === 0 ? [] : [`Left out, since ${reason}: ${formatListWithCount(names)}.`];
}

function asyncRuleNotes(names: readonly string[]): readonly string[] {
  return names.length === 0
    ? []
    : [`Inputs may be refused by rules that answer later, which were not checked: ${formatListWithCount(names)}.`];
}

interface DrawSettings {
  readonly usable: readonly CatalogTool[];
  readonly flow: ToolFlow;
  readonly size: number;
}

function createDraw(kind: SampleKind, { usable, flow, size }: DrawSettings): DrawTools {
  if (kind === "chain") return (seed) => drawChain(flow, size, seededRandom(seed));
  if (kind === "random") return (seed) => sortByFlow(flow, [...takeFirst(shuffle(seededRandom(seed), usable), size)]);
  const alike = createSimilarDraw(usable);
  return (seed) => sortByFlow(flow, alike(seededRandom(seed), size));
}

/** Draws again if no input can be generated for any of the tools. */
function withCallableTool(draw: DrawTools): DrawTools {
  return (seed) => {
    let tools = draw(seed);
    for (let again = 1; again <= MAX_DRAWS && !tools.some(({ tool }) => canBeCalled(tool)); again++) tools = draw(`${seed}:${again}`);
    return tools;
  };
}

function* takeFirst<Item>(items: Iterable<Item>, count: number): Generator<Item, void, undefined> {
  let left = count;
  if (left <= 0) return;
  for (const item of items) {
    yield item;
    if (--left <= 0) return;
  }
}

/** Maximum depth of the search for tools whose output a tool takes, and for theirs. */
const MAX_DEPTH = 4;

/**
 * Draws tools along the edges of the flow; a tool that takes ids comes after one that returns them. Where no edge continues, another tool begins a
 * new chain.
 */
function drawChain(flow: ToolFlow, size: number, random: Random): readonly CatalogTool[] {
  const chain: CatalogTool[] = [];
  const inChain = new Set<string>();
  const add = (id: string, depth: number): void => {
    const tool = flow.tools.get(id);
    if (tool === undefined || inChain.has(id) || chain.length >= size) return;
    inChain.add(id); // added before its givers, so that a cycle ends
    for (const input of flow.inputsOf(id)) {
      if (!input.isId || depth >= MAX_DEPTH) continue;
      const producers = flow.producersOf(id, input);
      if (producers.length === 0 || producers.some((producer) => chain.some((one) => one.id === producer))) continue;
      const producer = pick(random, producers);
      if (producer !== undefined) add(producer, depth + 1);
    }
    if (chain.length < size) chain.push(tool);
  };
  while (chain.length < size) {
    const next = drawFollower(flow, { chain, inChain, random }) ?? drawStart(flow.ids, inChain, random);
    if (next === undefined) break;
    add(next, 0);
  }
  return moveRemovalsLast(flow, chain);
}

/** Moves a tool that removes a thing after the other tools that take its id. */
function moveRemovalsLast(flow: ToolFlow, tools: readonly CatalogTool[]): readonly CatalogTool[] {
  const idsOf = (id: string): readonly string[] => flow.inputsOf(id).flatMap(({ isId, key }) => (isId && key !== "" ? [key] : []));
  const isEarly = tools.map(({ id, qualifiedName }, index) => {
    if (toolSubject(qualifiedName).verb !== "remove") return false;
    const ids = idsOf(id);
    return tools.slice(index + 1).some((later) => idsOf(later.id).some((key) => ids.includes(key)));
  });
  return isEarly.includes(true)
    ? [...tools.filter((_, index) => isEarly[index] !== true), ...tools.filter((_, index) => isEarly[index] === true)]
    : tools;
}

/** Maximum number of random draws before the remaining tools are listed. */
const MAX_DRAWS = 20;

function drawStart(ids: readonly string[], inChain: ReadonlySet<string>, random: Random): string | undefined {
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const id = pick(random, ids);
    if (id !== undefined && !inChain.has(id)) return id;
  }
  return pick(
    random,
    ids.filter((id) => !inChain.has(id)),
  );
}

interface ChainState {
  readonly chain: readonly CatalogTool[];
  readonly inChain: ReadonlySet<string>;
  readonly random: Random;
}

/** Returns a tool that takes what a tool of the chain returns, preferably the last one. */
function drawFollower(flow: ToolFlow, { chain, inChain, random }: ChainState): string | undefined {
  for (let at = chain.length - 1; at >= Math.max(0, chain.length - LOOK_BACK); at--) {
    const consumers = flow.consumersOf(chain[at]?.id ?? "").filter((id) => !inChain.has(id));
    if (consumers.length > 0) return pick(random, consumers);
  }
  return undefined;
}

const LOOK_BACK = 3;

function pick<Item>(random: Random, items: readonly Item[]): Item | undefined {
  return items[Math.floor(random.next() * items.length)];
}

/** Moves tools that return ids before those that take them, and otherwise keeps the order. */
function sortByFlow(flow: ToolFlow, tools: readonly CatalogTool[]): readonly CatalogTool[] {
  const ordered: CatalogTool[] = [];
  const placed = new Set<string>();
  const place = (tool: CatalogTool): void => {
    if (placed.has(tool.id)) return;
    placed.add(tool.id);
    for (const input of flow.inputsOf(tool.id)) {
      if (!input.isId) continue;
      const producers = new Set(flow.producersOf(tool.id, input));
      if (ordered.some(({ id }) => producers.has(id))) continue;
      const producer = tools.find(({ id }) => producers.has(id) && !placed.has(id));
      if (producer !== undefined) place(producer);
    }
    ordered.push(tool);
  };
  for (const tool of tools) place(tool);
  return moveRemovalsLast(flow, ordered);
}

const MIN_SIMILARITY = 0.05;

/** Returns a function that draws a random tool, and the tools whose names and descriptions share the most words with its own. */
function createSimilarDraw(tools: readonly CatalogTool[]): (random: Random, size: number) => readonly CatalogTool[] {
  const texts = tools.map(({ tool }) => `${tool.name} ${tool.description}`);
  const matcher = matchByWords(texts, texts, { minSimilarity: MIN_SIMILARITY });
  const byText = new Map<number, CatalogTool[]>();
  for (const [index, text] of matcher.inputs.entries()) {
    const tool = tools[index];
    if (tool !== undefined) addTo(byText, text, tool);
  }
  return (random, size) => {
    const index = Math.floor(random.next() * tools.length);
    const start = tools[index];
    if (start === undefined) return [];
    const alike = [...matcher.matches(matcher.outputs[index] ?? 0)].sort(
      (one, other) => other.similarity - one.similarity || one.text - other.text,
    );
    const found = new Set([
      start,
      ...takeFirst(
        alike.flatMap(({ text }) => byText.get(text) ?? []),
        size,
      ),
    ]);
    for (const tool of shuffle(random, tools)) {
      if (found.size >= size) break;
      found.add(tool);
    }
    return [...takeFirst(found, size)];
  };
}

/** Number of chains that are drawn to find out how long they get. */
const TRIALS = 16;

/** Returns a remark if no chain gets as long as requested. */
function findChainLengthNotes(flow: ToolFlow, draw: DrawTools, size: number): readonly string[] {
  let longest = 0;
  for (let trial = 0; trial < TRIALS && longest < size; trial++)
    longest = Math.max(longest, findLongestLinkedRun(flow, draw(`trial ${trial}`)));
  if (longest >= size) return [];
  return [`At most ${longest} of ${plural(size, "tool")} in a row take what an earlier one returns; where a chain ends, another begins.`];
}

/** Returns the length of the longest run of tools in which each takes what an earlier one of the run returns. */
function findLongestLinkedRun(flow: ToolFlow, tools: readonly CatalogTool[]): number {
  let longest = 0;
  let row: string[] = [];
  for (const { id } of tools) {
    const isLinked = flow.inputsOf(id).some((input) => flow.producersOf(id, input).some((producer) => row.includes(producer)));
    row = isLinked ? [...row, id] : [id];
    longest = Math.max(longest, row.length);
  }
  return longest;
}
