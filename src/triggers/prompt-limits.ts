/** Longest prompt of a trigger, in UTF-16 units. */
export const MAX_PROMPT_CHARS = 20_000;
