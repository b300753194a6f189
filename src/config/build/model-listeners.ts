/** Listeners for the models of a configuration other than that of the loop. */
import type { Model } from "../../core/model.ts";
import type { ModelRetry } from "../../model/http-model.ts";
import type { UsageMeter } from "../../model/usage-meter.ts";

export interface ModelListeners {
  /** Wraps the models of engines that play tools, for example to hold a clock while they are asked. */
  readonly onModel?: ((model: Model) => Model) | undefined;
  /** Called with the meter of each model that plays tools, belongs to a delegate or makes output schemas, before the model is asked. */
  readonly onMeter?: ((meter: UsageMeter) => void) | undefined;
  /** Called before such a model waits for another attempt, with the name of the model. */
  readonly onRetry?: ((retry: ModelRetry, model: string) => void) | undefined;
}
