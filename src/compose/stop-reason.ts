/** The reasons why a loop ends, each with a text for people. */
export const STOP_REASONS = {
  answered: "The model answered without a further call.",
  "tool-ended-turn": "A tool ended the turn, to wait for the next message.",
  "max-rounds": "The loop reached its maximum number of rounds.",
  "one-action": "The loop may take one action a turn, and has taken it.",
  budget: "The budget was used up.",
  "repeated-calls": "The model made the same call again and again, with the same result.",
  "stop-condition": "A condition that the program set was met.",
  timeout: "The run took too long, or was inactive for too long.",
  length: "The model's message was cut off at its maximum length.",
  "content-filter": "The provider filtered the model's message.",
  refusal: "The model refused.",
  "invalid-output": "The model's answer did not fit the schema of the output, even after it was asked again.",
  "model-error": "The model could not be called, or its message was incomplete.",
  cancelled: "The caller cancelled the loop.",
  approval: "Calls wait for approval; resume() continues.",
  "nothing-pending": "No call waited for approval, so there was nothing to resume.",
  "emergency-stop": "Too many calls failed in a row; nothing runs until the stop is cleared.",
  "already-running":
    "The loop was running already, so nothing was sent. Send the message with steer(), or run it in another loop of the session.",
  disabled: "The loop is switched off.",
} as const satisfies Readonly<Record<string, string>>;

/** Why a run of a loop ended: one of `STOP_REASONS`. */
export type StopReason = keyof typeof STOP_REASONS;
