/** `type = "delegates"`: sub-agents, each offered as one tool. */
import type { DelegateOptions } from "../../compose/delegate/delegate-options.ts";
import { SHARED_CONTEXTS, type SharedContext } from "../../compose/delegate/shared-context.ts";
import { ToolError, formatForOperator } from "../../core/error.ts";
import type { Model } from "../../core/model.ts";
import { COUNT, MILLISECONDS } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { PermissionRules } from "../../policy/permission.ts";
import { readModelOf } from "../tables/lm-config.ts";
import { readLoop, type LoopConfig, type ModelConfig } from "../tables/model-config.ts";
import { readPermission } from "../tables/policy-config.ts";
import type { TableReader } from "../table-reader.ts";
import { readNamed } from "./named-entries.ts";
import type { BuildContext, CommonConfig, ToolsetPlace, ToolsetType } from "./toolset-type.ts";

/** One delegate of a configuration. */
export interface DelegateConfig {
  readonly description: string;
  readonly title?: string;
  /** @default the model of the configuration */
  readonly model?: ModelConfig;
  readonly share?: SharedContext;
  readonly mode?: (typeof MODES)[number];
  readonly timeoutMs?: number;
  readonly loop: LoopConfig;
  /** The tools that the delegate may use. */
  readonly tools: PermissionRules;
}

export interface DelegatesConfig extends CommonConfig {
  readonly type: "delegates";
  /** The delegates by name. */
  readonly delegates: ReadonlyMap<string, DelegateConfig>;
  readonly maxRunning?: number;
}

const MODES = ["direct", "background"] as const;

export const delegatesType: ToolsetType<DelegatesConfig> = {
  keyAtFault: () => "delegates",
  read(table, common) {
    const maxRunning = table.number("maxRunning", COUNT);
    const delegates = readNamed(table, "delegates", readDelegate);
    return delegates === undefined ? undefined : { type: "delegates", ...common, delegates, ...omitUndefined({ maxRunning }) };
  },
  async build(place, { delegates, maxRunning }, context) {
    const { delegatesToolset } = await import("../../compose/delegate/delegate.ts");
    const options = await Promise.all(Array.from(delegates, ([name, config]) => delegateOptions(name, config, { place, context })));
    return { toolset: delegatesToolset({ name: place.name, delegates: options, ...omitUndefined({ maxRunning }) }) };
  },
};

function readDelegate(table: TableReader): DelegateConfig | undefined {
  const description = table.requiredText("description", "what the model that calls it reads");
  const more = omitUndefined({
    title: table.text("title"),
    model: readModelOf(table),
    share: table.choice("share", SHARED_CONTEXTS),
    mode: table.choice("mode", MODES),
    timeoutMs: table.number("timeoutMs", MILLISECONDS),
  });
  const rest = { loop: readLoop(table), tools: readPermission(table) };
  return description === undefined ? undefined : { description, ...more, ...rest };
}

interface Building {
  readonly place: ToolsetPlace;
  readonly context: BuildContext;
}

/** Returns the options of a delegate. If its model cannot be made, it is listed with the reason; the others are not affected. */
async function delegateOptions(name: string, config: DelegateConfig, building: Building): Promise<DelegateOptions> {
  const { description, title, share, mode, timeoutMs, loop, tools } = config;
  const { toLoopOptions } = await import("../build/build-model.ts");
  const { model: configured, findTools } = building.context;
  const own = config.model ?? configured?.config;
  const built = await buildDelegateModel(name, config, building);
  return {
    name,
    description,
    ...omitUndefined({ title, share, mode, timeoutMs }),
    ...toLoopOptions(own ?? {}, loop),
    ...(tools.allow === undefined && tools.deny === undefined ? {} : { allow: tools }),
    ...(findTools === undefined || tools.allow !== undefined ? {} : { deferTools: { pinned: findTools.pinned } }),
    ...built,
  };
}

type DelegateModel = Pick<DelegateOptions, "model" | "unusable">;

async function buildDelegateModel(name: string, { model }: DelegateConfig, { place, context }: Building): Promise<DelegateModel> {
  const key = `${place.path.join(".")}.delegates.${name}.model`;
  const config = model ?? context.model?.config;
  if (config === undefined) return unusableModel(`It has no model: name one in ${key}, or in model.name.`);
  if (model === undefined && context.model?.model !== undefined) return { model: context.model.model };
  const { buildModel } = await import("../build/build-model.ts");
  try {
    const keyName = model === undefined ? "model.apiKey" : `${key}.apiKey`;
    const { onMeter, onRetry } = context.listeners;
    const built = buildModel(config, { environment: context.environment, keyName, onRetry: (retry) => onRetry?.(retry, config.name) });
    onMeter?.(built.meter);
    return { model: built.model };
  } catch (thrown: unknown) {
    return unusableModel(`Its model cannot be made: ${formatForOperator(thrown)}`);
  }
}

function unusableModel(unusable: string): DelegateModel {
  const model: Model = {
    name: "none",
    stream() {
      throw new ToolError("unavailable", unusable);
    },
  };
  return { model, unusable };
}
