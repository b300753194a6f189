/** The options of an agent that the configuration describes, the same for `haft chat` and `haft serve`. */
import type { AgentOptions } from "../../../compose/agent.ts";
import { configuredLoop } from "../../../config/build/build-model.ts";
import type { HaftConfig } from "../../../config/haft-config.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { chatPrompt, pinnedTools } from "./chat-tools.ts";
import type { ChosenModel } from "./chosen-model.ts";

interface ConfiguredAgent {
  readonly chosen: ChosenModel;
  readonly config: HaftConfig;
  readonly session: RuntimeSession;
  /** The text before the prompt contributions of tools. */
  readonly introduction: string | undefined;
}

export function configuredAgent({ chosen, config, session, introduction }: ConfiguredAgent) {
  const pinned = pinnedTools(config);
  const system = chatPrompt(session.registry, { introduction, shown: pinned });
  return {
    model: chosen.model,
    session,
    ...configuredLoop(chosen.config, config.loop),
    ...omitUndefined({ deferTools: pinned && { pinned }, system: system() === "" ? undefined : system }),
  } satisfies AgentOptions;
}
