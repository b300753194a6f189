/** Failures of requests as text. */
import { ApiError } from "../../client/client.ts";
import { visible } from "../show/inert-text.ts";

const MAX_TEXT = 4_000;

/** The text of a failure, and whether it means that there is nothing of that name. The text may have words of others in it: what would be invisible is visible. */
export function failureOf(error: unknown): { readonly text: string; readonly isGone: boolean } {
  const text = visible(error instanceof Error ? error.message : String(error), MAX_TEXT);
  return { text, isGone: error instanceof ApiError && error.status === 404 };
}
