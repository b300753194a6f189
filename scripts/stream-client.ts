/** A client of a stream of events, for drills and tests: it keeps the last id, as a browser does. */

/** A block of a stream: an event, or what else a server writes there. */
export interface StreamMessage {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

export class StreamClient {
  lastEventId: string | undefined;
  readonly messages: StreamMessage[] = [];
  /** What the server said of the time until the next connection, in milliseconds. */
  retry: number | undefined;

  /** Reads until the stream ends or `isEnough` says so after a message. Resolves to the status of the response. */
  async read(url: string, isEnough: (message: StreamMessage) => boolean = () => false): Promise<number> {
    const controller = new AbortController();
    const headers = this.lastEventId === undefined ? {} : { "last-event-id": this.lastEventId };
    const response = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal: controller.signal });
    if (response.status !== 200 || response.body === null) return response.status;
    let rest = "";
    try {
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        const blocks = (rest + text).split("\n\n");
        rest = blocks.pop() ?? "";
        if (blocks.some((block) => this.#take(block, isEnough))) break;
      }
    } finally {
      controller.abort();
    }
    return response.status;
  }

  #take(block: string, isEnough: (message: StreamMessage) => boolean): boolean {
    const fields = new Map(block.split("\n").map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]));
    const [id, event, data, retry] = ["id", "event", "data", "retry"].map((name) => fields.get(name));
    if (retry !== undefined) this.retry = Number(retry);
    if (id !== undefined) this.lastEventId = id;
    if (data === undefined) return false;
    const message = { ...(id === undefined ? {} : { id }), ...(event === undefined ? {} : { event }), data };
    this.messages.push(message);
    return isEnough(message);
  }
}
