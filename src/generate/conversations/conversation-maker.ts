/** Generates the conversation with a given index; it does not depend on which others are generated, nor on their order. */
import { addTo } from "../../core/base/add-to.ts";
import type { SessionEvent } from "../../core/event.ts";
import { ToolError } from "../../core/error.ts";
import type { ModelTool } from "../../core/model.ts";
import { seededRandom, shuffle } from "../../core/base/seeded-random.ts";
import { pairMessages } from "../../history/pair-messages.ts";
import type { PermissionRules } from "../../policy/permission.ts";
import { visibilityOf, type Visibility, type VisibilityRules } from "../../policy/visibility.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { buildConversation } from "../../runtime/session-messages.ts";
import { modelTools } from "../../compose/prompt/model-tools.ts";
import { OWN_NAMESPACE } from "../../core/call.ts";
import type { Random } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";
import { offeredFingerprint } from "../../registry/overload.ts";
import type { Registry } from "../../registry/registry.ts";
import { resolveVisible } from "../../registry/visible-tool.ts";
import { NO_PROBLEMS, checkConversation, hasProblems } from "./check-conversation.ts";
import { DEFAULT_CALLS, type SampledPlan } from "./conversation-plan.ts";
import type { ConversationTemplate } from "./conversation-template.ts";
import { prepareToolDraw, type PreparedToolDraw } from "./draw-tools.ts";
import { playScripted, playWithModel, type PlayEnd, type PlayContext } from "./play-conversation.ts";
import { playSampled } from "./play-sampled.ts";
import { plainWriter } from "./plain-writer.ts";
import { planFingerprint, type PlanFingerprintParts } from "./plan-fingerprint.ts";
import { callIds } from "./template-references.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { RecordedMaker } from "./recorded/recorded-maker.ts";
import { splitParallelCalls, withReproducibleIds, type Trajectory, type TrajectoryOrigin } from "./trajectory.ts";

export interface ConversationMakerOptions extends Omit<PlanFingerprintParts, "tools" | "label" | "split" | "recorded"> {
  readonly runtime: Runtime;
  readonly signal?: AbortSignal;
  readonly split?: number;
  readonly allow?: VisibilityRules;
  readonly label?: string;
}

interface PreparedPlan {
  readonly fingerprint: string;
  readonly allow: Visibility;
  readonly offered: OfferedTools;
  /** Set for a sampled plan. */
  readonly toolDraw: PreparedToolDraw | undefined;
  /** Set for a recorded plan. */
  readonly recorded: RecordedMaker | undefined;
}

/** The template, tools and player of a conversation. */
interface ConversationSetup {
  readonly template: ConversationTemplate | undefined;
  readonly tools: readonly ModelTool[];
  readonly play: (place: PlayContext) => Promise<PlayEnd>;
}

/** The runtime's own tools are not offered in any conversation, so no result may name them either. */
const DENY_OWN_TOOLS: PermissionRules = { deny: [`${OWN_NAMESPACE}::*`] };
const INDEX_DIGITS = 6;
/** Maximum number of attempts at a conversation if those with problems are generated again. */
const MAX_ATTEMPTS = 3;

export class ConversationMaker {
  readonly seed: string;
  /** The fingerprint of the plan. */
  readonly plan: string;
  readonly #options: ConversationMakerOptions;
  readonly #prepared: PreparedPlan;

  private constructor(options: ConversationMakerOptions, prepared: PreparedPlan) {
    this.seed = options.seed;
    this.plan = prepared.fingerprint;
    this.#options = options;
    this.#prepared = prepared;
  }

  /**
   * @throws ToolError `invalid_argument` if there are no tools to draw from or rules are invalid, `cancelled` if the signal aborts; as
   * `RecordedSet.read`; as a rejection
   */
  static async prepare(options: ConversationMakerOptions): Promise<ConversationMaker> {
    const { runtime, plan, seed, format, maxTools, parallelCalls, weights, split = 0, label = "", signal } = options;
    const { registry } = runtime;
    const allow = visibilityOf([options.allow, DENY_OWN_TOOLS].flat());
    const offered = new OfferedTools(registry, { allow, maxTools });
    const names = new Set(offered.all.map(({ name }) => name));
    const toolDraw = plan.kind === "sampled" ? await prepareToolDraw(plan, { registry, offered: names, signal }) : undefined;
    const recorded = plan.kind === "recorded" ? await RecordedMaker.read(plan, { seed, signal, registry }) : undefined;
    const settings = { plan, seed, format, maxTools, parallelCalls, weights, split, label };
    const fingerprint = await planFingerprint({ ...settings, tools: offered.all, recorded: recorded?.set.digest }, signal);
    return new ConversationMaker(options, { allow, offered, toolDraw, recorded, fingerprint });
  }

