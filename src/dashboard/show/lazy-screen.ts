/** Screens that are loaded when they are first shown. */
import { lazy, type ComponentType } from "react";

/** A file of the page could not be loaded. React remembers the failure, so that only reloading the whole page helps. */
export class MissingPartError extends Error {}

export function lazyScreen<Props>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return lazy(async () => ({
    default: await load().catch((cause: unknown) => {
      throw new MissingPartError("A part of the page could not be loaded.", { cause });
    }),
  }));
}
