/** Screens that are loaded when they are gone to. */
import { lazy, type ComponentType } from "react";

/** A file of the page could not be loaded. React keeps that: only the page as a whole can be loaded again. */
export class PartMissing extends Error {}

export function late<Props>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  return lazy(async () => ({
    default: await load().catch((cause: unknown) => {
      throw new PartMissing("A part of the page could not be loaded.", { cause });
    }),
  }));
}
