import type { ReactNode } from "react";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { describeFailure } from "./describe-failure.ts";

/** The error of a request, next to the button or field that made it. @param error null or undefined if nothing has failed: shows nothing */
export function InlineFailure({ error }: { readonly error: unknown }): ReactNode {
  if (error === null || error === undefined) return null;
  return (
    <span className="inline-failure" role="alert">
      <UntrustedText text={describeFailure(error).text} maxLength={2_000} />
    </span>
  );
}
