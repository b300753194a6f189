/** The part of a session that triggers use. */
import type { SessionMessage } from "../core/message.ts";
import type { Ports } from "../core/ports.ts";
import type { StoredTrigger } from "../session/inbox.ts";
import type { NewTrigger, PauseOptions, ReceiveOptions } from "../session/inbox-events.ts";

/** A session whose agent can be woken. `RuntimeSession` implements it. */
export interface TriggerSession {
  readonly id: string;
  readonly closed: boolean;
  /** Aborts when the session is closed. */
  readonly whenClosed: AbortSignal;
  readonly simulated: boolean;
  readonly isEphemeral?: boolean;
  readonly ports: Ports;
  readonly triggers: readonly StoredTrigger[];
  trigger(id: string): StoredTrigger | undefined;
  receive(message: SessionMessage, options?: ReceiveOptions): Promise<void>;
  addTrigger(trigger: NewTrigger): Promise<void>;
  replaceTrigger(trigger: NewTrigger): Promise<void>;
  setTriggerPaused(id: string, paused: boolean, options?: PauseOptions): Promise<boolean>;
  removeTrigger(id: string): Promise<boolean>;
}
