import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Model, ModelEvent } from "../../core/model.ts";

/**
 * Limits a model to one call per message, even if its provider has no such setting, by dropping every call but the first. The model is asked again
 * with the result of that one, so that each call is made with the results before it in the conversation; a call placed after results that the model
 * had not seen would teach to ignore results.
 */
export function oneCallModel(model: Model): Model {
  const { name, format, serverUrl } = model;
  return {
    name,
    ...omitUndefined({ format, serverUrl }),
    ...(model.toolNameOf === undefined ? {} : { toolNameOf: (tool: string) => model.toolNameOf?.(tool) ?? tool }),
    stream: (request, options) => withOneCall(model.stream(request, options)),
  };
}

async function* withOneCall(events: AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent, void, undefined> {
  for await (const event of events) {
    if ("index" in event && event.index > 0) continue; // a later call
    yield event.type === "reply-end" ? { ...event, reply: { ...event.reply, calls: event.reply.calls.slice(0, 1) } } : event;
  }
}
