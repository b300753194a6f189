/** The query parameters of lists. */
import { integer, text } from "../openapi/json-schema.ts";

export const page = {
  limit: integer("Most entries of the page.", 1, 1_000, { default: 100 }),
  cursor: text("The next of the page before.", { pattern: "^[0-9]{1,9}$" }),
} as const;
