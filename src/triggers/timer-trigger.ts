/** The trigger `timer`: wakes an agent at a fixed interval. */
import { MAX_PROMPT_CHARS } from "./prompt-limits.ts";
import type { Trigger, TriggerContext } from "./trigger.ts";

/** Settings of a trigger of the type `timer`. */
export interface TimerSettings {
  /** Seconds between two messages, more than 0. */
  readonly interval: number;
  /** The message that wakes the agent. */
  readonly prompt: string;
  /** Whether to send the first message at once. Has no effect after a restart. @default false */
  readonly immediate?: boolean;
}

/** The longest interval: a hundred years. */
const MAX_INTERVAL_S = 3_155_760_000;

export const timerTrigger: Trigger<TimerSettings> = {
  name: "timer",
  description: "Wakes you again and again, after so many seconds each time, with the prompt that you give it.",
  universal: true,
  settingsSchema: {
    type: "object",
    properties: {
      interval: { type: "number", exclusiveMinimum: 0, maximum: MAX_INTERVAL_S, description: "Seconds between two messages." },
      prompt: { type: "string", minLength: 1, maxLength: MAX_PROMPT_CHARS, description: "The message that wakes you." },
      immediate: { type: "boolean", description: "Wake me at once for the first time. False by default." },
    },
    required: ["interval", "prompt"],
    additionalProperties: false,
  },
  start(context) {
    run(context, Math.max(1, context.settings.interval * 1_000)).catch((thrown: unknown) => context.fail(thrown));
  },
};

/** Sends no message while an earlier one is in the inbox, so that an agent that is busy for hours receives only one. */
async function run(context: TriggerContext<TimerSettings>, intervalMs: number): Promise<void> {
  const { settings, ports, isNew } = context;
  const { clock } = ports;
  let due = clock.now();
  if (!isNew || settings.immediate !== true) {
    due += isNew ? intervalMs : msUntilNext(context, intervalMs);
    if (!(await context.sleep(due - clock.now()))) return;
  }
  for (;;) {
    if (context.waiting > 0) context.wake();
    else if (!(await context.fire(settings.prompt))) return;
    const late = Math.max(0, clock.now() - due);
    due += intervalMs * (Math.floor(late / intervalMs) + 1); // all missed intervals count as one
    if (!(await context.sleep(due - clock.now()))) return;
  }
}

/** Returns the time until the next message after a restart, so that the earlier rhythm continues. Never 0. */
function msUntilNext({ lastTick, addedAt, ports }: TriggerContext<TimerSettings>, intervalMs: number): number {
  const left = (lastTick ?? addedAt) + intervalMs - ports.clock.wallTime();
  return left > 0 && left <= intervalMs ? left : intervalMs;
}
