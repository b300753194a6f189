/** A message of the conversation as a row between the calls. */
import { firstCharacters, showHiddenCharacters } from "../show/text-pieces.ts";
import type { ReactNode } from "react";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { formatTime } from "../show/format.ts";
import type { RowProps } from "./row-props.ts";
import type { MessageEntry } from "./timeline-entry.ts";

export function MessageRow({ entry, log }: RowProps & { readonly entry: MessageEntry }): ReactNode {
  return (
    <>
      <div role="gridcell" className="cell-message">
        <span className="message-role">{entry.role}</span>
        <span className="message-text">
          <UntrustedText
            text={firstCharacters(entry.text === "" ? (entry.voided ?? "") : entry.text, 1_000).replaceAll(/\s+/gu, " ")}
            maxLength={240}
          />
        </span>
        {entry.voided !== undefined && (
          <span className="state state-plain" title={showHiddenCharacters(entry.voided, 240)}>
            voided
          </span>
        )}
      </div>
      <div role="gridcell" className="cell-time number muted">
        {log.isTimeless ? "" : formatTime(entry.at)}
      </div>
    </>
  );
}
