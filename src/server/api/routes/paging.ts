/** Paging parameters of lists and logs. */
import { answer, array, integer, ref, text } from "../openapi/json-schema.ts";

export const page = {
  limit: integer("Maximum number of entries on the page.", 1, 1_000, { default: 100 }),
  cursor: text("The next of the previous page.", { pattern: "^[0-9]{1,9}$" }),
} as const;

/** Parameters and response of a log that is read in pages or as a stream. */
export const eventPages = {
  query: {
    after: integer("The position of the last event that is known.", 0, Number.MAX_SAFE_INTEGER, { default: 0 }),
    limit: integer("Maximum number of events per page.", 1, 1_000, { default: 100 }),
  },
  answer: answer(
    {
      events: array(answer({ position: integer("Counts from 1.", 1, Number.MAX_SAFE_INTEGER), event: ref("SessionEvent") })),
      next: integer("The after of the next page. Absent on the last page.", 0, Number.MAX_SAFE_INTEGER),
    },
    ["events"],
  ),
  streams: true,
} as const;
