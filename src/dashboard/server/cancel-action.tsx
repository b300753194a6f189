/** A button that cancels something on the server, and reports a failure to do so. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ActionButton } from "../show/action-button.tsx";
import { InlineFailure } from "./inline-failure.tsx";

interface CancelActionProps<Answer> {
  readonly text: string;
  readonly cancel: () => Promise<Answer>;
  readonly onSettled?: () => unknown;
  /** Returns what to show next to the button after an answer. */
  readonly after?: (answer: Answer) => ReactNode;
}

export function CancelAction<Answer>({ text, cancel, onSettled, after }: CancelActionProps<Answer>): ReactNode {
  const { mutate, isPending, error, data } = useMutation({ mutationFn: cancel, onSettled: () => onSettled?.() });
  return (
    <>
      <ActionButton isOff={isPending} onClick={() => mutate()}>
        {text}
      </ActionButton>
      <InlineFailure error={error} />
      {data !== undefined && after?.(data)}
    </>
  );
}
