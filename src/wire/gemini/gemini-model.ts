/** The features of one of Gemini's models, read from its name. */

/** From Gemini 3 on. */
export const NEW_MODEL = /(?:^|\/)gemini-(?:[3-9]|\d\d)(?!\d)/u;
