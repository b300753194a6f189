/** Routes of agents, channels and triggers. */
import { answer, array, flag, id, integer, object, oneOf, record, ref, text } from "../openapi/json-schema.ts";
import type { Routes } from "../requests/route.ts";
import { eventPages } from "./paging.ts";

const agentName = text("The name of an agent.", { minLength: 1, maxLength: 256 });
const channelName = text("The name of a channel.", { minLength: 1, maxLength: 128 });
const state = oneOf(
  "stopped: messages wait until its program starts it; idle: it waits for a message; waiting: it has a run, and a call of it or of its delegates waits for approval.",
  ["stopped", "idle", "running", "waiting"],
);
const agent = answer({
  name: agentName,
  state,
  sessionId: id("Its session, whose events are its events."),
  waiting: integer("How many of its calls, and of its delegates', wait for approval.", 0, Number.MAX_SAFE_INTEGER),
});
const sessionId = id("The id of a session.");

export const agentRoutes = {
  listAgents: {
    method: "GET",
    path: "/v1/agents",
    scope: "read",
    summary: "List the agents of the server.",
    answer: answer({ agents: array(agent) }),
    example: {},
  },
  getAgent: {
    method: "GET",
    path: "/v1/agents/{agentName}",
    scope: "read",
    summary: "Get one agent.",
    params: { agentName },
    answer: agent,
    inSession: true,
    example: { params: { agentName: "clerk" } },
  },
  sendToAgent: {
    method: "POST",
    path: "/v1/agents/{agentName}/messages",
    scope: "execute",
    summary: "Put a message into an agent's inbox. It is durable when this answers.",
    params: { agentName },
    body: object(
      {
        content: text("The text of the message.", { minLength: 1, maxLength: 1_048_576 }),
        sender: text("The name of the sender.", { minLength: 1, maxLength: 256 }),
      },
      ["content"],
    ),
    answer: answer({ sent: flag("Whether the agent has it."), state }),
    keyed: true,
    inSession: true,
    example: { params: { agentName: "clerk" }, body: { content: "What do the notes say?" } },
  },
  cancelAgent: {
    method: "POST",
    path: "/v1/agents/{agentName}/cancel",
    scope: "execute",
    summary: "Cancel the agent's current run; it keeps listening.",
    params: { agentName },
    answer: answer({ cancelled: flag("False if it is not running.") }),
    inSession: true,
    example: { params: { agentName: "clerk" } },
  },
  listAgentEvents: {
    method: "GET",
    path: "/v1/agents/{agentName}/events",
    scope: "read",
    summary: "Read or follow the events of an agent's session, like listSessionEvents.",
    params: { agentName },
    ...eventPages,
    inSession: true,
    example: { params: { agentName: "clerk" } },
  },
  listChannels: {
    method: "GET",
    path: "/v1/channels",
    scope: "read",
    summary: "List the channels that agents share.",
    answer: answer({
      channels: array(
        answer({
          name: channelName,
          kind: oneOf("queue: each message goes to one receiver; broadcast: to each subscriber.", ["queue", "broadcast"]),
          description: text("Its purpose."),
          waiting: integer("How many messages wait to be received.", 0, Number.MAX_SAFE_INTEGER),
          subscribers: integer("How many subscriptions there are.", 0, Number.MAX_SAFE_INTEGER),
        }),
      ),
    }),
    example: {},
  },
  listChannelMessages: {
    method: "GET",
    path: "/v1/channels/{channelName}/messages",
    scope: "read",
    summary: "List the latest messages of a channel, the oldest first.",
    params: { channelName },
    answer: answer({ messages: array(ref("ChannelMessage")) }),
    example: { params: { channelName: "news" } },
  },
  sendToChannel: {
    method: "POST",
    path: "/v1/channels/{channelName}/messages",
    scope: "execute",
    summary: "Send a message on a channel; a full channel refuses it.",
    params: { channelName },
    body: object(
      {
        content: text("The text of the message.", { maxLength: 1_048_576 }),
        sender: text("The name of the sender. By default that of the principal.", { minLength: 1, maxLength: 256 }),
        metadata: record("Further data of the message."),
      },
      ["content"],
    ),
    answer: ref("ChannelMessage"),
    keyed: true,
    example: { params: { channelName: "news" }, body: { content: "It rains." } },
  },
  listTriggers: {
    method: "GET",
    path: "/v1/sessions/{sessionId}/triggers",
    scope: "read",
    summary: "List the timers, schedules and other triggers of a session.",
    params: { sessionId },
    answer: answer({ triggers: array(ref("Trigger")) }),
    inSession: true,
    example: { params: { sessionId: "travel" } },
  },
  addTrigger: {
    method: "POST",
    path: "/v1/sessions/{sessionId}/triggers",
    scope: "execute",
    summary: "Add a timer, schedule or other trigger, which runs while an agent of the session does.",
    params: { sessionId },
    body: object(
      {
        type: text("timer, schedule, channel or a type that the program registers.", { minLength: 1, maxLength: 128 }),
        name: text("A stable id. By default a new one.", { minLength: 1, maxLength: 128 }),
        settings: record("The settings of its type."),
      },
      ["type"],
    ),
    status: 201,
    answer: ref("Trigger"),
    keyed: true,
    inSession: true,
    example: {
      params: { sessionId: "travel" },
      body: { type: "timer", name: "hourly", settings: { interval: 3_600, prompt: "Look at the notes." } },
    },
  },
  removeTrigger: {
    method: "DELETE",
    path: "/v1/sessions/{sessionId}/triggers/{triggerId}",
    scope: "execute",
    summary: "Remove a trigger. One that the program declares is added again at its next start: pause it instead.",
    params: { sessionId, triggerId: id("The id of a trigger.") },
    status: 204,
    inSession: true,
    example: { params: { sessionId: "travel", triggerId: "hourly" } },
  },
} as const satisfies Routes;
