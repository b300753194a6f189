/** A provider on 127.0.0.1 that answers each request with the next reply. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Model } from "../../src/core/model.ts";
import { httpModel } from "../../src/model/http-model.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";

export interface ToolServerOptions {
  readonly format: WireFormat;
  readonly model: string;
  /** Whole replies. */
  readonly replies: readonly JsonObject[];
  /** The events of a reply; left out where the replies are not streamed. */
  readonly streamed?: ((reply: JsonObject) => readonly JsonObject[]) | undefined;
}

export interface ToolServer {
  readonly model: Model;
  readonly bodies: readonly JsonObject[];
}

export async function toolServer({ format, model, replies, streamed }: ToolServerOptions): Promise<ToolServer> {
  const bodies: JsonObject[] = [];
  let answers = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const body = JSON.parse(text) as JsonObject;
    bodies.push(body);
    const reply = replies[Math.min(answers++, replies.length - 1)] ?? {};
    if (streamed === undefined) return void response.setHeader("content-type", "application/json").end(JSON.stringify(reply));
    response.setHeader("content-type", "text/event-stream");
    for (const event of streamed(reply)) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end();
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { model: httpModel({ format, model, baseUrl, apiKey: "sk-test", stream: streamed !== undefined }), bodies };
}
