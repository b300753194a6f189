/** A model whose messages have at most one call, also where its provider cannot be told so. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Model, ModelEvent } from "../../core/model.ts";

/**
 * Leaves out every call of a message but the first. The model is asked again with the result of that one, so that each of its calls was made
 * with what the conversation shows before it; calls that were put after results they were made without would teach to overlook results.
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
    if ("index" in event && event.index > 0) continue; // of a later call
    yield event.type === "reply-end" ? { ...event, reply: { ...event.reply, calls: event.reply.calls.slice(0, 1) } } : event;
  }
}
