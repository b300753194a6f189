/** Makes the conversation of an index: whatever else is made, and in whatever order, it is the same. */
import { ToolError } from "../../core/error.ts";
import type { ModelTool } from "../../core/model.ts";
import { seededRandom, drawn } from "../../core/base/seeded-random.ts";
import { pairMessages } from "../../history/pair-messages.ts";
import { visibilityOf, type Visibility, type VisibilityRules } from "../../policy/visibility.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { conversationOf } from "../../runtime/session-messages.ts";
import type { CatalogTool } from "../catalog.ts";
import { enrich } from "../enrich.ts";
import { randomSampler } from "../random-sampler.ts";
import { DEFAULT_CALLS, type SampledPlan } from "./conversation-plan.ts";
import type { ConversationTemplate } from "./conversation-template.ts";
import { KnownIds } from "./known-ids.ts";
import { playSampled, playScripted, playWithModel, type ConversationEnd, type ConversationPlace } from "./play-conversation.ts";
import { planFingerprint, type PlanFingerprintParts } from "./plan-fingerprint.ts";
import { sampledCalls } from "./sampled-calls.ts";
import { withPlainIds, type Trajectory } from "./trajectory.ts";
import { modelTools } from "../../compose/prompt/model-tools.ts";
import type { Random } from "../../core/ports.ts";
import { OWN_NAMESPACE } from "../../core/call.ts";
import type { Registry } from "../../registry/registry.ts";

export interface ConversationMakerOptions extends Omit<PlanFingerprintParts, "tools" | "label"> {
  readonly runtime: Runtime;
  readonly allow?: VisibilityRules;
  readonly label?: string;
}

/** Draws the tools that a conversation calls, in their order. */
type Draw = (seed: string) => readonly CatalogTool[];

interface Prepared {
  readonly allow: Visibility | undefined;
  readonly offered: OfferedTools;
  readonly draw: Draw;
}

/** What is played, and with what. */
interface Cast {
  readonly template: ConversationTemplate | undefined;
  readonly tools: readonly ModelTool[];
  readonly play: (place: ConversationPlace) => Promise<ConversationEnd>;
}

const INDEX_DIGITS = 6;

export class ConversationMaker {
  readonly seed: string;
  /** The fingerprint of the plan. */
  readonly plan: string;
  readonly #options: ConversationMakerOptions;
  readonly #prepared: Prepared;

  private constructor(options: ConversationMakerOptions, prepared: Prepared) {
    const { plan, seed, format, maxTools, label = "" } = options;
    this.seed = seed;
    this.plan = planFingerprint({ plan, seed, format, maxTools, label, tools: prepared.offered.all });
    this.#options = options;
    this.#prepared = prepared;
  }

  /** @throws ToolError `invalid_argument` where there are no tools to draw from, or rules cannot be used */
  static async prepare(options: ConversationMakerOptions): Promise<ConversationMaker> {
    const { runtime, plan, maxTools } = options;
    const allow = options.allow === undefined ? undefined : visibilityOf(options.allow);
    const offered = new OfferedTools(runtime.registry, { allow, maxTools });
    const draw = plan.kind === "sampled" ? await drawFor(plan, runtime, offered) : () => [];
    return new ConversationMaker(options, { allow, offered, draw });
  }

  /** The session of the conversation is closed afterwards, and nothing of it kept. Never rejects: what breaks it off is its `error`. */
  async make(index: number, signal: AbortSignal): Promise<Trajectory> {
    const id = `conversation-${this.seed}-${String(index + 1).padStart(INDEX_DIGITS, "0")}`;
    const { kind } = this.#options.plan;
    const origin = { id, index, seed: this.seed, plan: this.plan, kind };
    try {
      const { template, tools, play } = this.#cast(index);
      const { messages, end } = await this.#play(id, { play, signal });
      const system = template?.system ?? this.#system;
      return { ...origin, ...(template?.id === undefined ? {} : { template: template.id }), system, tools, messages, ...end };
    } catch (thrown: unknown) {
      return { ...origin, system: undefined, tools: [], messages: [], error: ToolError.fromUnknown(thrown).toJSON() };
    }
  }

