/** Handlers of the routes for agents, channels and triggers. */
import type { Agent } from "../../../compose/agent.ts";
import { didYouMean } from "../../../core/base/near-names.ts";
import { ToolError } from "../../../core/error.ts";
import { readTraceparent } from "../../../core/formats/traceparent.ts";
import type { Channels } from "../../../triggers/channels.ts";
import type { Triggers } from "../../../triggers/triggers.ts";
import type { AnswerOf } from "../../api.ts";
import type { ApiServices, Handlers } from "../services.ts";
import { checkVisible, refuseSessionKey } from "../sessions/session-ids.ts";
import { useWithin } from "../sessions/use-within.ts";
import { eventsOf } from "./sessions.ts";
import { noContent } from "./responses.ts";

/** Types of triggers that see nothing outside their session; a channel does. */
const SESSION_TRIGGERS: ReadonlySet<string> = new Set(["timer", "schedule"]);

export const agentHandlers = {
  listAgents: ({ principal }, { agents }) => ({
    agents: [...agents]
      .filter(([, { session }]) => (principal.sessionId ?? session.id) === session.id)
      .map(([name, agent]) => toApiAgent(name, agent)),
  }),

  getAgent({ principal, params: { agentName } }, services) {
    return toApiAgent(agentName, agentOf(services, agentName, principal.sessionId));
  },

  async sendToAgent({ principal, params: { agentName }, body: { content, sender = principal.name } }, services) {
    const agent = agentOf(services, agentName, principal.sessionId);
    await agent.send(content, { sender, principal: principal.id });
    return { sent: true, state: agent.state };
  },

  cancelAgent({ principal, params: { agentName } }, services) {
    return { cancelled: agentOf(services, agentName, principal.sessionId).cancel(`The run was cancelled by ${principal.name}.`) };
  },

  listAgentEvents(request, services) {
    const { session } = agentOf(services, request.params.agentName, request.principal.sessionId);
    return eventsOf(session.id, request, services);
  },

  async listChannels({ principal }, services) {
    refuseSessionKey(principal);
    const channels = services.triggers?.channels.list() ?? [];
    return {
      channels: await Promise.all(
        channels.map(async (channel) => {
          const { name, kind, description, subscribers } = channel;
          return { name, kind, description, waiting: await channel.countWaiting(), subscribers };
        }),
      ),
    };
  },

  async listChannelMessages({ principal, params: { channelName } }, services) {
    refuseSessionKey(principal);
    return { messages: await channelsOf(services).get(channelName).latest() };
  },

  sendToChannel({ principal, params: { channelName }, body }, services) {
    refuseSessionKey(principal);
    const { content, sender = principal.name, metadata = {} } = body;
    const traceparent = readTraceparent(services.runtime.tracing?.headersOf());
    const options = { sender, senderId: principal.id, metadata, traceparent, whenFull: "refuse" } as const;
    return channelsOf(services).get(channelName).send(content, options);
  },

  listTriggers({ principal, params: { sessionId } }, services) {
    checkVisible(principal, sessionId);
    const triggers = triggersOf(services);
    return useWithin(sessionId, (session) => ({ triggers: triggers.of(session).list() }), services);
  },

  addTrigger({ principal, params: { sessionId }, body: { type, name, settings = {} } }, services) {
    checkVisible(principal, sessionId);
    if (!SESSION_TRIGGERS.has(type)) refuseSessionKey(principal);
    const triggers = triggersOf(services);
    return useWithin(
      sessionId,
      (session) => triggers.of(session).add({ ...settings, type, ...(name === undefined ? {} : { name }) }),
      services,
    );
  },

  async removeTrigger({ principal, params: { sessionId, triggerId } }, services) {
    checkVisible(principal, sessionId);
    const triggers = triggersOf(services);
    const existed = await useWithin(sessionId, (session) => triggers.of(session).remove(triggerId), services);
    if (!existed) throw new ToolError("not_found", `The session has no trigger ${JSON.stringify(triggerId.slice(0, 200))}.`);
    return noContent();
  },
} satisfies Partial<Handlers>;

function toApiAgent(name: string, agent: Agent): AnswerOf<"getAgent"> {
  const { state, session } = agent;
  return { name, state, sessionId: session.id, waiting: agent.pending().length + session.awaitingApproval };
}

/** @throws ToolError `not_found`, also for an agent that a session key may not see; `unavailable` for an expected agent that is not running yet */
function agentOf({ agents, expectedAgents }: ApiServices, name: string, own: string | undefined): Agent {
  const agent = agents.get(name);
  if (agent !== undefined && (own ?? agent.session.id) === agent.session.id) return agent;
  if (agent === undefined && expectedAgents.has(name) && (own ?? name) === name) throw notRunningError(name);
  throw new ToolError("not_found", `There is no agent ${JSON.stringify(name)}.`, {
    hint: didYouMean(name, own === undefined ? agents.keys() : []) ?? "GET /v1/agents lists them.",
  });
}

/** The error for an expected agent whose process has ended, or is still resuming its session. */
function notRunningError(name: string): ToolError {
  return new ToolError(
    "unavailable",
    `The agent ${JSON.stringify(name)} is not running at the moment: it is being started, or continued by another process.`,
    {
      retryable: true,
      outcome: "not_started",
      retryAfterMs: 1_000,
      hint: "Send the request again.",
    },
  );
}

function channelsOf(services: ApiServices): Channels {
  return triggersOf(services).channels;
}

/** @throws ToolError `not_found` if the server has no triggers */
export function triggersOf({ triggers }: ApiServices): Triggers {
  if (triggers !== undefined) return triggers;
  throw new ToolError("not_found", "The server has no channels and no triggers.", {
    operatorHint: "Pass triggers: createServer(runtime, { triggers: createTriggers() }).",
  });
}
