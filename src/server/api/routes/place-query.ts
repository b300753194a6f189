/** The query parameter for the place that calls need. */
import { id } from "../openapi/json-schema.ts";

export const placeQuery = {
  place: id("A place that tools of the calls are at: a process that has it answers, unless another one has the session open."),
} as const;
