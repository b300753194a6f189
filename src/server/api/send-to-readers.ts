/** Messages on a channel that are sent over HTTP: the agents that read it may run in other processes of the store, each of which has a channel of its own. */
import type { JsonValue } from "../../core/base/json.ts";
import { ERROR_CODES } from "../../core/error-codes.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Store } from "../../core/store.ts";
import type { ChannelMessage } from "../../triggers/channel-message.ts";
import type { Channel } from "../../triggers/channel.ts";
import type { SentRequest } from "./api-request.ts";
import { reachedProcesses, send, wasForwarded, type Reached } from "./forward.ts";
import type { ApiServices } from "./services.ts";

/** How long another process is waited for. */
const ASKED_MS = 5_000;

interface ReceivedMessage {
  readonly request: SentRequest;
  readonly body: JsonValue;
  readonly sendHere: () => Promise<ChannelMessage>;
}

/**
 * Sends the message where the channel has readers: a broadcast in each process, a queue in one. The channel of this process keeps it where none reads.
 *
 * @throws ToolError `resource_busy` for a full channel; `unavailable` where no process has the message, and one could not be asked. By rejecting
 */
export async function sendToReaders(
  channel: Pick<Channel, "name" | "kind" | "subscribers">,
  message: ReceivedMessage,
  services: ApiServices,
): Promise<ChannelMessage | Response> {
  const { sendHere, request } = message;
  const isRead = channel.subscribers > 0;
  if (wasForwarded(request)) return isRead ? sendHere() : Promise.reject(notRead(channel));
  const { store } = services;
  if (store === undefined || (isRead && channel.kind === "queue")) return sendHere();
  if (channel.kind === "queue") return (await sendToOne(message, store, services)) ?? sendHere();
  const own = isRead ? await sendHere() : undefined; // where it is full here, no other process gets it
  return (await sendToAll({ ...message, own, name: channel.name }, store, services)) ?? own ?? sendHere();
}

/** The answer of the first process that has readers; undefined where none reads. @throws ToolError of one that could not take it. By rejecting */
async function sendToOne(message: ReceivedMessage, store: Store, services: ApiServices): Promise<Response | undefined> {
  let failure: ToolError | undefined;
  for (const process of await reachedProcesses(store)) {
    const { answer, failed } = await ask(process, message, services);
    if (answer !== undefined) return answer;
    if (failed?.outcome === "unknown") throw failed; // that process may have it
    failure ??= failed;
  }
  if (failure !== undefined) throw failure;
  return undefined;
}

interface Broadcast extends ReceivedMessage {
  readonly name: string;
  /** The message, where this process has readers. */
  readonly own: ChannelMessage | undefined;
}

/** The answer of a process that has readers; undefined where this process has answered, or none reads. @throws as `sendToOne`, where none took it */
async function sendToAll(message: Broadcast, store: Store, services: ApiServices): Promise<Response | undefined> {
  const asked = await Promise.all((await reachedProcesses(store)).map((process) => ask(process, message, services)));
  const [first, ...more] = asked.flatMap(({ answer }) => answer ?? []);
  const failures = asked.flatMap(({ failed }) => failed ?? []);
  for (const { body } of more) await body?.cancel();
  if (message.own === undefined && first === undefined && failures[0] !== undefined) throw failures[0];
  for (const error of failures)
    services.log.warn(
      `A message on the channel ${JSON.stringify(message.name)} did not reach all of its readers: ${describeThrown(error)}`,
    );
  if (message.own === undefined) return first;
  await first?.body?.cancel();
  return undefined;
}

/** Both undefined where that process has no readers. */
interface Asked {
  readonly answer?: Response;
  /** Why that process did not take the message, although it may have readers. */
  readonly failed?: ToolError;
}

async function ask(process: Reached, { request, body }: ReceivedMessage, services: ApiServices): Promise<Asked> {
  try {
    const response = await send(
      request,
      { process, what: "The channel may be read", body, timeoutMs: ASKED_MS, withoutKey: true },
      services,
    );
    if (response.ok) return { answer: response };
    await response.body?.cancel();
    return response.status === 404 ? {} : { failed: refusal(response.status, process) };
  } catch (thrown: unknown) {
    return { failed: ToolError.fromUnknown(thrown) };
  }
}

/** Thrown and not passed on as it is: the first answer to a request with an `Idempotency-Key` is kept, and this one is to be sent again. */
function refusal(status: number, { address }: Reached): ToolError {
  const details = { retryable: true, operatorHint: `The process announced the address ${address}.` } as const;
  if (status === ERROR_CODES.resource_busy.http)
    return new ToolError("resource_busy", "The channel is full in the process that reads it.", { ...details, outcome: "not_started" });
  return new ToolError("unavailable", `A process that may read the channel answered with status ${status}.`, {
    ...details,
    outcome: status < 500 ? "not_started" : "unknown",
  });
}

function notRead({ name }: Pick<Channel, "name">): ToolError {
  return new ToolError("not_found", `The channel ${JSON.stringify(name)} has no readers in this process.`);
}
