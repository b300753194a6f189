/** The trigger `channel`: wakes an agent when another sender writes to a channel. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { ToolError } from "../core/error.ts";
import { readTraceparent } from "../core/formats/traceparent.ts";
import type { Channels } from "./channels.ts";
import type { MessageReader } from "./message-reader.ts";
import { MAX_PROMPT_CHARS } from "./prompt-limits.ts";
import { checkPromptTemplate, fillPromptTemplate } from "./prompt-template.ts";
import { SettingsError } from "./settings-error.ts";
import type { Trigger, TriggerContext } from "./trigger.ts";

/** Settings of a trigger of the type `channel`. */
export interface ChannelTriggerSettings {
  /** The name of the channel: one of the agent's own, or else a shared one. */
  readonly channel: string;
  /** The message that wakes the agent; its placeholders are replaced by parts of the channel's message. @default "[{channel}] {sender}: {content}" */
  readonly prompt?: string;
  /** Only messages of this sender wake the agent; messages of other senders are left to other readers. */
  readonly filterSender?: string;
}

const DEFAULT_PROMPT = "[{channel}] {sender}: {content}";
/** Maximum number of the trigger's messages in the inbox. The rest wait in the channel, and senders wait if the channel is full. */
const MAX_WAITING = 100;
const POLL_MS = 1_000;

export const channelTrigger: Trigger<ChannelTriggerSettings> = {
  name: "channel",
  toolName: "watch_channel",
  description:
    "Wakes you when another sender writes on a channel. The prompt may hold {content}, {channel}, {sender}, {message_id} and {metadata.key}.",
  universal: true,
  settingsSchema: {
    type: "object",
    properties: {
      channel: { type: "string", description: "The name of the channel." },
      prompt: {
        type: "string",
        minLength: 1,
        maxLength: MAX_PROMPT_CHARS,
        description: `The message that wakes you. ${DEFAULT_PROMPT} by default.`,
      },
      filterSender: { type: "string", minLength: 1, description: "Wake me for messages of this sender only." },
    },
    required: ["channel"],
    additionalProperties: false,
  },
  complete(settings, { channels, sessionId }) {
    checkPromptTemplate(settings.prompt ?? DEFAULT_PROMPT);
    checkChannel(channels, settings.channel, sessionId);
    return settings;
  },
  latestTick: async ({ channel }, { channels, sessionId }) => channels.find(channel, sessionId)?.lastNumber(),
  start(context) {
    const { settings, channels, sessionId, lastTick, addedAt } = context;
    const options = { reader: sessionId, from: settings.filterSender, after: lastTick ?? addedAt };
    const reader = channels.get(settings.channel, sessionId).reader(options);
    run(context, reader).catch((thrown: unknown) => context.fail(thrown));
    return () => reader.close();
  },
};

function checkChannel(channels: Channels, name: string, sessionId: string): void {
  try {
    channels.get(name, sessionId);
  } catch (thrown: unknown) {
    const { code, message, hint } = ToolError.fromUnknown(thrown);
    throw new SettingsError("channel", message, { code, ...(hint === undefined ? {} : { hint }) });
  }
}

async function run(context: TriggerContext<ChannelTriggerSettings>, reader: MessageReader): Promise<void> {
  const { settings, signal } = context;
  while (!signal.aborted) {
    if (context.waiting >= MAX_WAITING) {
      context.wake(); // a run that was refused or cancelled has left the messages in the inbox, and no later message would wake the agent
      if (!(await context.sleep(POLL_MS, { background: true }))) return;
      continue;
    }
    const read = await reader.next(signal);
    if (read === undefined) return;
    const { message, tick, done, release } = read;
    const options = { sender: message.sender, ...omitUndefined({ tick, traceparent: readTraceparent(message) }) };
    const heard = await context.fire(fillPromptTemplate(settings.prompt ?? DEFAULT_PROMPT, message), options);
    await (heard ? done() : release());
  }
}
