/** Maximum length of a trigger's prompt, in UTF-16 code units. */
export const MAX_PROMPT_CHARS = 20_000;
