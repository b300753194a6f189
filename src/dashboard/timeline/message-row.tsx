/** A message of the conversation as a row between the calls. */
import { firstCharacters, visible } from "../show/inert-text.ts";
import type { ReactNode } from "react";
import { Inert } from "../show/inert.tsx";
import { clockTime } from "../show/words.ts";
import type { RowProps } from "./row-props.ts";
import type { MessageEntry } from "./entry.ts";

export function MessageRow({ entry, log }: RowProps & { readonly entry: MessageEntry }): ReactNode {
  return (
    <>
      <div role="gridcell" className="cell-message">
        <span className="message-role">{entry.role}</span>
        <span className="message-text">
          <Inert
            text={firstCharacters(entry.text === "" ? (entry.voided ?? "") : entry.text, 1_000).replaceAll(/\s+/gu, " ")}
            maxLength={240}
          />
        </span>
        {entry.voided !== undefined && (
          <span className="state state-plain" title={visible(entry.voided, 240)}>
            voided
          </span>
        )}
      </div>
      <div role="gridcell" className="cell-time number muted">
        {log.isTimeless ? "" : clockTime(entry.at)}
      </div>
    </>
  );
}
