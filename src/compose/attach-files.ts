/** Adds the files that a conversation keeps as artifacts to a request. */
import type { ArtifactStore } from "../core/artifact.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { ModelRequest } from "../core/model.ts";
import type { Ports } from "../core/ports.ts";
import { storeTimeoutError } from "../call/finish/store-artifacts.ts";
import { onAbort } from "../core/base/on-abort.ts";
import { waitFor, type Interruptible } from "../policy/attempts/deadline.ts";
import { attachArtifacts, withoutArtifacts } from "../session/attach-artifacts.ts";

/** Longest time to read the files of one request, in milliseconds. A store that does not answer must not block the loop. */
const READ_MS = 10_000;

interface AttachOptions {
  readonly artifacts: ArtifactStore;
  readonly ports: Ports;
  /** Each cancels the reading. */
  readonly signals: readonly AbortSignal[];
}

/** Returns the request with its files. They are left out if reading them fails or is cancelled. */
export async function attachFiles(request: ModelRequest, { artifacts, ports, signals }: AttachOptions): Promise<ModelRequest> {
  const { clock, log } = ports;
  const target: Interruptible = { clock, wait: undefined };
  const reading = waitFor(target, attachArtifacts(request.messages, artifacts), {
    endsAt: clock.now() + READ_MS,
    timeoutError: storeTimeoutError,
  });
  const interrupt = (): void => target.wait?.interrupt(new ToolError("cancelled", "The request was cancelled."));
  const removeListeners = signals.map((signal) => onAbort(signal, interrupt));
  const read = await reading;
  for (const one of removeListeners) one();
  if ("value" in read) return { ...request, messages: read.value };
  if (!signals.some(({ aborted }) => aborted))
    log.warn(`The artifacts are not shown to the model: ${describeThrown("thrown" in read ? read.thrown : read.ended)}`);
  return { ...request, messages: withoutArtifacts(request.messages) };
}
