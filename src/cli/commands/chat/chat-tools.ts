/** The tools that a chat adds, and the text before its conversation. */
import type { HaftConfig } from "../../../config/haft-config.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { OWN_NAMESPACE } from "../../../core/call.ts";
import { visibilityOf, visibleTools } from "../../../policy/visibility.ts";
import { CALL_TOOL, FIND_TOOLS } from "../../../registry/found-tools.ts";
import { buildPrompt } from "../../../compose/prompt/build-prompt.ts";
import type { RegisteredTool } from "../../../registry/registered-tool.ts";
import type { Registry } from "../../../registry/registry.ts";
import { jobsToolset } from "../../../toolsets/jobs.ts";
import type { Triggers } from "../../../triggers/triggers.ts";
import { providerName } from "../../../wire/provider-name.ts";

export interface JobsOffer {
  /** Whether the model may send any call to the background. */
  readonly isOffered: boolean;
  /** Triggers that the model may stop as it stops jobs. */
  readonly triggers: Triggers | undefined;
}

/** Adds the toolset `jobs` if a call may continue in the background, unless the configuration has a toolset of that name. */
export function addJobTools(registry: Registry, { isOffered, triggers }: JobsOffer): void {
  const tools = registry.list();
  const hasOwn = tools.some(({ toolset }) => toolset.name === "jobs");
  const mayRunInBackground = tools.some(
    ({ tool, settings }) => isOffered || (tool.mode ?? "direct") !== "direct" || settings.promoteAfterMs > 0,
  );
  if (!hasOwn && mayRunInBackground) registry.addToolset(jobsToolset(triggers === undefined ? {} : { triggers }));
}

/**
 * Returns a function for the text before the conversation: the introduction and, if tools have hints or documentation to read first, the prompt
 * contributions of the tools. The text is built again only when the tools have changed.
 */
export function createChatPrompt(registry: Registry, options: ChatPromptOptions): () => string {
  let made = { version: -1, text: "" };
  return () => {
    const { version } = registry;
    if (made.version !== version) made = { version, text: buildChatPrompt(registry, options) };
    return made.text;
  };
}

export interface ChatPromptOptions {
  readonly introduction: string | undefined;
  /** Patterns of the tools that the prompt may mention. @default all */
  readonly shown: readonly string[] | undefined;
}

function buildChatPrompt(registry: Registry, { introduction = "", shown }: ChatPromptOptions): string {
  const allow = shown === undefined ? undefined : visibilityOf({ allow: shown });
  if (!visibleTools(registry, allow).some(hasGuidance)) return introduction;
  return buildPrompt(registry, { introduction, toolName: (name) => providerName(name), ...omitUndefined({ allow }) });
}

/** Returns patterns of the tools that a model or client is shown from the beginning; undefined = all. */
export function pinnedTools({ findTools }: Pick<HaftConfig, "findTools">): readonly string[] | undefined {
  return findTools === undefined ? undefined : [FIND_TOOLS, CALL_TOOL, `${OWN_NAMESPACE}::*`, "jobs::*", "manual::*", ...findTools.pinned];
}

function hasGuidance({ tool, toolset }: RegisteredTool): boolean {
  return tool.promptContribution !== undefined || toolset.promptContribution !== undefined || tool.requiresReading === true;
}
