/** Matches Gemini 3 and later; a name without a version, such as `gemini-flash-latest`, counts as new. */
export const NEW_MODEL = /(?:^|\/)gemini-(?!(?:[a-z]+-)*[12](?!\d))/u;
