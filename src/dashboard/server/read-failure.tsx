/** The error of a read: in place of the data, or above data that was read before. */
import type { ReactNode } from "react";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { Loading, Notice } from "../show/basic-components.tsx";
import { describeFailure } from "./describe-failure.ts";
import { InlineFailure } from "./inline-failure.tsx";

interface ReadFailureProps {
  readonly title: string;
  /** The error of the last read; null if it did not fail. */
  readonly error: Error | null;
  /** The result of the last read that did not fail; undefined = none. */
  readonly data: unknown;
  /** A way to continue, shown if nothing was read. */
  readonly children?: ReactNode;
}

export function ReadFailure({ title, error, data, children }: ReadFailureProps): ReactNode {
  if (error === null) return null;
  if (data !== undefined)
    return (
      <p className="older">
        <InlineFailure error={error} /> The data shown is older.
      </p>
    );
  return (
    <Notice isFailure title={title}>
      <p>
        <UntrustedText text={describeFailure(error).text} maxLength={1_000} />
      </p>
      {children}
    </Notice>
  );
}

/** Like `ReadFailure`, but also shows that the first read is in progress. */
export function ReadState(props: ReadFailureProps): ReactNode {
  return props.data === undefined && props.error === null ? <Loading /> : <ReadFailure {...props} />;
}