  /** Remarks for the person who generates the conversations, on those that were made so far as well. */
  get notes(): readonly string[] {
    const { toolDraw, recorded } = this.#prepared;
    return toolDraw?.notes() ?? recorded?.set.notes ?? [];
  }

  /** Number of conversations in the recordings; undefined for every other plan. */
  get recordings(): number | undefined {
    return this.#prepared.recorded?.set.count;
  }

  async close(): Promise<void> {
    await this.#prepared.recorded?.close();
  }

  /**
   * Generates a conversation in a session of its own, which is closed afterwards and not kept. Never rejects: an error that ends the conversation is
   * its `error`.
   *
   * @param redraw each number gives another conversation of this index; 0 = the first
   */
  async make(index: number, { signal, redraw }: { readonly signal: AbortSignal; readonly redraw: number }): Promise<Trajectory> {
    const { onProblems } = this.#options.plan;
    const first = redraw * MAX_ATTEMPTS + 1;
    const end = first + (onProblems === "remake" ? MAX_ATTEMPTS : 1);
    let made = await this.#attempt(index, { attempt: first, signal });
    for (let attempt = first + 1; attempt < end && made.error === undefined && hasProblems(made.checks); attempt++)
      made = await this.#attempt(index, { attempt, signal });
    return made;
  }

  async #attempt(index: number, { attempt, signal }: { readonly attempt: number; readonly signal: AbortSignal }): Promise<Trajectory> {
    const id = `conversation-${this.seed}-${String(index + 1).padStart(INDEX_DIGITS, "0")}`;
    const { kind } = this.#options.plan;
    const origin = { id, index, seed: this.seed, plan: this.plan, kind };
    const draws = `${this.seed}:${index}${attempt === 1 ? "" : `:${attempt}`}`;
    try {
      const { recorded } = this.#prepared;
      if (recorded !== undefined) return { ...origin, ...(await this.#makeRecorded(recorded, index, { draws, signal })) };
      const { template, tools, play } = this.#setUp(index, draws);
      const played = await this.#playInSession(id, { play, signal, variation: draws });
      const { end } = played;
      const messages = withOfferedNames(played.messages, this.#options.runtime.registry);
      const system = template?.system ?? this.#system;
      const found = checkConversation({ system, messages }, template === undefined ? [] : callIds(template.messages).flat());
      const checks = end.error === undefined ? found : { ...found, openEnds: 0 };
      const made = template === undefined ? {} : { madeOf: template, ...omitUndefined({ template: template.id }) };
      return { ...origin, ...made, system, tools, messages, ...end, checks };
    } catch (thrown: unknown) {
      return { ...origin, system: undefined, tools: [], messages: [], error: ToolError.fromUnknown(thrown).toJSON(), checks: NO_PROBLEMS };
    }
  }

  async #makeRecorded(
    recorded: RecordedMaker,
    index: number,
    { draws, signal }: { readonly draws: string; readonly signal: AbortSignal },
  ): Promise<Omit<Trajectory, keyof TrajectoryOrigin>> {
    const { messages: made, tools, needed } = await recorded.make(index, { draws, signal });
    const { runtime, parallelCalls } = this.#options;
    const messages = withOfferedNames(parallelCalls ? made : splitParallelCalls(made), runtime.registry);
    const offered = [...this.#chooseOfferedTools(needed, index), ...tools];
    return { system: undefined, tools: offered, messages, checks: checkConversation({ system: undefined, messages }) };
  }

  async #playInSession(
    id: string,
    { play, signal, variation }: Pick<ConversationSetup, "play"> & { readonly signal: AbortSignal; readonly variation: string },
  ): Promise<{ readonly messages: Trajectory["messages"]; readonly end: PlayEnd }> {
    const { runtime, parallelCalls } = this.#options;
    const session = runtime.session(id);
    try {
      const end = await play({ session, jobs: runtime.jobs, signal, allow: this.#prepared.allow, variation, parallelCalls }).catch(
        (thrown: unknown) => ({
          error: ToolError.fromUnknown(thrown).toJSON(),
        }),
      );
      const events: SessionEvent[] = [];
      for await (const event of session.events()) events.push(event); // memory has only the latest events of a long conversation
      return { messages: withReproducibleIds(pairMessages(buildConversation(events))), end };
    } finally {
      await session.close();
    }
  }

  #setUp(index: number, draws: string): ConversationSetup {
    const { plan, runtime } = this.#options;
    const random = seededRandom(draws);
    if (plan.kind === "sampled") return this.#setUpSampled(plan, { index, draws, random });
    if (plan.kind === "recorded") return { template: undefined, tools: [], play: async () => ({}) };
    const template = plan.templates[index % plan.templates.length] ?? { messages: [] }; // there is at least one: see `checkPlan`
    const tools = this.#chooseOfferedTools(findCalledTools(template, runtime.registry, this.#prepared.allow), index);
    if (plan.kind === "scripted") {
      const writer = plan.writer === false ? undefined : (plan.writer ?? plainWriter());
      const findTool = (name: string): Tool | undefined => runtime.registry.get(name)?.tool;
      return { template, tools, play: (place) => playScripted({ template, writer, random, findTool }, place) };
    }
    const system = template.system ?? this.#system;
    return { template, tools, play: (place) => playWithModel(template.messages, place, { plan, tools, system }) };
  }

  #setUpSampled(
    plan: SampledPlan,
    { index, draws, random }: { readonly index: number; readonly draws: string; readonly random: Random },
  ): ConversationSetup {
    const { toolDraw } = this.#prepared;
    const { calls: count = DEFAULT_CALLS, writer = plainWriter() } = plan;
    if (toolDraw === undefined) return { template: undefined, tools: [], play: async () => ({}) };
    const drawnTools = toolDraw.draw(draws);
    const names = drawnTools.map(({ qualifiedName }) => qualifiedName);
    const script = { tools: drawnTools, count, flow: toolDraw.flow, writer, random };
    return { template: undefined, tools: this.#chooseOfferedTools(names, index), play: (place) => playSampled(script, place) };
  }

  #chooseOfferedTools(needed: readonly string[], index: number): readonly ModelTool[] {
    return this.#prepared.offered.choose(new Set(needed), seededRandom(`${this.seed}:${index}:tools`));
  }

