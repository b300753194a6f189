/** The listeners of the models that a configuration names besides that of the loop. */
import type { Model } from "../../core/model.ts";
import type { ModelRetry } from "../../model/http-model.ts";
import type { UsageMeter } from "../../model/usage-meter.ts";

export interface ModelListeners {
  /** Goes around the models of engines that play tools, such as one that holds a clock while it is asked. */
  readonly onModel?: ((model: Model) => Model) | undefined;
  /** Called with the meter of each model that plays tools, is a delegate's own or is asked for output schemas, before the model is asked. */
  readonly onMeter?: ((meter: UsageMeter) => void) | undefined;
  /** Called before each wait of such a model for another attempt, with the name of the model. */
  readonly onRetry?: ((retry: ModelRetry, model: string) => void) | undefined;
}
