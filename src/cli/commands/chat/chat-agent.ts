/** The options of an agent that the configuration describes, the same for `haft chat` and `haft serve`. */
import type { AgentOptions } from "../../../compose/agent.ts";
import { toLoopOptions } from "../../../config/build/build-model.ts";
import type { HaftConfig } from "../../../config/haft-config.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { createChatPrompt, pinnedTools } from "./chat-tools.ts";
import type { ChosenModel } from "./choose-model.ts";

interface AgentConfiguration {
  readonly chosen: ChosenModel;
  readonly config: HaftConfig;
  readonly session: RuntimeSession;
  /** The text before the prompt contributions of tools. */
  readonly introduction: string | undefined;
}

export function configuredAgentOptions({ chosen, config, session, introduction }: AgentConfiguration) {
  const pinned = pinnedTools(config);
  const system = createChatPrompt(session.registry, { introduction, shown: pinned });
  return {
    model: chosen.model,
    session,
    ...toLoopOptions(chosen.config, config.loop),
    ...omitUndefined({ deferTools: pinned && { pinned }, system: system() === "" ? undefined : system }),
  } satisfies AgentOptions;
}
