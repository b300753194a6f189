/** Ends the event stream of a plain call when its caller's credentials end. */
import type { DirectReply } from "../http/direct.ts";

export class WatchedReply implements DirectReply {
  readonly #reply: DirectReply;
  readonly #watch: () => () => void;
  #unwatch: (() => void) | undefined;

  /** @param watch called when a stream is opened; its return value is called when the stream ends */
  constructor(reply: DirectReply, watch: () => () => void) {
    this.#reply = reply;
    this.#watch = watch;
  }

  sendJson(status: number, text: string): void {
    this.#reply.sendJson(status, text);
  }

  openStream(): void {
    this.#unwatch ??= this.#watch();
    this.#reply.openStream();
  }

  sendEvent(text: string): void {
    this.#unwatch ??= this.#watch();
    this.#reply.sendEvent(text);
  }

  sendNotification(text: string): boolean {
    this.#unwatch ??= this.#watch();
    return this.#reply.sendNotification(text);
  }

  end(status: number): void {
    this.#unwatch?.();
    this.#reply.end(status);
  }
}
