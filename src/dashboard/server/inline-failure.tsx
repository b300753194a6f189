/** Why something that was asked of the server failed, next to what asked for it. */
import type { ReactNode } from "react";
import { Inert } from "../show/inert.tsx";
import { failureOf } from "./failure-of.ts";

/** @param error null or undefined while nothing has failed: then there is nothing to see */
export function InlineFailure({ error }: { readonly error: unknown }): ReactNode {
  if (error === null || error === undefined) return null;
  return (
    <span className="inline-failure" role="alert">
      <Inert text={failureOf(error).text} maxLength={2_000} />
    </span>
  );
}
