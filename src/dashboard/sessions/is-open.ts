import type { AnswerOf } from "../../client/client.ts";

/** Whether any process of the store has a session open: `open` speaks only of the server that answered. */
export function isOpen({ open, openedIn }: Pick<AnswerOf<"getSession">, "open" | "openedIn">): boolean {
  return open || openedIn !== undefined;
}
