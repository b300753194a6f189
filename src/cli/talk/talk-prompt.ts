/** What a model is told of the tools before a talk begins. */
import { buildPrompt } from "../../compose/prompt/build-prompt.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import type { Registry } from "../../registry/registry.ts";
import { MANUAL_TOOLSET } from "../../call/manual-reading.ts";
import { infoToolset } from "../../toolsets/info.ts";
import { providerName } from "../../wire/provider-name.ts";

/** Adds the tool `info` where any tool has more to read than its description, unless the configuration has a toolset of that name. */
export function addManual(registry: Registry): void {
  const tools = registry.list();
  const hasOwn = tools.some(({ toolset }) => toolset.name === MANUAL_TOOLSET);
  if (!hasOwn && tools.some(({ tool }) => (tool.documentation ?? "") !== "" || tool.requiresReading === true))
    registry.addToolset(infoToolset(registry));
}

/**
 * What stands before the conversation: the introduction and, where tools have hints or are to be read about first, what the tools say of
 * themselves. Worked out again only when the tools have changed.
 */
export function talkPrompt(registry: Registry, introduction: string | undefined): () => string {
  let made = { version: -1, text: "" };
  return () => {
    const { version } = registry;
    if (made.version !== version) made = { version, text: textFor(registry, introduction) };
    return made.text;
  };
}

function textFor(registry: Registry, introduction = ""): string {
  if (!registry.list().some(hasSomethingToSay)) return introduction;
  return buildPrompt(registry, { introduction, toolName: (name) => providerName(name) });
}

function hasSomethingToSay({ tool, toolset }: RegisteredTool): boolean {
  return tool.promptContribution !== undefined || toolset.promptContribution !== undefined || tool.requiresReading === true;
}
