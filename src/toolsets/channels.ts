/** The toolset `channels`: messages between agents. */
import type { JsonObject } from "../core/base/json.ts";
import { plural } from "../core/base/wording.ts";
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Toolset } from "../core/toolset.ts";
import { readTraceparent } from "../core/formats/traceparent.ts";
import { defineTool } from "../registry/define-tool.ts";
import type { Channel } from "../triggers/channel.ts";
import { Channels } from "../triggers/channels.ts";

/** Options of `channelsToolset`. */
export interface ChannelsToolsetOptions {
  readonly channels: Channels;
}

/**
 * Returns tools with which a model writes on channels: `send_message` and `list_channels`. They reach the channels of the calling session and the
 * shared ones, and cannot create channels.
 *
 * @throws ToolError `invalid_argument`
 */
export function channelsToolset(options: ChannelsToolsetOptions): Toolset {
  checkKnownKeys(options, { channels: true }, "channelsToolset()");
  const { channels } = options;
  if (!(channels instanceof Channels))
    throw new ToolError("invalid_argument", "channelsToolset() takes the channels that createChannels() returns.");
  return { name: "channels", description: "Messages to other agents.", tools: [sendTool(channels), listTool(channels)] };
}

interface SendInput {
  readonly channel: string;
  readonly message: string;
  readonly metadata?: JsonObject;
}

/** The sender is always the calling agent, whatever the arguments say. */
function sendTool(channels: Channels) {
  return defineTool({
    name: "send_message",
    description: "Writes a message on a channel, for the other agents that read it. list_channels tells which channels there are.",
    inputSchema: {
      type: "object",
      properties: {
        channel: { type: "string", description: "The name of the channel." },
        message: { type: "string", minLength: 1, description: "The text of the message." },
        metadata: { type: "object", description: "More about it, for programs." },
      },
      required: ["channel", "message"],
      additionalProperties: false,
    },
    outputSchema: { type: "object", properties: { message_id: { type: "string" } }, required: ["message_id"] },
    effects: { reads: [], writes: "channel/{channel}" },
    mode: "direct",
    execute: async ({ channel: name, message, metadata = {} }: SendInput, context: ToolContext) => {
      const channel = channels.get(name, context.sessionId);
      const { sessionId: senderId, signal, traceHeaders } = context;
      const sender = context.agentName ?? senderId;
      const traceparent = readTraceparent(traceHeaders);
      // A model that waits for readers cannot do anything else, so a full channel is an error.
      const { id } = await channel.send(message, { sender, senderId, metadata, traceparent, signal, whenFull: "refuse" });
      return { message_id: id };
    },
  });
}

function listTool(channels: Channels) {
  return defineTool({
    name: "list_channels",
    description: "Lists the channels on which you can write.",
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
    effects: { reads: ["channel"], writes: [], idempotent: true },
    mode: "direct",
    execute: async (_input: object, context: ToolContext) => {
      const list = channels.list(context.sessionId);
      return list.length === 0 ? "There are no channels." : (await Promise.all(list.map(formatChannel))).join("\n");
    },
  });
}

/** Formats a channel: `tasks queue: Work to be done, 3 messages waiting`. */
async function formatChannel(channel: Channel): Promise<string> {
  const { name, kind, description } = channel;
  const waiting = await channel.countWaiting();
  return `${name} ${kind}${description === "" ? "" : `: ${description}`}${waiting === 0 ? "" : `, ${plural(waiting, "message")} waiting`}`;
}
