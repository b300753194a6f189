/** The limits of one process, by name. */
import type { Slots } from "../../core/resources/slots.ts";
import { Limit } from "./limit.ts";

export class Limits implements Slots {
  /** The latest limit of each name; a request with a different number replaces it. */
  readonly #byName = new Map<string, { readonly maxConcurrent: number; readonly limit: Limit }>();

  limit(name: string, maxConcurrent: number): Limit {
    const known = this.#byName.get(name);
    if (known?.maxConcurrent === maxConcurrent) return known.limit;
    const limit = new Limit(maxConcurrent);
    this.#byName.set(name, { maxConcurrent, limit });
    return limit;
  }
}
