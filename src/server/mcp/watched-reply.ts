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

  json(status: number, text: string): void {
    this.#reply.json(status, text);
  }

  open(): void {
    this.#unwatch ??= this.#watch();
    this.#reply.open();
  }

  event(text: string): void {
    this.#unwatch ??= this.#watch();
    this.#reply.event(text);
  }

  news(text: string): boolean {
    this.#unwatch ??= this.#watch();
    return this.#reply.news(text);
  }

  end(status: number): void {
    this.#unwatch?.();
    this.#reply.end(status);
  }
}
