/** Counts the requests of any model and the usage of its replies. */
import { checkArgument, checkModel, hasMethods } from "../core/check-argument.ts";
import type { Model, ModelEvent, ModelOptions, ModelRequest } from "../core/model.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { UsageMeter } from "./usage-meter.ts";

/** Wraps a model so that `meter` counts it. An `httpModel` takes its meter as an option, and counts its retries as well. */
export function meteredModel(model: Model, meter: UsageMeter): Model {
  checkModel(model, "meteredModel(model, meter)");
  checkArgument(hasMethods(meter, "request", "reply"), "meteredModel(model, meter)", "a UsageMeter", meter);
  return {
    name: model.name,
    ...omitUndefined({ format: model.format, serverUrl: model.serverUrl }),
    ...(model.toolNameOf === undefined ? {} : { toolNameOf: (qualifiedName) => model.toolNameOf?.(qualifiedName) ?? qualifiedName }),
    async *stream(request: ModelRequest, options?: ModelOptions): AsyncGenerator<ModelEvent> {
      meter.request(model.name);
      try {
        for await (const event of model.stream(request, options)) {
          if (event.type === "reply-end") meter.reply(model.name, event.reply.usage);
          yield event;
        }
      } catch (thrown: unknown) {
        meter.failure(model.name);
        throw thrown;
      }
    },
  };
}
