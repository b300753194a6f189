/** The entries of a timeline: calls, and the messages between them. */
import type { CallEntry } from "./call-entry.ts";

/** A message of the conversation. */
export interface MessageEntry {
  readonly kind: "message";
  readonly id: string;
  readonly at: number;
  readonly role: string;
  readonly text: string;
  /** Why the message was voided. */
  readonly voided?: string;
  /** The calls of a message of the model. */
  readonly callIds?: readonly string[];
}

export type TimelineEntry = CallEntry | MessageEntry;
