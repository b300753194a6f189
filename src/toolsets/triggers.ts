/** The toolset `triggers`: a model manages the triggers that wake its agent. */
import { quoteValue } from "../core/base/wording.ts";
import type { JsonObject } from "../core/base/json.ts";
import { isJsonObject } from "../core/base/json.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { ToolContext } from "../core/context.ts";
import { markNoCircuit } from "../core/answers/no-circuit.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { defineTool } from "../registry/define-tool.ts";
import type { KnownTrigger } from "../triggers/known-triggers.ts";
import type { SessionTriggers, TriggerStatus } from "../triggers/session-triggers.ts";
import { Triggers } from "../triggers/triggers.ts";
import { asInputError } from "./as-input-error.ts";
import { removeTrigger } from "./remove-trigger.ts";
import { runtimeSessionOf } from "./runtime-session-of.ts";

/** Options of `triggersToolset`. */
export interface TriggersToolsetOptions {
  /** The triggers that the agents are made with. */
  readonly triggers: Triggers;
  /** The names of the offered tools that add triggers, such as `add_timer`. @default those of all universal kinds */
  readonly tools?: readonly string[];
}

const NAME = "A name of your own for it, by which it can be removed. Left out: a new one.";
const READS = { reads: ["trigger"], writes: [], idempotent: true } as const;

/**
 * Returns tools with which a model manages its own triggers: one for each universal kind (`add_timer`, `add_schedule`, `watch_channel`, and those of
 * the program), `list_triggers` and `remove_trigger`. They only reach triggers of the calling session, and add none in the session of a delegate, which ends with its task.
 *
 * @throws ToolError `invalid_argument`
 */
export function triggersToolset(options: TriggersToolsetOptions): Toolset {
  checkKnownKeys(options, { triggers: true, tools: "strings" }, "triggersToolset()");
  const { triggers, tools } = options;
  if (!(triggers instanceof Triggers))
    throw new ToolError("invalid_argument", "triggersToolset() takes the triggers that createTriggers() returns.");
  const universal = [...triggers.kinds.values()].filter(({ kind }) => kind.universal === true);
  const unknown = tools?.find((name) => !universal.some(({ toolName }) => toolName === name));
  if (unknown !== undefined)
    throw new ToolError("invalid_argument", `No trigger has the tool ${quoteValue(unknown)}.`, {
      hint: `Known tools: ${universal.map(({ toolName }) => toolName).join(", ")}.`,
    });
  const offered = universal.filter(({ toolName }) => tools?.includes(toolName) ?? true);
  return {
    name: "triggers",
    description: "Timers, schedules and channels that wake you.",
    tools: [...offered.map((known) => addTool(known, triggers)), listTool(triggers), removeTool(triggers)],
  };
}

function addTool(known: KnownTrigger, triggers: Triggers): Tool {
  const { kind, toolName } = known;
  const { properties } = kind.settingsSchema;
  return defineTool({
    name: toolName,
    description: `**Trigger** — ${kind.description}`,
    inputSchema: {
      ...kind.settingsSchema,
      properties: {
        ...(isJsonObject(properties) ? properties : {}),
        name: { type: "string", minLength: 1, maxLength: 128, description: NAME },
      },
    },
    outputSchema: { type: "object", properties: { trigger_id: { type: "string" } }, required: ["trigger_id"] },
    effects: { reads: [], writes: ["trigger"] },
    mode: "direct",
    execute: markNoCircuit(async (settings: JsonObject, context: ToolContext) => {
      const own = wakeableTriggers(triggers, context);
      const { id } = await asInputError(() => own.add({ ...settings, type: kind.name }));
      return { trigger_id: id };
    }),
  });
}

function listTool(triggers: Triggers) {
  return defineTool({
    name: "list_triggers",
    description: "Lists your triggers: what wakes you, and when.",
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
    effects: READS,
    mode: "direct",
    execute: markNoCircuit((_input: object, context: ToolContext) => {
      const list = ownTriggers(triggers, context).list();
      return list.length === 0 ? "There are no triggers." : list.map(statusLine).join("\n");
    }),
  });
}

function removeTool(triggers: Triggers) {
  return defineTool({
    name: "remove_trigger",
    description: "Removes one of your triggers.",
    inputSchema: {
      type: "object",
      properties: { trigger_id: { type: "string", description: "Its id, as in list_triggers." } },
      required: ["trigger_id"],
      additionalProperties: false,
    },
    effects: { reads: [], writes: ["trigger"], idempotent: true },
    mode: "direct",
    execute: markNoCircuit(async ({ trigger_id: id }: { readonly trigger_id: string }, context: ToolContext) => {
      const removed = await removeTrigger(triggers, runtimeSessionOf(context), id);
      if (removed !== undefined) return removed;
      const ids = ownTriggers(triggers, context)
        .list()
        .map((trigger) => trigger.id);
      throw new ToolError("not_found", `There is no trigger ${JSON.stringify(id)}.`, {
        hint: ids.length === 0 ? "You have no triggers." : `Your triggers are ${ids.slice(0, 20).join(", ")}.`,
      });
    }),
  });
}

function ownTriggers(triggers: Triggers, context: ToolContext): SessionTriggers {
  return triggers.of(runtimeSessionOf(context));
}

/** @throws ToolError `unavailable` for a session that ends with a call, such as that of a delegate: no agent would ever be woken in it */
function wakeableTriggers(triggers: Triggers, context: ToolContext): SessionTriggers {
  const session = runtimeSessionOf(context);
  if (session.parentCall === undefined) return triggers.of(session);
  throw new ToolError("unavailable", "The trigger was not added: this session ends with its task, so nothing could be woken later.", {
    outcome: "not_started",
    hint: "Say in the answer what is to be done, and when.",
  });
}

/** Formats a trigger: `morning schedule {"dailyAt":"09:00"}, sent 3`. */
function statusLine({ id, type, settings, sent, paused, error }: TriggerStatus): string {
  const state = `${paused === true ? ", paused" : ""}${error === undefined ? "" : `, fails: ${error}`}`;
  return `${id} ${type} ${JSON.stringify(settings)}, sent ${sent}${state}`;
}
