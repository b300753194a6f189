/** The features of one of Gemini's models, read from its name. */

/** From Gemini 3 on; a name without a version, as `gemini-flash-latest`, is a new model's. */
export const NEW_MODEL = /(?:^|\/)gemini-(?!(?:[a-z]+-)*[12](?!\d))/u;
