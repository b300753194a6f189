/** The agents that `haft serve` runs: each is a session of its own, with the model of the configuration. */
import type { Agent } from "../compose/agent.ts";
import { createAgent } from "../compose/agent.ts";
import { checkedVisibleName } from "../core/base/visible-name.ts";
import { ToolError } from "../core/error.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { configuredAgent } from "./chat/chat-agent.ts";
import { addJobs } from "./chat/chat-tools.ts";
import type { ChosenModel } from "./chat/chosen-model.ts";
import type { CommandContext } from "./command.ts";
import { warn, type OpenRuntime } from "./open-runtime.ts";

export interface ServedAgents {
  /** By name, started. */
  readonly agents: Readonly<Record<string, Agent>>;
  /** Cancels their runs; messages that wait stay in their inboxes. */
  stop(): Promise<void>;
}

/** The names of `--agent`. @throws ToolError `invalid_argument` */
export function agentNames({ options }: CommandContext): readonly string[] {
  const names = options.agent.map((name) => checkedVisibleName(name, "The name of an agent"));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return names;
  throw new ToolError("invalid_argument", `--agent ${JSON.stringify(twice)} is given twice.`);
}

/** Starts them: what waits in their inboxes, or was not answered before a crash, begins a run at once. @throws as `Runtime.resume`. By rejecting */
export async function startAgents(
  context: CommandContext,
  { open, chosen }: { readonly open: OpenRuntime; readonly chosen: ChosenModel | undefined },
): Promise<ServedAgents> {
  const agents: [string, Agent][] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(agents.map(([, agent]) => agent.stop()));
  };
  if (chosen === undefined) return { agents: {}, stop };
  addJobs(open.runtime.registry, { isOffered: true, triggers: open.triggers });
  try {
    for (const name of agentNames(context)) {
      const agent = makeAgent(context, { name, open, chosen, session: await sessionOf(name, open) });
      agents.push([name, agent]);
      agent.start();
    }
  } catch (thrown: unknown) {
    await stop();
    throw thrown;
  }
  return { agents: Object.fromEntries(agents), stop };
}

/** That of the name, continued where a store has it. */
async function sessionOf(name: string, { runtime }: OpenRuntime): Promise<RuntimeSession> {
  return runtime.store === undefined ? runtime.session(name) : runtime.resume(name, { create: true });
}

interface AgentParts {
  readonly name: string;
  readonly open: OpenRuntime;
  readonly chosen: ChosenModel;
  readonly session: RuntimeSession;
}

function makeAgent(context: CommandContext, { name, open, chosen, session }: AgentParts): Agent {
  const { config } = open.config;
  return createAgent({
    ...configuredAgent({ chosen, config, session, introduction: config.loop.system }),
    offerBackground: true,
    triggers: open.triggers,
    onResult: ({ reason, error }) => {
      if (error !== undefined) warn(context, `agent ${name}: ${reason}: ${error.message}`);
    },
    onError: (error) => warn(context, `agent ${name}: ${error.message}`),
  });
}
