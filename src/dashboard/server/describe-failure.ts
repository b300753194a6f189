import { ApiError } from "../../client/client.ts";
import { showHiddenCharacters } from "../show/text-pieces.ts";

const MAX_TEXT = 4_000;

/** Returns the text of a failed request, with hidden characters made visible, and whether it means that nothing of that name exists. */
export function describeFailure(error: unknown): { readonly text: string; readonly isGone: boolean } {
  const text = showHiddenCharacters(error instanceof Error ? error.message : String(error), MAX_TEXT);
  return { text, isGone: error instanceof ApiError && error.status === 404 };
}
