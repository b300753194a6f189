/** Messages that are sent on a channel: their options, and the checks that every reader relies on. */
import { copyJson, isJsonObject, type JsonObject } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { quoteValue } from "../core/base/wording.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Ports } from "../core/ports.ts";
import { MAX_ID_LENGTH } from "../core/recording/read-event.ts";
import { checkTraceparent } from "../core/formats/traceparent.ts";
import type { ChannelMessage } from "./channel-message.ts";

/** Options of a message to send. */
export interface SendMessageOptions {
  /** The name of the sender, as readers see it. */
  readonly sender: string;
  /** Identifies the sender, which does not receive the message: the `subscriber` of its subscription. @default `sender` */
  readonly senderId?: string;
  readonly metadata?: JsonObject;
  /** The span in which the message is sent, in the format of the `traceparent` header. The run of an agent that the message wakes is linked to it. */
  readonly traceparent?: string | undefined;
  /** Ends the wait for room. */
  readonly signal?: AbortSignal;
  /** @default that of the channel */
  readonly whenFull?: "wait" | "refuse";
}

const SEND_OPTIONS: OptionNames<SendMessageOptions> = {
  sender: true,
  senderId: true,
  metadata: true,
  traceparent: true,
  signal: "AbortSignal",
  whenFull: true,
};
/** Maximum number of characters of the content, and of the metadata. A store could write a larger message, but no reader could read it again. */
export const MAX_CONTENT_CHARS = 8 * 1024 * 1024;
const METADATA_LIMITS = { maxChars: MAX_CONTENT_CHARS, maxNodes: 100_000 } as const;

/** @throws ToolError `invalid_argument`, `not_json`, `too_large` */
export function createMessage(
  content: string,
  options: SendMessageOptions,
  { channel, ports }: { readonly channel: string; readonly ports: Pick<Ports, "clock" | "ids"> },
): ChannelMessage {
  checkKnownKeys(options, SEND_OPTIONS, "send()");
  const { sender, senderId = sender, metadata = {}, traceparent, whenFull = "wait" } = options;
  checkContent(content);
  for (const [name, value] of Object.entries({ sender, senderId })) checkSender(value, `${name} of a message on a channel`);
  checkTraceparent(traceparent, "traceparent of a message on a channel");
  checkWhenFull(whenFull);
  const copy = copyJson(metadata, METADATA_LIMITS).value;
  if (!isJsonObject(copy)) throw new ToolError("invalid_argument", "The metadata of a message on a channel must be an object.");
  return Object.freeze({
    id: ports.ids.next("message"),
    channel,
    sender,
    senderId,
    content,
    metadata: copy,
    at: ports.clock.wallTime(),
    ...omitUndefined({ traceparent }),
  });
}

function checkContent(content: string): void {
  if (typeof content !== "string") throw new ToolError("invalid_argument", "The content of a message on a channel must be a string.");
  if (content.length > MAX_CONTENT_CHARS)
    throw new ToolError(
      "too_large",
      `The content of a message on a channel has ${content.length} characters; ${MAX_CONTENT_CHARS} is the limit.`,
      { hint: "Send where the content can be found instead." },
    );
}

function checkSender(value: unknown, what: string): void {
  checkNonEmptyString(value, what);
  if (typeof value === "string" && value.length > MAX_ID_LENGTH)
    throw new ToolError("invalid_argument", `The ${what} has ${value.length} characters; ${MAX_ID_LENGTH} is the limit.`);
}

/** @throws ToolError `invalid_argument` */
export function checkNonEmptyString(value: unknown, what: string): void {
  if (typeof value !== "string" || value === "") throw new ToolError("invalid_argument", `The ${what} must be a non-empty string.`);
}

/** @throws ToolError `invalid_argument` */
export function checkWhenFull(value: unknown): void {
  if (value !== "wait" && value !== "refuse")
    throw new ToolError("invalid_argument", `whenFull of a channel is ${quoteValue(value)}; it takes "wait" or "refuse".`);
}