  get #system(): string | undefined {
    const { plan } = this.#options;
    return plan.kind === "played" ? plan.loop?.system : undefined;
  }
}

/** Returns the qualified names of the tools that a template calls, and of those that the results of calls to unknown tools suggest. */
function findCalledTools({ messages }: ConversationTemplate, registry: Registry, allow: Visibility): readonly string[] {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.calls ?? []) : []));
  return calls.flatMap((call) => {
    const found = resolveVisible(registry, call.name, allow);
    if (!(found instanceof Error)) return found.map(({ qualifiedName }) => qualifiedName);
    return found.toolNames.map((name) => registry.get(name)?.qualifiedName ?? name);
  });
}

/** Names calls as their tools are offered: by qualified name, and for overloads with the fingerprint of the one that was called. */
function withOfferedNames(messages: Trajectory["messages"], registry: Registry): Trajectory["messages"] {
  const names = new Map(messages.flatMap((message) => (message.role === "result" ? [[message.callId, message.result.name]] : [])));
  return messages.map((message) => {
    if (message.role !== "call") return message;
    const { overload: _recorded, ...rest } = message;
    const call = { ...message.call, name: names.get(message.callId) || message.call.name };
    const family = registry.overloads(call.name);
    const called = family.length < 2 ? undefined : (registry.match(call) ?? family[0]);
    return { ...rest, call, ...omitUndefined({ overload: called && offeredFingerprint(called, family) }) };
  });
}

class OfferedTools {
  /** Every tool that may be offered, in the order of the registry's listing. */
  readonly all: readonly ModelTool[];
  readonly #maxTools: number;
  readonly #indices = new Map<string, number[]>();

  constructor(registry: Registry, { allow, maxTools }: { readonly allow: Visibility; readonly maxTools: number }) {
    this.all = modelTools(registry, { allow }).filter(({ providerExecuted }) => providerExecuted !== true);
    this.#maxTools = maxTools;
    for (const [index, { name }] of this.all.entries()) {
      addTo(this.#indices, name, index); // several for overloads
    }
  }

  /** Chooses at most `maxTools` tools, unless more are needed; deterministic for the same random numbers, in the order of `all`. */
  choose(needed: ReadonlySet<string>, random: Random): readonly ModelTool[] {
    if (this.all.length <= this.#maxTools) return this.all;
    const chosen = new Set<number>();
    for (const name of needed) for (const index of this.#indices.get(name) ?? []) chosen.add(index);
    const isSparse = this.all.length > SPARSE_FACTOR * this.#maxTools;
    for (const index of isSparse ? drawIndexes(random, this.all.length) : shuffle(random, [...this.all.keys()])) {
      if (chosen.size >= this.#maxTools) break;
      chosen.add(index);
    }
    return [...chosen].sort((one, other) => one - other).flatMap((index) => this.all[index] ?? []);
  }
}

/** Minimum number of tools per chosen one at which duplicates are rare enough to draw with replacement. */
const SPARSE_FACTOR = 4;

/** Yields an endless sequence of integers below `count`, with repetitions. */
function* drawIndexes(random: Random, count: number): Generator<number, void, undefined> {
  for (;;) yield Math.floor(random.next() * count);
}
