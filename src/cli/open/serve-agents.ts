/** The agents that `haft serve` and `haft worker` run, each in its own session, with the model of the command line or the configuration. */
import type { Agent } from "../../compose/agent.ts";
import { createAgent } from "../../compose/agent.ts";
import { checkVisibleName } from "../../core/base/visible-name.ts";
import { ToolError } from "../../core/error.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { configuredAgentOptions } from "../commands/chat/chat-agent.ts";
import { addJobTools } from "../commands/chat/chat-tools.ts";
import type { ChosenModel } from "../commands/chat/choose-model.ts";
import type { CommandContext } from "../command.ts";
import { createCallerRules } from "./caller-rules.ts";
import { ExclusiveAgent } from "./exclusive-agent.ts";
import { warn, type OpenRuntime } from "./open-runtime.ts";

export interface ServedAgents {
  /** The agents that run in this process now, by name. */
  readonly agents: ReadonlyMap<string, Agent>;
  /** Gives each agent up once it has no run and no jobs, if another process can continue it. */
  drain(): void;
  /** Cancels their runs; unread messages stay in their inboxes. */
  stop(): Promise<void>;
}

/** Returns the names of `--agent`. @throws ToolError `invalid_argument` */
export function agentNames({ options }: CommandContext): readonly string[] {
  const names = options.agent.map((name) => checkVisibleName(name, "The name of an agent"));
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate === undefined) return names;
  throw new ToolError("invalid_argument", `--agent ${JSON.stringify(duplicate)} is given twice.`);
}

/**
 * Starts the agents. Messages in their inboxes, and messages without an answer after a crash, begin a run at once. If several processes share the
 * store, each agent runs in one of those that name it, and another one continues it when that process is gone.
 *
 * @throws, as a rejection, as `Runtime.resume` does
 */
export async function startAgents(
  context: CommandContext,
  { open, chosen }: { readonly open: OpenRuntime; readonly chosen: ChosenModel | undefined },
): Promise<ServedAgents> {
  const agents = new Map<string, Agent>();
  const exclusiveAgents: ExclusiveAgent[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(exclusiveAgents.map((one) => one.stop()));
  };
  const drain = (): void => exclusiveAgents.forEach((one) => one.drain());
  if (chosen === undefined) return { agents, drain, stop };
  addJobTools(open.runtime.registry, { isOffered: true, triggers: open.triggers });
  const log = (message: string): void => warn(context, message);
  const allow = createCallerRules(open);
  try {
    for (const name of agentNames(context)) {
      const make = (session: RuntimeSession): Agent => createServedAgent(context, { name, open, chosen, session });
      const one = new ExclusiveAgent({ name, runtime: open.runtime, agents, make, allow, log });
      exclusiveAgents.push(one);
      await rejectOnAbort(one.start(), context.signal).catch((thrown: unknown) => {
        if (!context.signal.aborted) throw thrown; // if it is aborted, the command stops at once
      });
    }
  } catch (thrown: unknown) {
    await stop();
    throw thrown;
  }
  return { agents, drain, stop };
}

interface AgentParts {
  readonly name: string;
  readonly open: OpenRuntime;
  readonly chosen: ChosenModel;
  readonly session: RuntimeSession;
}

function createServedAgent(context: CommandContext, { name, open, chosen, session }: AgentParts): Agent {
  const { config } = open.config;
  return createAgent({
    ...configuredAgentOptions({ chosen, config, session, introduction: config.loop.system }),
    offerBackground: true,
    triggers: open.triggers,
    onResult: ({ reason, error }) => {
      if (error !== undefined) warn(context, `agent ${name}: ${reason}: ${error.message}`);
    },
    onError: (error) => warn(context, `agent ${name}: ${error.message}`),
  });
}