  async #play(
    id: string,
    { play, signal }: Pick<Cast, "play"> & { readonly signal: AbortSignal },
  ): Promise<{ readonly messages: Trajectory["messages"]; readonly end: ConversationEnd }> {
    const session = this.#options.runtime.session(id);
    try {
      const end = await play({ session, signal, allow: this.#prepared.allow }).catch((thrown: unknown) => ({
        error: ToolError.fromUnknown(thrown).toJSON(),
      }));
      return { messages: withPlainIds(pairMessages(conversationOf(session.log))), end };
    } finally {
      await session.close();
    }
  }

  #cast(index: number): Cast {
    const { plan } = this.#options;
    const random = seededRandom(`${this.seed}:${index}`);
    if (plan.kind === "sampled") {
      const drawnTools = this.#prepared.draw(`${this.seed}:${index}`);
      const known = new KnownIds();
      const calls = sampledCalls(drawnTools, { count: plan.calls ?? DEFAULT_CALLS, random, known });
      const tools = this.#offer(
        drawnTools.map(({ qualifiedName }) => qualifiedName),
        index,
      );
      return { template: undefined, tools, play: (place) => playSampled(calls, known, place) };
    }
    const template = templateFor(plan.templates, index);
    const tools = this.#offer(calledIn(template), index);
    if (plan.kind === "scripted") return { template, tools, play: (place) => playScripted(template, place) };
    const system = template.system ?? this.#system;
    return { template, tools, play: (place) => playWithModel(template.messages, place, { plan, tools, system }) };
  }

  #offer(needed: readonly string[], index: number): readonly ModelTool[] {
    return this.#prepared.offered.choose(new Set(needed), seededRandom(`${this.seed}:${index}:tools`));
  }

  get #system(): string | undefined {
    const { plan } = this.#options;
    return plan.kind === "played" ? plan.loop?.system : undefined;
  }
}

function templateFor(templates: readonly ConversationTemplate[], index: number): ConversationTemplate {
  return templates[index % templates.length] ?? { messages: [] }; // there is at least one: see `checkPlan`
}

function calledIn({ messages }: ConversationTemplate): readonly string[] {
  return messages.flatMap((message) => (message.role === "assistant" ? (message.calls ?? []).map(({ name }) => name) : []));
}

async function drawFor({ calls = DEFAULT_CALLS, sampler }: SampledPlan, { registry }: Runtime, { all }: OfferedTools): Promise<Draw> {
  if (sampler !== undefined) return (seed) => sampler.sample({ seed });
  const offered = new Set(all.map(({ name }) => name));
  if (offered.size === 0)
    throw new ToolError("invalid_argument", "There are no tools to draw from.", { hint: "Offer some, or allow more." });
  const enriched = await enrich({ list: () => registry.list().filter(({ qualifiedName }) => offered.has(qualifiedName)) }, []);
  const random = randomSampler(enriched, { k: Math.min(calls, enriched.tools.length) });
  return (seed) => random.sample({ seed });
}

class OfferedTools {
  /** Every tool that may be offered, in the order of the registry's listing. */
  readonly all: readonly ModelTool[];
  readonly #maxTools: number;

  constructor(registry: Registry, { allow, maxTools }: { readonly allow: Visibility | undefined; readonly maxTools: number }) {
    this.all = modelTools(registry, { allow }).filter(
      ({ name, providerExecuted }) => providerExecuted !== true && !name.startsWith(`${OWN_NAMESPACE}::`),
    );
    this.#maxTools = maxTools;
  }

  /** At most `maxTools`, unless more of them are needed; the same for the same random numbers, in the order of `all`. */
  choose(needed: ReadonlySet<string>, random: Random): readonly ModelTool[] {
    if (this.all.length <= this.#maxTools) return this.all;
    const chosen = new Set(this.all.filter(({ name }) => needed.has(name)));
    for (const tool of drawn(random, this.all)) {
      if (chosen.size >= this.#maxTools) break;
      chosen.add(tool);
    }
    return this.all.filter((tool) => chosen.has(tool));
  }
}
