/** A client of a stream of events, for drills and tests: it keeps the last id, as a browser does. */
import { createParser, type EventSourceMessage } from "eventsource-parser";

export class StreamClient {
  lastEventId: string | undefined;
  readonly messages: EventSourceMessage[] = [];
  /** Comments, such as those that keep a connection alive. */
  readonly comments: string[] = [];
  retry: number | undefined;

  /** Reads until the stream ends or `isEnough` says so after a message. Resolves to the status of the response. */
  async read(url: string, isEnough: (message: EventSourceMessage, client: StreamClient) => boolean = () => false): Promise<number> {
    const controller = new AbortController();
    const headers = this.lastEventId === undefined ? {} : { "last-event-id": this.lastEventId };
    const response = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal: controller.signal });
    if (response.status !== 200 || response.body === null) return response.status;
    let isOver = false;
    const parser = createParser({
      onEvent: (message) => {
        if (isOver) return;
        if (message.id !== undefined) this.lastEventId = message.id;
        this.messages.push(message);
        isOver = isEnough(message, this);
      },
      onComment: (comment) => this.comments.push(comment),
      onRetry: (retry) => (this.retry = retry),
    });
    try {
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        parser.feed(text);
        if (isOver) break;
      }
    } finally {
      controller.abort();
    }
    return response.status;
  }
}
